"""A board as a table for a paper: LaTeX and CSV have the numbers of the board, and a method is followed by its trainings."""

import csv

import numpy as np
import pytest
from board_rows import table_of_r

from vcgym.leaderboard.report.board import board_of
from vcgym.leaderboard.report.export import export
from vcgym.leaderboard.results.kinds import CALL

COLUMNS = CALL._replace(metrics=(CALL.metric["r"],), headline=(), details=(), groups=(), fronts=(), curves=(), bands=None)
KINDS = {"DRT-WM": "rule", "DRT-WM-tuned": "tuned", "50 %_mine seed 0": "local", "50 %_mine seed 1": "local"}


@pytest.fixture(scope="module")
def board():
    worlds = np.random.default_rng(0).normal(80.0, 5.0, 12)
    own = [place + np.random.default_rng(place).normal(0.0, 0.3, 12) for place in range(len(KINDS))]
    systems = {name: (kind, worlds + noise) for (name, kind), noise in zip(KINDS.items(), own, strict=True)}
    return board_of(COLUMNS, "paper", table_of_r(COLUMNS, systems, mode="paper"))


def test_csv_has_every_number_and_the_trainings_of_a_method(board, tmp_path):
    export([board], tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        rows = {row["system"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["50 %_mine", "50 %_mine seed 0", "50 %_mine seed 1", "DRT-WM-tuned", "DRT-WM"]
    first = board.lines[0]
    assert float(rows["50 %_mine"]["value"]) == pytest.approx(first.found[COLUMNS.ranked_by].value, rel=1e-5)
    assert float(rows["50 %_mine"]["above_tuned_rule_low"]) == pytest.approx(first.found["above_tuned_rule"].low, rel=1e-5)
    assert [rows[name]["training_of"] for name in rows] == ["", "50 %_mine", "50 %_mine", "", ""]
    assert (rows["50 %_mine"]["seeds"], rows["50 %_mine seed 0"]["rank_low"]) == ("2", "")


def test_latex_has_a_row_per_system_and_escapes_names(board, tmp_path):
    export([board], tmp_path / "table.tex")
    text = (tmp_path / "table.tex").read_text()
    assert r"50 \%\_mine (2 seeds) & " in text and "seed 0" not in text and text.count(r" \\") == 1 + len(board.lines)
    assert text.count(r"\begin{tabular}{lrrrl}") == text.count(r"\end{tabular}") == 1
    assert "$-$" in text and "R & above direct path / WMJitter & above direct path / WMJitter, tuned" in text


def test_another_ending_is_refused(board, tmp_path):
    with pytest.raises(ValueError, match=r"output is .*table.doc; allowed: a file that ends in .tex or .csv"):
        export([board], tmp_path / "table.doc")
