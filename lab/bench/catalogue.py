"""Figures of `python -m lab bench` by name, and the function that measures the requested ones."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lab.bench import bottleneck, conference, footprint, learners, steps
from lab.bench.measure import Absent, Effort, Measurement
from lab.bench.packets import paper_evaluation, paths, paths_ratio, protected_ratio, system
from lab.bench.predictors import FORWARD, forward
from lab.bench.worlds import generation
from vcgym.network.traces.plain_file import replace_file

Benchmark = Callable[[Effort], Iterable[Measurement | Absent]]

_BOTH_MODES = ("drt_bf", "drt_wm", "via_wm", "vcr_wm_exact")

CATALOGUE: dict[str, Benchmark] = {
    **{name: partial(system, name) for name in ("drt_bf", "drt_wm", "via_wm", "vcr_wm_last_value", "vcr_wm_exact")},
    **{f"{name}_correlated": partial(system, name, mode="correlated") for name in _BOTH_MODES},
    **{f"vcr_wm_paths_{number}": partial(paths, number) for number in (9, 90, 900)},
    "vcr_wm_paths_900_over_17": paths_ratio,
    "drt_wm_red1_over_drt_wm": protected_ratio,
    **{f"world_{mode}": partial(generation, mode) for mode in ("paper", "correlated", "replay")},
    **{f"env_1pkt_{number}": partial(steps.calls, number, 1) for number in (1, 64, 1024, 8192)},
    **{f"env_50pkt_{number}": partial(steps.calls, number, 50) for number in (1, 64, 1024)},
    **{f"predictor_{way}_ns": partial(forward, way) for way in FORWARD},
    **{f"learner_inside{task}": partial(learners.inside, task) for task in learners.TASKS},
    **{name: partial(bottleneck.flows, name) for name in bottleneck.FLOWS},
    "rmcat_five_flows": bottleneck.rmcat_five_flows,
    "conference_hops": conference.static_trees,
    "conference_celerity_s": conference.celerity,
    **{f"conference_env_{number}": partial(steps.conferences, number) for number in (1, 64)},
    "paper_evaluation_s": paper_evaluation,
    "bytes_per_session": footprint.bytes_per_session,
    "bytes_per_packet": footprint.bytes_per_packet,
    "import_s": footprint.import_time,
    "warm_start_s": footprint.warm_start,
    "cold_start_s": footprint.cold_start,
}


def bench(folder: Path, names: Iterable[str], effort: Effort, console: Console) -> list[Measurement]:
    """Measure the figures `names` of `CATALOGUE`, print a table and the absent figures, write `folder`/bench.json."""
    found = [one for name in names for one in CATALOGUE[name](effort)]
    records = [one for one in found if isinstance(one, Measurement)]
    console.print(_table(records, f"Best of rounds, at {effort.scale:.0%} of full size" if effort.scale < 1.0 else "Best of rounds"))
    for absent in found:
        if isinstance(absent, Absent):
            console.print(f"{absent.name} is absent: {absent.why}")
    replace_file(folder / "bench.json", (json.dumps([record._asdict() for record in records], indent=1) + "\n").encode())
    return records


def _table(records: Iterable[Measurement], title: str) -> Table:
    table = Table(title=title)
    table.add_column("name", no_wrap=True)
    for heading in ("value", "unit", "threads", "rounds", "spread"):
        table.add_column(heading, justify="left" if heading == "unit" else "right")
    for one in records:
        value = f"{one.value:,.0f}" if one.value >= 1000.0 else f"{one.value:.3g}"
        table.add_row(one.name, value, one.unit, str(one.threads), str(one.rounds), f"{one.spread:.0%}")
    return table
