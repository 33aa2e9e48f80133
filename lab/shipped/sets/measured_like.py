"""The laws of scenario measured-like: ``python -m lab.shipped.sets.measured_like`` with VCGYM_DATA set writes data/measured_like.json.

Each series is fitted in the part that trains: drives number 1, and the first 60 % of the satellite series.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vcgym.network.fitting.laws import RegimePath
from vcgym.network.fitting.traces import fit_path, observed
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.paths.measured_like import FILE, MeasuredLaws
from vcgym.network.scenarios.paths.replay import PART_OF_TRACE
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS, SPLITS_OF_DRIVES, read_series
from vcgym.network.traces.cards import Card, canonical_sha256, data_root
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import read_trace

SOURCE = (
    "clarkzjw/LEOLiveStreaming, commit aa159d32 (satellite series every 11-15 ms; measurements not shipped); "
    "clarkzjw/mmsys24-starlink-livestreaming-data, commit bcf33b9a, CC BY-SA 4.0 (lagos, seattle); "
    "CICV5G, Zenodo 10.5281/zenodo.17475688, CC BY 4.0 (drives)"
)


def measured_laws(root: Path) -> MeasuredLaws:
    """Fit the series under `root` and those that ship.

    Raises:
        DataError: a file is missing or broken.
    """
    satellite = [*map(read_trace, leo.files(root)), *read_series(PINGS).values()]
    traces = {"satellite": [_training(trace) for trace in satellite], "cellular": _drives()}
    laws: dict[str, dict[str, RegimePath]] = {}
    floor_ms: dict[str, float] = {}
    for kind, of_kind in traces.items():
        paths = {trace.name: observed(trace.name, trace) for trace in of_kind}
        floor_ms |= {name: float(path.values_ms.min()) for name, path in paths.items()}
        laws[kind] = {name: _above(fit_path(path), floor_ms[name]) for name, path in paths.items()}
    body = {
        "laws": {kind: {name: law.model_dump(mode="json") for name, law in of_kind.items()} for kind, of_kind in laws.items()},
        "floor_ms": floor_ms,
    }
    card = Card(
        name=FILE.removesuffix(".json"), description=f"Laws of {len(floor_ms)} measured series, each in the part that trains",
        source=SOURCE, licence="fitted parameters only, under the licence of this project", sha256=canonical_sha256(body), kind="fitted",
        units="one-way milliseconds; loss, chances without unit; slots of 10 ms",
    )  # fmt: skip
    return MeasuredLaws(card=card, laws=laws, floor_ms=floor_ms)


def _training(trace: Trace) -> Trace:
    """Return the part of a series that trains when it is split in time."""
    kept = trace.sent_us < PART_OF_TRACE["train"][1] * trace.sent_us[-1]
    return replace(trace, sent_us=trace.sent_us[kept], one_way_delay_us=trace.one_way_delay_us[kept])


def _drives() -> list[Trace]:
    numbers = {road: {number for number, split in of_road.items() if split == "train"} for road, of_road in SPLITS_OF_DRIVES.items()}
    named = ((name.split("_"), trace) for name, trace in read_series(DRIVES).items())
    return [trace for (road, _, number, _), trace in named if number in numbers[road]]


def _above(law: RegimePath, floor_ms: float) -> RegimePath:
    level = tuple(tuple(float(f"{value:.5g}") for value in np.maximum(np.array(row) - floor_ms, 0.0)) for row in law.level_ms)
    return law.model_copy(update={"level_ms": level})


if __name__ == "__main__":
    (shipped() / FILE).write_text(measured_laws(data_root()).model_dump_json() + "\n", encoding="utf-8")
