"""Systems that a tuned rule beats, named in the text of every board.

A tuned rule is a system of kind "tuned": one of data/tuned, made by `vcgym tune`. On each board every ranked system (not oracles) is
compared with the bar, the tuned rule that was best on validation worlds (`vcgym.leaderboard.evaluation.bars`). A system is beaten if the
95 % interval of the paired difference is below 0. For agents the same is said kind by kind, as a lead over all worlds may be one of a few.
"""

from collections.abc import Sequence
from typing import NamedTuple

from vcgym.leaderboard.evaluation.bars import Bar
from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import START, Board
from vcgym.leaderboard.report.words.headline import change
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.results.columns import Column, format_value
from vcgym.leaderboard.statistics import Estimate


class ReferenceComparison(NamedTuple):
    """Comparison of a system with the tuned reference: its name, kind, and the paired difference of its ranked metric."""

    system: str
    kind: str
    difference: Estimate

    @property
    def beaten(self) -> bool:
        """True if the tuned rule is significantly better."""
        return self.difference.high < 0.0


class BeatenByTunedRule(NamedTuple):
    """Comparisons of a board: name, ranked metric, the tuned reference, every other system, best first, and agents by kind of world."""

    board: str
    ranked_by: Column
    bar: Bar
    others: tuple[ReferenceComparison, ...]
    kinds: tuple[str, ...]


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
    return " ".join([*words, *found.kinds])


def of_kinds(board: Board) -> tuple[str, ...]:
    """Return a sentence for each agent, best first: the kinds of worlds in which it is ahead of the bar, behind it, or neither.

    Without a bar, or with one kind of world, there are none; an agent before its first update has none.
    """
    agents = [line.standing.system for line in board.lines if line.kind in AGENT_KINDS and not line.standing.system.endswith(START)]
    return tuple(_by_kind(board, name) for name in agents) if board.strata and board.bar.system else ()


def _by_kind(board: Board, name: str) -> str:
    found = sorted(((one.name, one.to_bar[name]) for one in board.strata), key=lambda kind: -kind[1].value)
    parts = []
    for word, kinds in (
        ("ahead in", [f"{kind} ({change(board, lead)})" for kind, lead in found if lead.low > 0.0]),
        ("behind in", [f"{kind} ({change(board, lead)})" for kind, lead in reversed(found) if lead.high < 0.0]),
        ("not told apart in", [kind for kind, lead in found if not (lead.low > 0.0 or lead.high < 0.0)]),
    ):
        parts += [f"{word} {', '.join(kinds)}"] if kinds else []
    return f"By kind, agent {in_words(name)} against {in_words(board.bar.system)} ({board.columns.primary.label}): {'; '.join(parts)}."


def markdown(ranked: Sequence[Board]) -> str:
    """Return a section of leaderboard.md with a few sentences per board."""
    lines = "\n".join(f"- Mode {found.board}: {sentence(found)}" for found in beaten_by_tuned_rule(ranked))
    return f"\n## Beaten by a tuned rule\n\n{lines}\n"


def _compare(board: Board) -> BeatenByTunedRule:
    lines = [line for line in board.lines if line.standing.system != board.bar.system]
    others = tuple(
        ReferenceComparison(line.standing.system, line.kind, line.value.to_bar) for line in lines if line.value.to_bar is not None
    )
    return BeatenByTunedRule(board.mode, board.columns.primary, board.bar, others, of_kinds(board))


def _named(other: ReferenceComparison, ranked_by: Column) -> str:
    """Return the name; for an agent with its difference."""
    value, low, high = (format_value(ranked_by, end) for end in other.difference)
    return f"agent {other.system} ({value} [{low}, {high}])" if other.kind in AGENT_KINDS else other.system
