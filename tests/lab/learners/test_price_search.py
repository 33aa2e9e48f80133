"""The search for prices on a score with known best prices."""

import numpy as np
import pytest

from lab.learners.price_search import search_prices
from vcgym.agents.controllers.learned_router import NUMBERS, SCALE, START
from vcgym.network.traces.cards import DataError

BEST = START + SCALE  # where the score below is highest


class Bowl:
    """Candidates whose R falls with the distance from `BEST`, by each chunk another way."""

    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 2

    def scores(self, routers, chunk):
        self.asked += len(routers)
        return [90.0 - np.square((router.prices - BEST) / SCALE)[chunk::2] for router in routers]


def test_it_finds_the_best_and_leaves_prices_without_a_step_alone(tmp_path):
    scale = SCALE.copy()
    scale[5:] = 0.0
    found = search_prices(START, scale, Bowl(), 400, 8, 0.5, 1, tmp_path / "told")
    np.testing.assert_allclose(found[:5], BEST[:5], atol=0.1 * SCALE[:5].max())
    np.testing.assert_array_equal(found[5:], START[5:])
    assert found.shape == (NUMBERS,)


def test_what_was_told_is_not_asked_again(tmp_path):
    first, second = Bowl(), Bowl()
    found = search_prices(START, SCALE, first, 64, 8, 0.5, 1, tmp_path / "told")
    again = search_prices(START, SCALE, second, 64, 8, 0.5, 1, tmp_path / "told")
    np.testing.assert_array_equal(again, found)
    assert (first.asked, second.asked) == (64 + 2, 0)


def test_two_searches_at_once_leave_one_set_of_gains(tmp_path):
    def second(trials, gain, mean):
        if trials == 32:
            search_prices(START, SCALE, Bowl(), 64, 8, 0.5, 1, tmp_path / "told")

    found = search_prices(START, SCALE, Bowl(), 64, 8, 0.5, 1, tmp_path / "told", second)
    assert len((tmp_path / "told").read_text().splitlines()) == 64 // 8
    again = Bowl()
    np.testing.assert_array_equal(search_prices(START, SCALE, again, 64, 8, 0.5, 1, tmp_path / "told"), found)
    assert again.asked == 0


@pytest.mark.parametrize("line", ["[1.0]", "[null, 0, 0, 0, 0, 0, 0, 0]", "[" * 5000, "\xff"])
def test_a_file_with_anything_but_gains_is_refused_with_its_line(tmp_path, line):
    (tmp_path / "told").write_text(f"[1, 2, 3, 4, 5, 6, 7, 8]\n{line}\n")
    with pytest.raises(DataError, match=r"told: line 2 is .*; allowed: 8 gains"):
        search_prices(START, SCALE, Bowl(), 64, 8, 0.5, 1, tmp_path / "told")
