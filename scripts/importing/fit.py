"""`vcgym fit`: fit a scenario to traces, print measured next to drawn, and refuse a fit that does not agree."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_system
from vcgym.network.fitting.agreement import Agreement, compare, draw, held
from vcgym.network.fitting.laws import RegimePath, scenario_of
from vcgym.network.fitting.traces import Observed, fit_path, observed
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.scenarios.paths.replay import pair_files
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import DataError, canonical_sha256
from vcgym.network.traces.trace_file import ENDING, read_trace, refuse_existing, write_new
from vcgym.network.worlds.replay import replay_world
from vcgym.network.worlds.world import HISTORY_BLOCKS, World

SYSTEM = "DRT-WM"
"""System of the comparison: Direct and WMJitter."""
_HISTORY = HISTORY_BLOCKS * BLOCK_SLOTS
_CALL_SLOTS = 60_000  # at most, ten minutes


def fit(traces: Path, output: Path | None, console: Console) -> None:
    """Fit the traces and print the comparison; write the scenario file unless `output` is None.

    Raises:
        DataError: the file exists, a trace is broken or too short, or what was measured does not agree with what is drawn.
    """
    if output is not None:
        refuse_existing(output)
    files = pair_files([str(traces)])
    read = {pair: [(file.name.removesuffix(ENDING), read_trace(file)) for file in of_pair] for pair, of_pair in files.items()}
    pairs = {pair: [observed(f"{pair}/{name}", trace) for name, trace in of_pair] for pair, of_pair in read.items()}
    cards = canonical_sha256({pair: [trace.card.sha256 for _, trace in of_pair] for pair, of_pair in read.items()})
    laws, found = _fitted(pairs)
    _print(pairs, found, console)
    disagreeing = [(path, one) for path, statistics in found.items() for one in statistics if not one.agrees]
    if disagreeing and output is not None:
        path, one = disagreeing[0]
        drawn, measured, lowest, highest = shown_values(one)
        allowed = f"{lowest} to {highest}, since {drawn} is drawn; without output= a fit is only compared"
        raise DataError(f"fit of {path}", f"{one.name} measured", float(measured), allowed)
    if output is not None:
        fitted = scenario_of(laws, tuple(name for name, _ in next(iter(read.values()))), f"{traces.name}, cards {cards}")
        write_new(output, (fitted.model_dump_json(exclude_defaults=True) + "\n").encode())
        console.print(f"{output}: rank on it with vcgym leaderboard suite=fitted traces={output} train=null", soft_wrap=True)


def _fitted(pairs: dict[str, list[Observed]]) -> tuple[dict[str, tuple[RegimePath, ...]], dict[str, list[Agreement]]]:
    """Return the fitted paths by pair, and the statistics of each path by the name of its trace."""
    laws, found = {}, {}
    with progress("paths fitted and compared", sum(map(len, pairs.values()))) as on_progress:
        for pair, of_pair in pairs.items():
            laws[pair] = tuple(map(fit_path, of_pair))
            for path, law in zip(of_pair, laws[pair], strict=True):
                found[path.name] = compared(path, law)
                on_progress(len(found), path.name)
    return laws, found


def compared(path: Observed, law: RegimePath) -> list[Agreement]:
    """Return the statistics of a path next to those of worlds drawn of its law."""
    drawn = draw(path, law)
    worlds = [concealed_percent(held(one, path)) for one in drawn]
    return [*compare(path, drawn), Agreement("concealed, %", concealed_percent(path.delay_us), worlds)]


def _print(pairs: dict[str, list[Observed]], found: dict[str, list[Agreement]], console: Console) -> None:
    for path in (path for of_pair in pairs.values() for path in of_pair):
        unknown = f"jitter between probes {path.coverage.spacing_ms:.3g} ms apart is not measured"
        console.print(f"{path.name}: {path.coverage}; {unknown}", soft_wrap=True, highlight=False)
    table = Table("path", "statistic", "drawn", "measured", "agrees from", "to", "agrees", title="Measured and drawn", title_justify="left")
    for name, statistics in found.items():
        for one in statistics:
            table.add_row(name, one.name, *shown_values(one), "yes" if one.agrees else "no")
    console.print(table)


def shown_values(one: Agreement) -> list[str]:
    """Return the drawn, the measured, the lowest and the highest agreeing value, with as many digits as show whether they agree."""
    values = one.drawn, one.measured, *one.agreeing
    for digits in range(3, 17):
        shown = [f"{value:.{digits}g}" for value in values]
        _, measured, lowest, highest = map(float, shown)
        if (lowest <= measured <= highest) == one.agrees:
            break
    return shown


class _Series(Recipe):
    """Scenario of one path that plays a series of slots from its begin."""

    modes = ("replay",)

    def __init__(self, settings: WorldSettings, delay_us: NDArray[np.int64]) -> None:
        self.strata = {"measured": 1.0}
        self.layout = Layout(("path",), np.zeros((0, 1), np.int64), "")
        self._series = delay_us[None, None]

    def pairs(self, split: str) -> list[str]:
        return ["pair"]

    def world(self, sessions: int) -> World:
        return replay_world(sessions, self._series)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        return {"pair": 0, "offset": np.array([_HISTORY])}


def concealed_percent(delay_us: NDArray[np.int64]) -> float:
    """Return the per cent of ticks that `SYSTEM` conceals in one call over a series of delays in microseconds or LOST (slots,)."""
    packets = min(len(delay_us) - _HISTORY, _CALL_SLOTS)
    scenario = Scenario(partial(_Series, delay_us=delay_us), "replay", packets)
    calls = TrainingCalls(scenario, [scenario.draw("train", 0)])
    system = load_system(SYSTEM)
    totals = calls.play(system.path, system.playout).totals()
    concealed = int(totals.ticks_concealed[0])
    return 100.0 * concealed / (concealed + int(totals.ticks_played[0] + totals.ticks_stretched[0]))
