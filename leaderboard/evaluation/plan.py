"""The plan of an evaluation: its cells, after a check that the suite can play every participant."""

from collections.abc import Mapping, Sequence
from typing import Any

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells.cells import WORLDS_PER_CELL, Batch, Cell
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Entrant, participant
from vcgym.leaderboard.evaluation.suites import Suite


def plan(suite: Suite, parts: Sequence[tuple[Part, Any]], players: Mapping[str, Entrant]) -> list[Cell]:
    """Return all cells of an evaluation, with cells of the same batch adjacent.

    Raises:
        ValueError: see `require_controls`.
    """
    require_controls(suite, players)
    participants = {name: participant(name, player) for name, player in players.items()}
    batches = [batch for part in parts for batch in _batches(suite, *part)]
    return [Cell(name, one, batch, suite.kind) for batch in batches for name, one in participants.items()]


def _batches(suite: Suite, part: Part, scenario: Any) -> list[Batch]:
    which = suite.kind.worlds(part, scenario)
    cuts = range(0, len(which), WORLDS_PER_CELL)
    of_suite = (suite.name, suite.version, suite.packets, part, suite.kind.card(scenario))
    return [Batch(*of_suite, tuple(which[cut : cut + WORLDS_PER_CELL])) for cut in cuts]


def require_controls(suite: Suite, players: Mapping[str, Entrant]) -> None:
    """Refuse systems that lack a control of the suite's calls, or have one that its calls lack and that would not be played.

    Raises:
        ValueError: naming each such system, its controls and those of the suite.
    """
    systems = {name: one for name, one in players.items() if isinstance(one, System)}
    others = {name: ", ".join(one.rules) for name, one in sorted(systems.items()) if not one.fits(suite.kind.controls)}
    if others:
        found = "; ".join(f"{name} has {controls or 'none'}" for name, controls in others.items())
        raise ValueError(
            f"systems has {list(others)}, which suite {suite.name}-{suite.version} cannot play: {found}; "
            f"allowed: systems with {' and '.join(suite.kind.controls)} alone"
        )
