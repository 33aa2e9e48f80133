"""README and lab/notes/results.md say of `make leaderboard` what the report makes of its kept rows, digit for digit."""

import importlib.util
import re
from pathlib import Path

import pytest

from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.sentences import change
from vcgym.leaderboard.report.words.systems import in_words

HOME = Path(__file__).parents[3]
RESULTS = "lab/notes/results.md"
SPEC = importlib.util.spec_from_file_location("board_of_the_pages", HOME / "lab" / "shipped" / "board.py")
pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pages)


@pytest.fixture(scope="module")
def boards():
    return pages.kept_boards()


@pytest.fixture(scope="module")
def board(boards):
    return boards[0]


@pytest.fixture(scope="module")
def lines(board):
    return {line.system: line for line in board.lines}


def read(name):
    return (HOME / name).read_text(encoding="utf-8")


def test_the_table_and_the_sentences_are_those_of_the_report(boards):
    written = pages.blocks(boards)
    assert set(written) == {"README.md", RESULTS}
    for name, block in written.items():
        assert pages.marked("board", block) in read(name), f"{name}: run python -m lab.shipped.board"


def test_the_short_table_has_the_references_and_the_last_system_in_words(boards, board):
    headings, _, *lines = pages.short_table(boards).splitlines()
    rows = [row.split(" | ")[0].removeprefix("| ") for row in lines]
    assert [board.mode for board in boards] == ["correlated", "paper", "replay"]
    assert all(f"{one.mode}: above {in_words(one.bar.system)}" in headings for one in boards)
    ends = board.lines[0].system, board.lines[-1].system
    expected = [*ends, board.published, board.bar.system, "learned", "PPO"]
    assert len(rows) <= 10 and {in_words(name) for name in expected} <= set(rows)


def test_the_first_lines_and_the_picture_s_caption_have_the_figures_of_the_table(boards, board, lines):
    first, bar, mine = board.lines[0], lines[board.bar.system], lines["PPO"]
    lead, more = (change(board, found).lstrip("+") for found in (first.found["above_published"], first.found["above_tuned_rule"]))
    above, ahead = (change(board, found).lstrip("+") for found in (mine.found["above_published"], mine.found["above_tuned_rule"]))
    shares = [format_score(line.found["percent_of_attainable"]).split()[0] for line in (first, mine, bar)]
    opening = " ".join(read("README.md").partition("```sh")[0].split())
    of_measured = {line.system: line.found["above_tuned_rule"] for line in boards[-1].lines}
    below = [
        "{:.1f} [{:.1f}, {:.1f}]".format(*(-end for end in (found.value, found.high, found.low)))
        for found in (of_measured[first.system], of_measured["PPO"])
    ]
    figures = [f"{board.worlds} synthetic worlds", lead, more, above, ahead, *(f"{share} %" for share in shares), *below]
    assert [figure for figure in figures if figure not in opening] == []
    assert (first.system, first.rank) == ("learned", "1")  # "the learned pair is first"
    assert board.published.startswith("VIA-")


def test_the_table_of_all_systems_in_the_results_is_that_of_the_kept_rows(board):
    section = read(RESULTS).partition("## Suite default-v1, mode correlated")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:tied )?[-\d]+ \| \S+ \| \w+ \| [\d.]+ \[[\d.]+, [\d.]+\]) \|", section, re.MULTILINE)
    primary = board.columns.primary
    made = [f"{line.rank} | {line.system} | {line.kind} | {primary.interval(line.found[primary.name])}" for line in board.lines]
    assert rows == made
