"""python -m lab oracle-check: check that no system beats its oracle on random worlds with hidden losses. See lab/conf/oracle_check.yaml.

A system plays the world in which only certain losses occur. Its expected concealed share adds the loss probability of each packet it played
to the share that its player concealed. Its oracle is the joint one with the smallest limit on path changes that the system satisfied.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.oracles.joint import UNLIMITED
from lab.studies.oracles.rating import BestInHindsight, best_ratings
from lab.studies.oracles.seen import Seen, SeenWorld, see
from vcgym.agents.config.base import Config
from vcgym.agents.tracking.progress import OnProgress, progress
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.scripts.console.command import command

LIMITS = (0, 1, 2, 6, UNLIMITED)
TOLERANCE = 0.02
"""Points of R by which a policy may exceed a bound: rounding of float32 sums, and jumps of the player (see `oracles/rating.py`)."""


SCENARIOS = (
    ("wonderproxy", "correlated"), ("stress", "correlated"), ("table1", "correlated"), ("cloud", "correlated"),
    ("wonderproxy", "paper"), ("table1", "paper"), ("cloud", "paper"), ("synthetic-9", "paper"),
)  # fmt: skip
"""Name and mode of what is drawn from, of shipped data alone."""


class OracleCheckConfig(Config):
    """Comparison of systems on random worlds with the bounds of their oracles.

    Attributes:
        systems: names of systems over paths; None: all.
        worlds: number of worlds of the training split; the scenarios of `SCENARIOS` take turns.
        packets: length of the calls.
        per_world: systems that play each world, in turn.
        first: seed of the first world.
    """

    systems: Annotated[list[str], Field(min_length=1)] | None = None
    worlds: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    packets: Annotated[int, Field(ge=100, le=60_000)] = 300
    per_world: Annotated[int, Field(ge=1, le=100)] = 2
    first: Annotated[int, Field(ge=0)] = 100_000


@command("oracle_check", OracleCheckConfig, LAB)
def main(config: OracleCheckConfig) -> None:
    """Play the systems, compare them with their oracles, and print the result."""
    scenarios = [Scenario(name, mode, config.packets) for name, mode in SCENARIOS]
    with progress("oracle check", config.worlds) as on_progress:
        systems = systems_of(SUITES["correlated-v0"], config.systems)
        found = compare(scenarios, systems, config.worlds, config.per_world, on_progress, config.first)
    Console().print(summary(found), highlight=False, soft_wrap=True)


class Compared(NamedTuple):
    """Result of a system in one world.

    Attributes:
        world: scenario, mode, stratum and seed as text.
        system: name of the system.
        r: expected R over the hidden losses.
        reached: R of the oracle's plan.
        bound: upper bound on R of any policy.
    """

    world: str
    system: str
    r: float
    reached: float
    bound: float


def compare(
    scenarios: Sequence[Scenario], systems: Mapping[str, System], worlds: int, per_world: int, on_progress: OnProgress, first: int = 0
) -> list[Compared]:  # fmt: skip
    """Play systems on random worlds of the training split.

    Args:
        scenarios: scenarios, used in turn.
        systems: systems by name; the next `per_world` of them play each world.
        worlds: number of worlds.
        per_world: systems per world.
        on_progress: called with the number of finished worlds.
        first: seed of the first world.
    """
    names = list(systems)
    found = []
    for n in range(worlds):
        scenario = scenarios[n % len(scenarios)]
        draw = scenario.draw("train", first + n)
        seen = see(scenario, draw)
        if n % 50 == 0:
            on_progress(n, f"{scenario.name}, {scenario.mode}")
        best = best_ratings(seen, LIMITS)
        for i in range(per_world):
            name = names[(n * per_world + i) % len(names)]
            batch = CallBatch(scenario, 1, systems[name].path, systems[name].playout, log=True, world=SeenWorld(seen))
            batch.start(0, draw)
            batch.play(np.arange(1))
            r, changes = expected_rating(seen, batch)
            oracle = _oracle(best, changes)
            found.append(Compared(f"{scenario.name} {scenario.mode} {draw.stratum} {first + n}", name, r, oracle.rating, oracle.bound))
    return found


def expected_rating(seen: Seen, batch: CallBatch) -> tuple[float, int]:
    """Return the expected R over hidden losses of the one call of a batch on a `SeenWorld`, and its number of path changes."""
    played = batch.played()
    heard = played.played_us[0] >= 0
    hidden = seen.chance[played.path[0], np.arange(len(heard))][heard].sum()
    totals = played.totals
    ticks = int(totals.ticks_played[0] + totals.ticks_stretched[0] + totals.ticks_concealed[0])
    if ticks == 0:
        return float("nan"), int(totals.path_changes[0])
    r = rating(totals.offset_us_sum[0] / ticks / 1000.0, (totals.ticks_concealed[0] + hidden) / ticks)
    return float(r), int(totals.path_changes[0])


def _oracle(best: Sequence[BestInHindsight], changes: int) -> BestInHindsight:
    return next(one for one, limit in zip(best, LIMITS, strict=True) if limit == UNLIMITED or changes <= limit)


def summary(found: Sequence[Compared]) -> str:
    """Return the outcome as text."""
    heard = [one for one in found if np.isfinite(one.r)]
    above = [one for one in heard if one.r > one.bound + TOLERANCE]
    apart = np.array([one.bound - one.reached for one in heard])
    gap_r = np.array([one.bound - one.r for one in heard])
    lines = [
        f"{len(found):,} calls, {len(found) - len(heard):,} of them without sound",
        f"above the bound by more than {TOLERANCE} R: {len(above):,}; by anything: {(gap_r < 0.0).sum():,}; least room {gap_r.min():.3f} R",
        f"above the oracle's own plan: {sum(one.r > one.reached for one in heard):,}",
        f"room below the bound: mean {gap_r.mean():.2f} R, median {np.median(gap_r):.2f}",
        f"bound above plan: mean {apart.mean():.3f} R, 99th percentile {np.quantile(apart, 0.99):.3f}, most {apart.max():.3f}",
    ]
    return "\n".join([*lines, *(str(one) for one in above)])
