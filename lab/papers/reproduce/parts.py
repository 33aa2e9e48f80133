"""The calls of the verdicts, played in parts; a finished part is cached (`vcgym.leaderboard.cache`) and not played again.

A part is a few worlds of one setting, each sampled once for all systems: a row per system and world, see
`lab.papers.vcroute.outcomes.play_worlds`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lab.papers.vcroute.forecasts import SYSTEM, forecast_worlds
from lab.papers.vcroute.outcomes import MIN_WORLDS, Setting, play_worlds
from vcgym.baselines.systems import System
from vcgym.leaderboard.cache import cached
from vcgym.leaderboard.evaluation.together import every_pair
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

PAPER, MEDIAN, CORRELATED, REPLAY = "paper", "paper, median burst", "correlated", "replay"
MODES = (PAPER, CORRELATED, REPLAY)
"""In which every statement gets a verdict; those about WonderProxy get one for the median burst besides."""

SCALE_PACKETS = 30_000  # maximum for a call of the scale study: its length is not stated, and 900 paths are slow
REPLAY_PACKETS = 14_000  # maximum for a replayed call: the last fifth of the shortest series has room for 14,366
_WORLDS = 4  # per part


class PlayedPart(NamedTuple):
    """Worlds of a setting.

    Attributes:
        setting: setting of the part.
        scenario: scenario of the setting, for calls of a given length.
        draws: sampled worlds of the part.
        first: index of its first world among all worlds of the setting.
    """

    setting: Setting
    scenario: Scenario
    draws: Sequence[WorldDraw]
    first: int


def settings_of(scenario: str) -> list[Setting]:
    """Return the settings in which statements about a scenario are judged, labelled by mode; replay has series of other locations."""
    found = [Setting(PAPER, scenario, scenario, "paper", {"burst": "worst"})]
    if scenario == "wonderproxy":  # in other scenarios a link has one distribution
        found.append(Setting(MEDIAN, scenario, scenario, "paper", {"burst": "median"}))
    found.append(Setting(CORRELATED, scenario, scenario, "correlated", {}))
    return [*found, Setting(REPLAY, scenario, "leo", "replay")] if scenario == "wonderproxy" else found


def parts_of(setting: Setting, seeds: int, packets: int, min_worlds: int = MIN_WORLDS) -> Iterator[PlayedPart]:
    """Yield all worlds of a setting in parts: `seeds` for each pair, at least `min_worlds` in all."""
    scenario = setting.worlds(packets_of(setting, packets))
    draws = every_pair(scenario, seeds, min_worlds)
    for first in range(0, len(draws), _WORLDS):
        yield PlayedPart(setting, scenario, draws[first : first + _WORLDS], first)


def packets_of(setting: Setting, packets: int) -> int:
    """Return the length of the calls of a setting if `packets` are requested."""
    if setting.mode == "replay":
        return min(packets, REPLAY_PACKETS)
    return min(packets, SCALE_PACKETS) if setting.about.startswith("synthetic-") else packets


def calls_of(part: PlayedPart, systems: Mapping[str, System], folder: Path, threads: int) -> pa.Table:
    """Return the calls of all systems on the worlds of a part, from the cache if available, else played."""

    def play() -> pa.Table:
        table = play_worlds(part.scenario, part.draws, systems, threads)
        seeds = pa.array([part.first + seed for seed in table["seed"].to_pylist()])
        return table.set_column(table.schema.get_field_index("seed"), "seed", seeds)

    return cached(folder, ("calls", *_follows_from(part, systems)), play)


def forecasts_of(part: PlayedPart, system: System, folder: Path, threads: int) -> pa.Table:
    """Return the sums over packets of a system's forecasts on the worlds of a part, cached in the same way."""
    key = ("forecasts", *_follows_from(part, {SYSTEM: system}))
    return cached(folder, key, lambda: forecast_worlds(part.scenario, part.draws, system, threads))


def _follows_from(part: PlayedPart, systems: Mapping[str, System]) -> tuple[Any, ...]:
    setting, scenario = part.setting, part.scenario
    worlds = [(draw.pair, draw.stratum, draw.seed) for draw in part.draws]
    return setting.scenario, setting.mode, setting.arguments, scenario.packets, scenario.layout.card, worlds, part.first, systems
