"""Systems that a tuned rule beats, named in words on every board.

A tuned rule is a system of kind "tuned": one of data/tuned, made by `vcgym-tune`. On each board every ranked system (oracles are not) is
compared with the best tuned rule. A system is beaten if the 95 % interval of the paired difference lies below 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.report.board import ORACLE, Board, board_name
from vcgym.leaderboard.results.columns import Column, format_value
from vcgym.leaderboard.statistics import Estimate, differences, pair_worlds

_KIND = "tuned"


class Comparison(NamedTuple):
    """One system beside the best tuned rule: its name, its kind, and its ranked metric less the tuned rule's, over the same worlds."""

    system: str
    kind: str
    difference: Estimate

    @property
    def beaten(self) -> bool:
        """True if the tuned rule is significantly better."""
        return self.difference.high < 0.0


class BeatenByTunedRule(NamedTuple):
    """One board: its name, ranked metric, the best tuned rule there ("" if none was played), and every other system, best first."""

    board: str
    ranked_by: Column
    tuned: str
    others: tuple[Comparison, ...]


def beaten_by_tuned_rule(ranked: Sequence[Board], results: pa.Table) -> list[BeatenByTunedRule]:
    """Compare the systems of each board that `vcgym.leaderboard.report.board.boards` made of a results table."""
    results = results.filter(pc.field("kind") != ORACLE)
    of_row = pa.array(map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist()))
    return [_compare(board, results.filter(pc.equal(of_row, board.mode))) for board in ranked]


def sentence(found: BeatenByTunedRule) -> str:
    """Return the outcome in words, agents first."""
    if not found.tuned:
        return "No tuned rule was played on these worlds, so nothing is said about beating one."
    beaten = sorted((other for other in found.others if other.beaten), key=lambda other: other.kind != "agent")
    agents = [other.system for other in found.others if other.kind == "agent" and not other.beaten]
    words = [f"The best tuned rule is {found.tuned}."]
    if beaten:
        names = ", ".join(_named(other, found.ranked_by) for other in beaten)
        words.append(f"Beaten by a tuned rule ({found.ranked_by.label} against {found.tuned}): {names}.")
    else:
        words.append("It beats no other system.")
    if agents:
        words.append(f"Not beaten by it: agent {', agent '.join(agents)}.")
    return " ".join(words)


def markdown(ranked: Sequence[Board], results: pa.Table) -> str:
    """Return a section of leaderboard.md: some sentences per board."""
    lines = "\n".join(f"- Mode {found.board}: {sentence(found)}" for found in beaten_by_tuned_rule(ranked, results))
    return f"\n## Beaten by a tuned rule\n\n{lines}\n"


def _compare(board: Board, results: pa.Table) -> BeatenByTunedRule:
    kinds, primary = {line.standing.system: line.kind for line in board.lines}, board.columns.primary
    best = next((system for system, kind in kinds.items() if kind == _KIND), "")
    if not best:
        return BeatenByTunedRule(board.mode, primary, "", ())
    found = differences(pair_worlds(results), primary.name, best, primary.trim)
    others = tuple(Comparison(name, kind, found[name]) for name, kind in kinds.items() if name != best)
    return BeatenByTunedRule(board.mode, primary, best, others)


def _named(other: Comparison, ranked_by: Column) -> str:
    """Return the name; of an agent with its difference."""
    value, low, high = (format_value(ranked_by, end) for end in other.difference)
    return f"agent {other.system} ({value} [{low}, {high}])" if other.kind == "agent" else other.system
