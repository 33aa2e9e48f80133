"""The tuned-rule gate: an agent, or any system, that a tuned rule beats is said to be beaten, in words, on every board.

A tuned rule is a system of kind "tuned": one of conf/system with a study, made by `vcgym-tune`. On each board every ranked system (oracles
are not) is held against the one with the highest interquartile mean of R: beaten is what has a paired difference whose 95 % interval lies
below 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vcgym.leaderboard.report.board import ORACLE, RANKED_BY, Board, board_name
from vcgym.leaderboard.results.columns import METRIC, Column, shown
from vcgym.leaderboard.statistics import Estimate, differences, pair_worlds

_KIND = "tuned"


class Against(NamedTuple):
    """One system against the best tuned rule: its name, its kind, and its R less the tuned rule's, over the same worlds."""

    system: str
    kind: str
    difference: Estimate

    @property
    def beaten(self) -> bool:
        """Whether the tuned rule is significantly better."""
        return self.difference.high < 0.0


class Gate(NamedTuple):
    """One board: its name, the best tuned rule there ("" if none was played), and everything else against it, best first."""

    board: str
    tuned: str
    others: tuple[Against, ...]


def gates(ranked: Sequence[Board], results: pa.Table, rng_seed: int = 0) -> list[Gate]:
    """The gate of each board that `vcgym.leaderboard.report.board.boards` made of a results table."""
    results = results.filter(pc.field("kind") != ORACLE)
    of_row = pa.array(map(board_name, results["mode"].to_pylist(), results["stratum"].to_pylist()))
    return [_gate(board, results.filter(pc.equal(of_row, board.mode)), rng_seed) for board in ranked]


def sentence(gate: Gate, ranked_by: Column = METRIC[RANKED_BY]) -> str:
    """What the gate says, agents first; differences are of the column that the board ranks by."""
    if not gate.tuned:
        return "No tuned rule was played on these worlds, so nothing is said about beating one."
    beaten = sorted((other for other in gate.others if other.beaten), key=lambda other: other.kind != "agent")
    agents = [other.system for other in gate.others if other.kind == "agent" and not other.beaten]
    said = [f"The best tuned rule is {gate.tuned}."]
    if beaten:
        names = ", ".join(_said(other, ranked_by) for other in beaten)
        said.append(f"Beaten by a tuned rule ({ranked_by.label} against {gate.tuned}): {names}.")
    else:
        said.append("It beats no other system.")
    if agents:
        said.append(f"Not beaten by it: agent {', agent '.join(agents)}.")
    return " ".join(said)


def markdown(ranked: Sequence[Board], results: pa.Table) -> str:
    """A section of leaderboard.md: some sentences per board."""
    lines = "\n".join(f"- Mode {gate.board}: {sentence(gate)}" for gate in gates(ranked, results))
    return f"\n## Beaten by a tuned rule\n\n{lines}\n"


def _gate(board: Board, results: pa.Table, rng_seed: int) -> Gate:
    kinds = {line.standing.system: line.kind for line in board.lines}
    best = next((system for system, kind in kinds.items() if kind == _KIND), "")
    if not best:
        return Gate(board.mode, "", ())
    found = differences(pair_worlds(results), RANKED_BY, best, rng_seed)
    return Gate(board.mode, best, tuple(Against(name, kind, found[name]) for name, kind in kinds.items() if name != best))


def _said(other: Against, ranked_by: Column) -> str:
    """By name; an agent with its difference too."""
    value, low, high = (shown(ranked_by, end) for end in other.difference)
    return f"agent {other.system} ({value} [{low}, {high}])" if other.kind == "agent" else other.system
