"""The pages have the kept figures of the learned pairs, and these are what a board plays."""

import pytest

from lab.shipped import pairs
from lab.shipped.board import HOME, marked
from vcgym.leaderboard.evaluation.bars import load_bars


@pytest.mark.parametrize(("page", "cell"), [(pairs.PAGE, pairs.of_board), (pairs.NOTES, pairs.of_means)])
def test_the_pages_have_the_kept_figures(page, cell):
    assert marked("pairs", pairs.table(pairs.kept(), cell)) in (HOME / page).read_text(encoding="utf-8"), "run: python -m lab.shipped.pairs"


def test_the_references_are_those_of_today():
    for row in pairs.kept():
        assert row["reference"] == load_bars().bars[row["suite"]][row["mode"]], "run: python -m lab.shipped.pairs"


@pytest.mark.long
def test_a_board_played_anew_has_the_kept_figures(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pairs, "PLAYED", ("paper-v0",))
    assert list(pairs.played()) == [row for row in pairs.kept() if row["suite"] == "paper-v0"]
