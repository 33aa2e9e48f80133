"""The calls behind the verdicts, played in parts: a finished part is a file named by a hash of all that it follows from, and is not redone.

A part is a few worlds of one setting, each drawn once for all systems: a row per system and world, as of
`vcgym.leaderboard.papers.truth.outcomes.play_worlds`. It follows from the sources of the kernels, the parameters of the rules, the data
behind the
worlds and the worlds drawn, so a run that was killed goes on where it was, and gives the same bytes.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.paired_rollout import every_pair
from vcgym.leaderboard.papers.reproduce.forecasts import SYSTEM, forecast_worlds
from vcgym.leaderboard.papers.truth.outcomes import LEAST_WORLDS, Setting, play_worlds
from vcgym.leaderboard.results.files import replace_file
from vcgym.network.kernels.jit import CACHE_FOLDER
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

PAPER, MEDIAN, CORRELATED, REPLAY = "paper", "paper, median burst", "correlated", "replay"
MODES = (PAPER, CORRELATED, REPLAY)
"""In which every statement gets a verdict; those about WonderProxy get one for the median burst besides."""

SCALE_PACKETS = 30_000  # of a call of the scale study at most: its length is not stated, and 900 paths take their time
REPLAY_PACKETS = 14_000  # of a replayed call at most: the last fifth of the shortest series has room for 14,366
_WORLDS = 4  # of a part


class Part(NamedTuple):
    """Some worlds of a setting.

    Attributes:
        setting: which.
        scenario: of it, for calls of a given length.
        draws: its worlds.
        first: place of the first of them among all worlds of the setting.
    """

    setting: Setting
    scenario: Scenario
    draws: Sequence[WorldDraw]
    first: int


def settings_of(scenario: str) -> list[Setting]:
    """The kinds of worlds in which statements about a scenario are looked at, labelled by mode; replay has series of other places."""
    found = [Setting(PAPER, scenario, scenario, "paper", {"burst": "worst"})]
    if scenario == "wonderproxy":  # elsewhere a link has one law
        found.append(Setting(MEDIAN, scenario, scenario, "paper", {"burst": "median"}))
    found.append(Setting(CORRELATED, scenario, scenario, "correlated", {}))
    return [*found, Setting(REPLAY, scenario, "leo", "replay")] if scenario == "wonderproxy" else found


def parts_of(setting: Setting, seeds: int, packets: int, least: int = LEAST_WORLDS) -> Iterator[Part]:
    """All worlds of a setting, `seeds` for each pair and `least` at least, a few to a part."""
    scenario = setting.worlds(packets_of(setting, packets))
    draws = every_pair(scenario, seeds, least)
    for first in range(0, len(draws), _WORLDS):
        yield Part(setting, scenario, draws[first : first + _WORLDS], first)


def packets_of(setting: Setting, packets: int) -> int:
    """Length of the calls of a setting where `packets` are asked for."""
    if setting.mode == "replay":
        return min(packets, REPLAY_PACKETS)
    return min(packets, SCALE_PACKETS) if setting.about.startswith("synthetic-") else packets


def calls_of(part: Part, systems: Mapping[str, System], folder: Path, threads: int) -> pa.Table:
    """The calls of all systems on the worlds of a part, from their file if that is there, else played and kept."""

    def play() -> pa.Table:
        table = play_worlds(part.scenario, part.draws, systems, threads)
        seeds = pa.array([part.first + seed for seed in table["seed"].to_pylist()])
        return table.set_column(table.schema.get_field_index("seed"), "seed", seeds)

    return _kept(folder / f"calls-{_key(part, systems)}.parquet", play)


def forecasts_of(part: Part, system: System, folder: Path, threads: int) -> pa.Table:
    """How well the predictor of a system forecasts its packets on the worlds of a part, kept likewise."""
    path = folder / f"forecasts-{_key(part, {SYSTEM: system})}.parquet"
    return _kept(path, lambda: forecast_worlds(part.scenario, part.draws, system, threads))


def _kept(path: Path, make: Callable[[], pa.Table]) -> pa.Table:
    if path.is_file():
        return pq.read_table(path)
    table = make()
    content = BytesIO()
    pq.write_table(table, content, compression="zstd")
    replace_file(path, content.getvalue())
    return table


def _key(part: Part, systems: Mapping[str, System]) -> str:
    """Sixteen hex digits of what the part follows from."""
    follows_from = {
        "kernels": CACHE_FOLDER.name,
        "card": part.scenario.layout.card,
        "setting": [part.setting.scenario, part.setting.mode, dict(part.setting.arguments), part.scenario.packets],
        "worlds": [[draw.pair, draw.stratum, draw.seed] for draw in part.draws],
        "systems": {name: _written(pair) for name, pair in systems.items()},
    }
    return hashlib.sha256(json.dumps(follows_from, sort_keys=True).encode()).hexdigest()[:16]


def _written(value: object) -> object:
    """Parameters as JSON values; arrays, such as the weights of a predictor, by their hash."""
    if hasattr(value, "_asdict"):
        return [type(value).__name__, {name: _written(field) for name, field in value._asdict().items()}]
    if hasattr(value, "tobytes") and hasattr(value, "shape"):
        return hashlib.sha256(value.tobytes()).hexdigest()
    return value
