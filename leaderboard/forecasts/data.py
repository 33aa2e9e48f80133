"""The data set of the predictors: sessions played by rules, with the information known when each packet was sent.

Every system plays the same worlds. The same number of evenly spaced packets of each call become rows; a packet qualifies if its path had
feedback when it was sent and the receiver emitted it before the flush. The same settings give the same bytes.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.together import batches_together, play_together
from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig
from vcgym.leaderboard.forecasts.logging_router import UNKNOWN, LoggingRouter
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.network.traces.plain_file import replace_file
from vcgym.network.worlds.world import WorldDraw
from vcgym.predictors.rows import COLUMNS

ROWS, CARD = "rows.parquet", "card.json"
_WORLDS_TOGETHER = 32  # worlds in memory at a time, with one call per system each


class PlayedWorld(NamedTuple):
    """Sampled world and its identity."""

    split: str
    seed: int
    draw: WorldDraw


def playable(config: PredictorDataConfig) -> list[DataPart]:
    """Return the parts whose data are available: replay needs measured series.

    Raises:
        ValueError: no part is playable.
    """
    parts = [part for part in config.parts if part.mode != "replay" or os.environ.get(DATA_VARIABLE)]
    if not parts:
        raise ValueError(f"parts are all of mode replay, and data.root or {DATA_VARIABLE} names no folder of measured series")
    return parts


def build(config: PredictorDataConfig, systems: Mapping[str, System], on_progress: OnProgress) -> Path:
    """Play the parts and write rows.parquet and card.json.

    Args:
        config: settings.
        systems: systems by name.
        on_progress: called with the number of finished parts.

    Returns:
        The path of the rows.
    """
    parts = playable(config)
    made: list[pa.Table] = []
    for done, part in enumerate(parts):
        on_progress(done, f"{part.scenario}, {part.mode}")
        scenario = Scenario(part.scenario, part.mode, config.packets)
        worlds = [world for split in config.splits for world in draw_worlds(scenario, part, split)]
        each = max(1, round(config.rows / len(parts) / len(worlds) / len(systems)))
        for start in range(0, len(worlds), _WORLDS_TOGETHER):
            made += _play(scenario, worlds[start : start + _WORLDS_TOGETHER], systems, each, config.threads)
    column = COLUMNS.get_field_index("session")
    numbered = (call.set_column(column, COLUMNS.field(column), pa.array(np.full(len(call), n))) for n, call in enumerate(made))
    table = pa.concat_tables(numbered)
    on_progress(len(parts), f"{len(table):,} rows")
    return _write(table, config)


@unlock_test_split()
def draw_worlds(scenario: Scenario, part: DataPart, split: str) -> list[PlayedWorld]:
    """Sample the worlds of a part in one split, with distinct seeds."""
    pairs = scenario.pairs(split)
    if part.pairs is not None:
        pairs = pairs[:: max(1, len(pairs) // part.pairs)][: part.pairs]
    named = [(pair, index * part.seeds + n) for index, pair in enumerate(pairs) for n in range(part.seeds)]
    return [PlayedWorld(split, seed, scenario.draw(split, seed, pair)) for pair, seed in named]


def _play(scenario: Scenario, worlds: list[PlayedWorld], systems: Mapping[str, System], each: int, threads: int) -> list[pa.Table]:
    """Return the rows of each call of each system, one table per call."""
    noted = [{"path": LoggingRouter(pair.path, scenario.packets), "playout": pair.playout} for pair in systems.values()]
    batches = batches_together(scenario, noted, len(worlds), log=True)
    play_together(batches, [world.draw for world in worlds], threads)
    return [call_rows(scenario, batch, row, world, each) for batch in batches for row, world in enumerate(worlds)]


def call_rows(scenario: Scenario, batch: CallBatch, row: int, world: PlayedWorld, each: int) -> pa.Table:
    """Return at most `each` rows of one finished call with a `LoggingRouter`."""
    assert isinstance(batch.path, LoggingRouter)
    log, notes = batch.tables.log[row], batch.path_state.notes[row]
    usable = (notes["transmit_ms"] != UNKNOWN) & (log["emitted_us"] >= 0) & ~log["flushed"]
    packets = np.flatnonzero(usable)
    packets = packets[np.unique(np.linspace(0, len(packets) - 1, min(each, len(packets))).astype(np.int64))]
    same: dict[str, Any] = {
        "mode": scenario.mode,
        "scenario": scenario.name,
        "pair": world.draw.pair,
        "split": world.split,
        "stratum": world.draw.stratum,
        "seed": world.seed,
        "router": type(batch.path.router).__name__,
        "receiver": type(batch.playout).__name__,
        "session": 0,
    }
    varying = {name: notes[name][packets] for name in notes.dtype.names}
    varying |= {"packet": packets, "path": log["path"][packets].astype(np.int64)}
    varying["end_to_end_ms"] = (log["emitted_us"][packets] - packets * SLOT_US) / 1000.0
    columns = {name: [value] * len(packets) for name, value in same.items()} | varying
    return pa.table([pa.array(columns[name], kind) for name, kind in zip(COLUMNS.names, COLUMNS.types, strict=True)], schema=COLUMNS)


def _write(table: pa.Table, config: PredictorDataConfig) -> Path:
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    content = buffer.getvalue()
    replace_file(config.folder / ROWS, content)
    modes = sorted(set(table["mode"].to_pylist()))
    digest = hashlib.sha256(content).hexdigest()
    card = {"kind": "simulated", "rows": len(table), "modes": modes, "sha256": digest, "config": config.decisive()}
    replace_file(config.folder / CARD, (json.dumps(card, indent=2) + "\n").encode())
    return config.folder / ROWS
