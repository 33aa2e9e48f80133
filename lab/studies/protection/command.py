"""python -m lab protection-bound: hindsight of protection within a budget, and systems against it. See lab/conf/protection_bound.yaml."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.oracles.script import Script
from lab.studies.protection.repairs import due, most_rating, most_repairs, repairs
from vcgym.agents.config.base import Config
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import load_system
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.counters import Totals, ratings_of
from vcgym.leaderboard.evaluation.rollouts.rollout import play_rules_together
from vcgym.leaderboard.report.table import markdown_table
from vcgym.network.playout.packet_size import PLAIN
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw, blocks
from vcgym.scripts.console.command import command

RUN_SLOTS = 3.0  # of losses in drawn worlds, as in suite protected-v0
KINDS = (
    "wonderproxy correlated", "table1 correlated", "stress correlated", "wonderproxy paper", "table1 paper", "starlink-ping replay",
    "5g-weak replay",
)  # fmt: skip
_COLUMNS = (
    "worlds", "system", "budget %", "bytes %", "R gained", "bound on R", "repairable %", "repaired %", "R by repair", "at most",
)  # fmt: skip


class ProtectionBoundConfig(Config):
    """Hindsight of protection on validation worlds, and what systems with the same pair reach of it.

    Attributes:
        pair: system without protection, whose path and lag stay.
        systems: systems whose protection plays.
        budgets: shares of the plain bytes.
        worlds: worlds of each kind.
        packets: length of the calls.
    """

    pair: str = "learned"
    systems: Annotated[list[str], Field(min_length=1)] = Field(
        default_factory=lambda: ["COPY-HELD", "COPY-RISE", "COPY-RED", "RED1", "FEC5", "CHIME", "NACK", "COPY1", "RED3"]
    )
    budgets: Annotated[list[Annotated[float, Field(gt=0.0, le=100.0)]], Field(min_length=1)] = Field(default_factory=lambda: [0.1])
    worlds: Annotated[int, Field(ge=1, le=10_000)] = 40
    packets: Annotated[int, Field(ge=100, le=60_000)] = 4000


@command("protection_bound", ProtectionBoundConfig, LAB)
def main(config: ProtectionBoundConfig) -> None:
    """Play the systems, compare them with the bounds, and print one row per kind of world, system and budget.

    Repairable is a share of the concealed ticks, repaired a share of the bound on repairs within the budget. `R by repair` and `at most`
    are what these are worth at the delay of the pair; `R gained` is as played, where the pair reacts.

    Raises:
        AssertionError: a system is above a bound.
    """
    rows = []
    with progress("protection bound", len(KINDS)) as on_progress:
        for done, kind in enumerate(KINDS):
            on_progress(done, kind)
            rows += kind_rows(kind, config)
    Console().print(markdown_table(_COLUMNS, rows, text=("worlds", "system")), highlight=False, soft_wrap=True)


class Unprotected(NamedTuple):
    """Calls of the pair without protection, and the delays (paths, packets) and history of their worlds."""

    played: Played
    delays_us: list[NDArray[np.int32]]
    histories: list[NDArray[np.float64]]


def kind_rows(kind: str, config: ProtectionBoundConfig) -> list[list[str]]:
    """Return the rows of one kind of world, named SCENARIO MODE."""
    name, mode = kind.split()
    scenario = Scenario(name, mode, config.packets, **({} if mode == "replay" else {"loss_run_slots": RUN_SLOTS}))
    draws = TrainingCalls.evenly(scenario, "validation", config.worlds).draws
    pair = load_system(config.pair)
    reference = Unprotected(next(play_rules_together([pair], scenario, draws)).played, *_worlds(scenario, draws))
    systems = [pair.replace(protection=load_system(system).protection) for system in config.systems]
    rows = []
    for budget in config.budgets:
        reacted = [one.played for one in play_rules_together(systems, scenario, draws, budget=budget)]
        for system, as_played, protection in zip(config.systems, reacted, systems, strict=True):
            alone = _same_paths(scenario, draws, reference.played, protection.protection, budget)
            rows.append([kind, system, f"{100.0 * budget:g}", *_compared(reference, as_played, alone, budget)])
    return rows


def _worlds(scenario: Scenario, draws: Sequence[WorldDraw]) -> tuple[list[NDArray[np.int32]], list[NDArray[np.float64]]]:
    world, delays_us, histories = scenario.world(1), [], []
    for draw in draws:
        histories.append(world.start(0, draw))
        delays_us.append(np.concatenate(list(blocks(world, scenario.packets)), axis=1)[:, : scenario.packets])
    return delays_us, histories


def _same_paths(scenario: Scenario, draws: Sequence[WorldDraw], played: Played, protection: Any, budget: float) -> Played:
    """Play a protection on the paths of finished calls; what arrives when does not depend on the playout."""
    script = Script(played.path.copy())
    batch = CallBatch(scenario, len(draws), script, WMJitter(), location="sender", log=True, protection=protection, budget=budget)
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.play(np.arange(len(draws)))
    return batch.played()


def rating_with(totals: Totals, repaired: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return R (sessions,) of calls with so many concealed ticks fewer, at the same delay."""
    ticks = np.maximum(totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed, 1)
    return np.asarray(rating(totals.offset_us_sum / ticks / 1000.0, (totals.ticks_concealed - repaired) / ticks))


def _compared(reference: Unprotected, as_played: Played, alone: Played, budget: float) -> list[str]:
    totals, sessions = reference.played.totals, range(len(reference.delays_us))
    wanted = [due(reference.played, s) for s in sessions]
    most = np.array([most_repairs(one, delay_us, budget) for one, delay_us in zip(wanted, reference.delays_us, strict=True)])
    done = np.array([repairs(one, alone, s) for s, one in enumerate(wanted)])
    top = np.array([most_rating(*one) for one in zip(reference.delays_us, reference.histories, strict=True)])
    plain, reached = ratings_of(totals), ratings_of(as_played.totals)
    if (done > most).any() or (reached > top).any():
        raise AssertionError(f"above a bound: {int((done > most).sum())} calls in repairs, {int((reached > top).sum())} in R")
    assert as_played.protection is not None
    extra = as_played.protection["extra_bytes"].mean() / (PLAIN * reference.played.path.shape[1])
    by_repair, at_most = (rating_with(totals, count).mean() - plain.mean() for count in (done, most))
    return [
        f"{100.0 * extra:.1f}", f"{(reached - plain).mean():+.2f}", f"{(top - plain).mean():+.2f}",
        f"{100.0 * most.sum() / max(totals.ticks_concealed.sum(), 1):.0f}", f"{100.0 * done.sum() / max(most.sum(), 1):.0f}",
        f"{by_repair:+.2f}", f"{at_most:+.2f}",
    ]  # fmt: skip
