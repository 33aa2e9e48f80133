"""Play the reproduction and write its pages; finished parts are files, so an interrupted run resumes."""

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from lab.papers.arithmetic import arithmetic_rows
from lab.papers.causes import with_causes
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.reproduce.page import document, page
from lab.papers.reproduce.parts import PlayedPart, calls_of, forecasts_of, parts_of, settings_of
from lab.papers.reproduce.verdicts import verdicts
from lab.papers.vcroute.forecasts import SYSTEM
from lab.papers.vcroute.measures import Material
from lab.papers.vcroute.statements import load_arithmetic, load_experiments, load_statements, scenario_of
from lab.papers.verdicts import VERDICTS
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.results.files import write
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.network.traces.plain_file import replace_file

_FORECAST = ("wonderproxy", "cloud")  # scenarios of Tables III and IV
_LOOKED_UP = "table1"  # only its table of links is used
_COST_PACKETS = 20_000


def parts_to_play(config: ReproduceConfig) -> list[PlayedPart]:
    """Return every part of every setting that has statements and available data."""
    return [
        part
        for scenario in dict.fromkeys(filter(None, map(scenario_of, load_statements())))
        for setting in settings_of(scenario)
        if scenario != _LOOKED_UP and (setting.mode != "replay" or os.environ.get(DATA_VARIABLE))
        for part in parts_of(setting, config.seeds, config.call_packets, config.min_worlds)
    ]


def reproduce(config: ReproduceConfig, systems: Mapping[str, System], parts: list[PlayedPart], on_progress: OnProgress) -> Path:
    """Play missing parts, judge every statement, and write verdicts.parquet, reproduce.html and reproduction.md.

    Args:
        config: settings.
        systems: systems by name, those of `lab.papers.vcroute.statements.SYSTEMS`.
        parts: result of `parts_to_play`.
        on_progress: called with the number of finished parts and the next one.

    Returns:
        The path of the page.
    """
    tables: dict[tuple[str, str], tuple[list[pa.Table], list[pa.Table]]] = {}
    for done, part in enumerate(parts):
        about = part.setting.about
        on_progress(done, f"{about}, {part.setting.label}: {part.draws[0].pair}")
        calls, forecasts = tables.setdefault((about, part.setting.label), ([], []))
        calls.append(calls_of(part, systems, config.folder / "parts", config.threads))
        if about in _FORECAST:
            forecasts.append(forecasts_of(part, systems[SYSTEM], config.folder / "parts", config.threads))
    on_progress(len(parts), "verdicts")
    scenarios = {(part.setting.about, part.setting.label): part.scenario for part in parts}
    worlds = {
        where: Material(scenarios[where], pa.concat_tables(calls), pa.concat_tables(forecasts) if forecasts else None)
        for where, (calls, forecasts) in tables.items()
    }
    for setting in settings_of(_LOOKED_UP):
        worlds[_LOOKED_UP, setting.label] = Material(setting.worlds(config.call_packets), None, None)
    judged = verdicts(load_statements(), worlds, packet_cost_ms(systems[SYSTEM]))
    rows = with_causes(judged, load_statements(), load_arithmetic(), load_experiments()) + arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, config.folder / "verdicts.parquet")
    replace_file(config.folder / "reproduction.md", document(rows, worlds, config, systems).encode())
    replace_file(config.folder / "reproduce.html", page(rows, worlds, config, systems).encode())
    return config.folder / "reproduce.html"


@unlock_test_split()
def packet_cost_ms(system: System) -> float:
    """Measure the time per packet of a call over 17 paths (router, receiver, player and world), rounded up to a power of ten,
    to compare with the paper's cost of choosing a path.

    Measured times vary; the rounded value is stable enough to be compared.
    """
    scenario = Scenario("wonderproxy", "paper", _COST_PACKETS)
    batch = CallBatch(scenario, 1, system.path, system.playout)
    best = math.inf
    for _ in range(3):
        batch.start(0, scenario.draw("train", 0))
        began = time.thread_time()
        batch.play(np.zeros(1, np.int64))
        best = min(best, time.thread_time() - began)
    return 10.0 ** math.ceil(math.log10(1000.0 * best / _COST_PACKETS))
