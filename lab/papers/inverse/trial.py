"""Trial: play the paper's evaluation under assumptions, and judge its statements with the judge of the reproduction.

Judged are the statements about WMJitter as printed (the other reading is an assumption). Those about our inputs and about the machine's
speed depend on no assumption and are left out.
"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from lab.papers.inverse.assumptions import Assumptions
from lab.papers.inverse.readings import count_lost, location_of, systems_of
from lab.papers.inverse.worlds import AssumedRecipe, plain
from lab.papers.judge import REPRODUCED
from lab.papers.reproduce.parts import PAPER, SCALE_PACKETS
from lab.papers.reproduce.verdicts import verdict_in
from lab.papers.vcroute.forecasts import SYSTEM, forecast_worlds
from lab.papers.vcroute.measures import Material
from lab.papers.vcroute.outcomes import play_worlds
from lab.papers.vcroute.statements import INPUTS, LATE_LEARNS, Cost, VCRouteStatement, load_statements, scenario_of
from lab.papers.verdicts import VERDICTS
from vcgym.baselines.routers.vcroute.vcroute import VCRoute
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import every_pair
from vcgym.leaderboard.kept import kept
from vcgym.network.scenarios.scenario import Scenario

_FORECAST = ("wonderproxy", "cloud")


class Size(NamedTuple):
    """Number of worlds per pair, minimum number of worlds of a scenario, and length of a call in packets."""

    seeds: int
    min_worlds: int
    packets: int


class Trial:
    """Outcome of one trial.

    Attributes:
        assumed: the assumptions.
        rows: statement -> its row of `lab.papers.verdicts.VERDICTS`.
        held: the reproduced statements.
    """

    def __init__(self, assumed: Assumptions, rows: pa.Table) -> None:
        self.assumed = assumed
        self.rows = {row["statement"]: row for row in rows.to_pylist()}
        self.held = frozenset(name for name, row in self.rows.items() if row["verdict"] == REPRODUCED)


def judged_statements() -> list[VCRouteStatement]:
    """Return the statements whose verdict may depend on assumptions."""
    return [
        one for one in load_statements()
        if one.rule != "none" and LATE_LEARNS not in one.id and not isinstance(one.measure, (*INPUTS, Cost))
    ]  # fmt: skip


def tried(assumed: Assumptions, size: Size, folder: Path, threads: int) -> Trial:
    """Return the trial of assumptions, from the cache in `folder` if available, else played with `threads` threads."""

    def play() -> pa.Table:
        statements = judged_statements()
        scenarios = dict.fromkeys(filter(None, map(scenario_of, statements)))
        material = {about: _played(about, assumed, size, threads) for about in scenarios}
        rows = [verdict_in(one, PAPER, material[scenario_of(one) or ""], assumed.accounting) for one in statements]
        return pa.Table.from_pylist(rows, VERDICTS.schema)

    return Trial(assumed, kept(folder, (tuple(sorted(asdict(assumed).items())), tuple(size)), play))


def _played(about: str, assumed: Assumptions, size: Size, threads: int) -> Material:
    packets = min(size.packets * assumed.length, SCALE_PACKETS) if about.startswith("synthetic-") else size.packets * assumed.length
    scenario = Scenario(partial(AssumedRecipe, about=about, assumed=assumed), "paper", packets)
    draws = every_pair(scenario, size.seeds, size.min_worlds)
    systems, location = systems_of(assumed), location_of(assumed)
    calls = count_lost(play_worlds(scenario, draws, systems, threads, location), assumed.lost)
    forecasts = None
    if about in _FORECAST and isinstance(systems[SYSTEM].router, VCRoute):
        forecasts = forecast_worlds(scenario, draws, systems[SYSTEM], threads, location)
    return Material(plain(about, packets), calls, forecasts)
