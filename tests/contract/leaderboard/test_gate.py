"""The tuned-rule gate names the systems beaten by a tuned rule, agents first, and only if the difference is significant."""

import numpy as np
import pytest
from board_rows import table_of_r

from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.table import markdown
from vcgym.leaderboard.report.words.sentences import beaten, of_tuned_rule
from vcgym.leaderboard.results.kinds import CALL

WORLDS = 40
COMMON = np.random.default_rng(0).normal(0.0, 5.0, WORLDS)


def results(*systems):
    """Systems as (name, kind, mean R, own noise), each on the same worlds of mode paper."""
    wobbles = [np.random.default_rng(number + 1).normal(0.0, 1.0, WORLDS) for number in range(len(systems))]
    found = {name: (kind, mean + COMMON + noise * wobble) for (name, kind, mean, noise), wobble in zip(systems, wobbles, strict=True)}
    return table_of_r(CALL, found, mode="paper")


def said(*systems):
    (board,) = boards(results(*systems))
    return board, of_tuned_rule(board)


def test_who_is_beaten_is_said_agents_first():
    board, words = said(
        ("A-tuned", "tuned", 80.0, 1.0), ("B-tuned", "tuned", 82.0, 1.0), ("B", "rule", 75.0, 1.0),
        ("slow", "agent", 79.0, 1.0), ("same", "agent", 82.05, 1.0), ("fast", "rule", 85.0, 1.0),
    )  # fmt: skip
    assert board.bar.system == "B-tuned"
    assert {line.system for line in beaten(board)} == {"A-tuned", "B", "slow"}
    assert words.startswith("The best tuned rule is B-tuned. Beaten by a tuned rule (R against B-tuned): agent slow (-3.")
    assert "fast" not in words
    assert words.endswith("Not beaten by it: agent same.")


def test_the_difference_is_that_of_the_same_worlds():
    board, _ = said(("A-tuned", "tuned", 80.0, 0.0), ("B", "rule", 79.5, 0.0))
    assert board.lines[1].found["above_tuned_rule"] == pytest.approx((-0.5, -0.5, -0.5))


def test_nothing_is_said_without_a_tuned_rule():
    _, words = said(("A", "rule", 80.0, 1.0), ("B", "agent", 70.0, 1.0))
    assert words.startswith("No tuned rule was played")


def test_the_markdown_has_a_line_for_each_board():
    table = results(("A-tuned", "tuned", 80.0, 1.0), ("B", "rule", 80.0, 1.0))
    said_of_none = "## Beaten by a tuned rule\n\n- Mode paper: The best tuned rule is A-tuned. It beats no other system.\n"
    assert said_of_none in markdown(boards(table))


def test_oracles_and_names_alone_make_no_tuned_rule():
    systems = (("A-tuned", "tuned", 80.0, 1.0), ("B", "rule", 80.0, 1.0), ("C-tuned", "agent", 85.0, 1.0))
    oracles = (("oracle_joint_6", "oracle", 90.0, 1.0), ("oracle_routing_A-tuned", "oracle", 88.0, 1.0))
    table = results(*systems, *oracles)
    (board,) = boards(table)
    assert board.bar.system == "A-tuned"
    assert {line.system for line in board.lines} == {"A-tuned", "C-tuned", "B"}
    assert of_tuned_rule(board) == said(*systems)[1]
    assert "oracle" not in markdown([board]).partition("## Beaten")[2]


def test_the_bar_was_chosen_elsewhere(monkeypatch):
    """A better tuned rule on these very worlds does not take its place; one that was not played is said to be missing."""
    systems = (("A-tuned", "tuned", 80.0, 1.0), ("B-tuned", "tuned", 82.0, 1.0), ("slow", "agent", 79.0, 1.0))
    asked = []

    def chosen(suite, board):
        asked.append((suite, board))
        return "A-tuned"

    monkeypatch.setattr("vcgym.leaderboard.evaluation.bars.bar_of", chosen)
    board, words = said(*systems)
    assert asked == [("x-x", "paper")]
    (better,) = (line for line in board.lines if line.system == "B-tuned")
    assert board.bar.system == "A-tuned" and better.found["above_tuned_rule"].value == pytest.approx(2.0, abs=0.6)
    assert words.startswith("The bar is A-tuned, the best tuned rule on validation worlds. Beaten by a tuned rule")
    assert "(R against A-tuned): agent slow (-1." in words or "(R against A-tuned): agent slow (-0." in words
    board, words = said(*systems[1:])
    assert board.bar == ("", "A-tuned") and beaten(board) == []
    assert words == "The bar, A-tuned, was not played, so nothing is said about beating one."


def test_every_table_shows_the_difference_to_the_bar():
    (board,) = boards(results(("A-tuned", "tuned", 80.0, 0.0), ("B", "rule", 79.5, 0.0)))
    text = markdown([board])
    assert "| system | kind | R less that of A-tuned [95 %] | decisions | trials | numbers |" in text
    assert "| A-tuned | tuned | the bar | 0 | 0 | 0 |" in text and "| B | rule | -0.50 [-0.50, -0.50] | 0 | 0 | 0 |" in text


def test_an_agent_stands_beside_its_start_and_without_one_there_is_no_such_column():
    (board,) = boards(results(("OURS", "agent", 83.0, 0.0), ("OURS-start", "agent", 80.5, 0.0), ("B", "rule", 82.0, 0.0)))
    found = {line.system: line.found.get("learned") for line in board.lines}
    assert found["OURS"] == pytest.approx((2.5, 2.5, 2.5))
    assert found["OURS-start"] is None and found["B"] is None
    page = markdown([board])
    assert "learned [95 %]" in page and "2.50 [2.50, 2.50]" in page
    assert "learned" not in markdown(boards(results(("OURS", "agent", 83.0, 0.0), ("B", "rule", 82.0, 0.0))))
