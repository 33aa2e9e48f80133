"""Systems that a tuned rule beats, named in the text of every board.

A tuned rule is a system of kind "tuned": one of data/tuned, made by `vcgym-tune`. On each board every ranked system (not oracles) is
compared with the bar, the tuned rule that was best on validation worlds (`vcgym.leaderboard.report.scores.bar`). A system is beaten if the
95 % interval of the paired difference is below 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import Board
from vcgym.leaderboard.report.scores.bar import Bar
from vcgym.leaderboard.results.columns import Column, format_value
from vcgym.leaderboard.statistics import Estimate


class Comparison(NamedTuple):
    """Comparison of a system with the tuned reference: its name, kind, and the paired difference of its ranked metric."""

    system: str
    kind: str
    difference: Estimate

    @property
    def beaten(self) -> bool:
        """True if the tuned rule is significantly better."""
        return self.difference.high < 0.0


class BeatenByTunedRule(NamedTuple):
    """Comparisons of a board: name, ranked metric, the tuned reference, and every other system, best first."""

    board: str
    ranked_by: Column
    bar: Bar
    others: tuple[Comparison, ...]


def beaten_by_tuned_rule(ranked: Sequence[Board]) -> list[BeatenByTunedRule]:
    """Compare the systems of each board with its bar."""
    return [_compare(board) for board in ranked]


def sentence(found: BeatenByTunedRule) -> str:
    """Return the outcome as a sentence, agents first."""
    words, tuned = [found.bar.about], found.bar.system
    if not tuned:
        return words[0]
    beaten = sorted((other for other in found.others if other.beaten), key=lambda other: other.kind not in AGENT_KINDS)
    agents = [other.system for other in found.others if other.kind in AGENT_KINDS and not other.beaten]
    if beaten:
        names = ", ".join(_named(other, found.ranked_by) for other in beaten)
        words.append(f"Beaten by a tuned rule ({found.ranked_by.label} against {tuned}): {names}.")
    else:
        words.append("It beats no other system.")
    if agents:
        words.append(f"Not beaten by it: agent {', agent '.join(agents)}.")
    return " ".join(words)


def markdown(ranked: Sequence[Board]) -> str:
    """Return a section of leaderboard.md with a few sentences per board."""
    lines = "\n".join(f"- Mode {found.board}: {sentence(found)}" for found in beaten_by_tuned_rule(ranked))
    return f"\n## Beaten by a tuned rule\n\n{lines}\n"


def _compare(board: Board) -> BeatenByTunedRule:
    lines = [line for line in board.lines if line.standing.system != board.bar.system]
    others = tuple(Comparison(line.standing.system, line.kind, line.value.to_bar) for line in lines if line.value.to_bar is not None)
    return BeatenByTunedRule(board.mode, board.columns.primary, board.bar, others)


def _named(other: Comparison, ranked_by: Column) -> str:
    """Return the name; for an agent with its difference."""
    value, low, high = (format_value(ranked_by, end) for end in other.difference)
    return f"agent {other.system} ({value} [{low}, {high}])" if other.kind in AGENT_KINDS else other.system
