"""The references of a board do not change with the systems that happen to be played, and boards come in the order of their numbers."""

import numpy as np
import pyarrow as pa
import pytest
from board_rows import row, table_of_r

from vcgym.leaderboard.evaluation.bars import bar_of, bar_on, of_any_kind, references
from vcgym.leaderboard.evaluation.config import SwapsConfig
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import board_of, boards, published_of
from vcgym.leaderboard.report.publish import publish_together
from vcgym.leaderboard.report.words.sentences import headline
from vcgym.leaderboard.results.kinds import CALL

COLUMNS = CALL._replace(metrics=(CALL.metric["r"],), headline=(), details=(), groups=(), fronts=(), curves=(), bands=None)
KINDS = {"GRD+EWMA-tuned": "tuned", "DRT-WM-tuned": "tuned", "DRT-WM": "rule", "VIA-WM": "rule", "MINE": "local"}
LEVELS = {"GRD+EWMA-tuned": 4.0, "MINE": 3.0, "DRT-WM-tuned": 2.0, "VIA-WM": 1.0, "DRT-WM": 0.0}


def board(names, suite=("default", "v1"), mode="correlated", worlds=12, measured=()):
    """A board of systems that differ by constants, over one kind of world."""
    levels = np.random.default_rng(0).normal(80.0, 1.0, worlds)
    systems = {name: (KINDS[name], LEVELS[name] + levels) for name in names}
    return board_of(COLUMNS, mode, table_of_r(COLUMNS, systems, suite=suite[0], suite_version=suite[1], mode=mode, **dict(measured)))


def test_on_own_traces_the_bar_is_the_reference_for_unknown_paths():
    for suite in ("replay-12ab34cd", "fitted-12ab34cd"):
        assert references(suite) == [of_any_kind()] and bar_of(suite, "replay") == of_any_kind()
    assert references("rate-replay-12ab34cd") == references("protected-v0") == []


def test_without_the_bar_no_other_rule_takes_its_place():
    assert bar_on("default-v1", "correlated", {"DRT-WM-tuned": "tuned"}).system == ""
    lacking, whole = board(["MINE", "DRT-WM-tuned", "DRT-WM"]), board(list(KINDS))
    assert whole.bar.system == bar_of("default-v1", "correlated") == "GRD+EWMA-tuned"
    mine = {line.system: line.found["above_tuned_rule"] for line in whole.lines}["MINE"]
    assert mine.value == pytest.approx(-1.0)
    assert all("above_tuned_rule" not in line.found for line in lacking.lines)  # it was +1 to the tuned rule that was played
    assert lacking.bar.about == "The bar, GRD+EWMA-tuned, was not played, so nothing is said about beating one."


def test_the_best_of_some_published_systems_is_no_reference():
    found = board(list(KINDS))
    assert found.published == "" and all("above_published" not in line.found for line in found.lines)
    said = "No difference to the best published system: 6 of the 8 of the suite were not played, such as DRT-BF."
    assert any(note.startswith(said) for note in found.notes) and found.reference == "GRD+EWMA-tuned"
    of_own = board(list(KINDS), suite=("mine", "v0"))
    assert of_own.published == "VIA-WM"


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_a_suite_plays_all_systems_that_its_best_published_one_is_chosen_of(suite):
    needed = published_of(suite.columns, f"{suite.name}-{suite.version}")
    assert needed and set(needed) <= systems_of(suite).keys()


def test_boards_of_budgets_sort_by_number():
    modes = [f"losses in runs, {budget} %" for budget in (5, 10, 25, 100)]
    rows = [row(CALL, system="DRT-WM", kind="rule", mode=mode, seed=seed) for mode in sorted(modes) for seed in range(3)]
    assert [one.mode for one in boards(pa.Table.from_pylist(rows))] == modes


def test_a_board_without_a_rank_says_so_in_words():
    measured = {"series": ["a"], "begins_ms": [0], "ends_ms": [60_000]}
    found = board(["DRT-WM", "VIA-WM"], suite=("mine", "v0"), mode="replay", measured=measured)
    first, *_ = headline(found)
    assert "VIA-WM) is best of 2 systems, without a rank (its 12 calls of measured time count as 1, a rank needs 5): R 8" in first
    assert "nan" not in " ".join(headline(found)) and [line.rank for line in found.lines] == ["", ""]


def test_a_page_over_no_runs_is_refused_in_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder in .* has a results.parquet; a page needs a run") as caught:
        publish_together([], tmp_path / "report.html")
    assert "\n" not in str(caught.value)


def test_swaps_of_a_system_with_itself_are_refused():
    with pytest.raises(ValueError, match=r"systems is .*allowed: two different names"):
        SwapsConfig(suite="whole-v0", systems=["CALL-PLAIN", "CALL-PLAIN"])
