"""Sets of capacity traces: the generated one that ships, and the measured ones under the data root, folder `bandwidth`.

    mahimahi, nyc_cellular_2019     folders of CSVs with columns ms, packets: chances to send 1500 bytes (capacity of cellular links)
    all others                      one CSV with columns trace, t_s (or t_start_s), mbps: throughput once a second or so, of many traces

Throughput that was achieved is a lower bound on capacity, and falls to 0 where a link did, or where nothing was asked of it: rates below
`LEAST_BPS` count as that, so that a packet sent into such a second comes out late but comes out. A trace begins at its first row and
repeats after its last one has held as long as the median one. The cards of files that have one beside them are checked.

Left out: `irish_5g`, which half of the time carries nothing because nothing was asked for, and `lumos5g_4g`, in whose traces time falls.
"""

import functools
import importlib.resources
import re
from pathlib import Path

import numpy as np

from vcgym.network.bottleneck.capacity import CapacityTrace, rate_trace, read_opportunities
from vcgym.network.kernels.ranges import one_of
from vcgym.network.traces.cards import card_beside, data_root
from vcgym.network.traces.reading import TraceError, read_content, read_table

FOLDER = "bandwidth"
LEAST_BPS = 50_000.0  # the least rate a call may have
_MOST_MBPS = 1e5
_MOST_S = 1e6

GENERATED = "generated_cellular"
OPPORTUNITIES = ("mahimahi", "nyc_cellular_2019")
THROUGHPUTS = {
    "norway_hsdpa": "t_s",
    "fcc_broadband": "t_s",
    "us_drive_starlink_cellular": "t_s",
    "oboe_video_sessions": "t_start_s",
    "lumos5g_5g": "t_s",
    "starlink_tcp_100ms": "t_s",
}
MEASURED = (*OPPORTUNITIES, *THROUGHPUTS)

# What traces of one ride, household or phone have in common, so that none of them is in two splits.
_ONE_PLACE = {
    "mahimahi": re.compile(r"(.*)\.(?:up|down)"),
    "norway_hsdpa": re.compile(r"(?:test_norway_)?(.*?\.log)"),
    "fcc_broadband": re.compile(r"(fcc_\d+)"),
}


def read_set(name: str, data: str | None = None) -> tuple[CapacityTrace, ...]:
    """All traces of a set, by name.

    Args:
        name: GENERATED, or one of MEASURED.
        data: the data root; None: the environment variable VCGYM_DATA. Without effect on the set that ships.

    Raises:
        ValueError: an unknown name.
        DataError: no data root, a file that is missing or broken, content that is not what its card says.
    """
    one_of("set of capacity traces", name, (GENERATED, *MEASURED))
    if name == GENERATED:
        return _throughputs(Path(str(importlib.resources.files("vcgym.data"))) / f"{GENERATED}.csv.gz", "t_s")
    folder = data_root(data) / FOLDER
    if name in THROUGHPUTS:
        return _throughputs(folder / f"{name}.csv.gz", THROUGHPUTS[name])
    return _opportunities(folder / name)


def place_of_trace(set_name: str, trace: str) -> str:
    """What a trace's name says of where it was measured; all traces of a place are in one split."""
    found = _ONE_PLACE[set_name].match(trace) if set_name in _ONE_PLACE else None
    return found[1] if found else trace


@functools.cache
def _opportunities(folder: Path) -> tuple[CapacityTrace, ...]:
    files = sorted(folder.glob("*.csv.gz"))
    if not files:
        raise TraceError(folder, "number of files *.csv.gz", 0, "at least 1")
    return tuple(read_opportunities(file)._replace(name=file.name.removesuffix(".csv.gz")) for file in files)


@functools.cache
def _throughputs(path: Path, time: str) -> tuple[CapacityTrace, ...]:
    content = read_content(path)
    card_beside(path, content)
    table = read_table(path, content)
    names = np.array(table.cells("trace"))
    times_s, mbps = table.numbers(time, 0.0, _MOST_S), table.numbers("mbps", 0.0, _MOST_MBPS)
    traces = []
    for trace in sorted(set(table.cells("trace"))):
        rows = names == trace
        at_s = times_s[rows] - times_s[rows][0]
        step_s = float(np.median(np.diff(at_s))) if len(at_s) > 1 else 1.0
        traces.append(rate_trace(trace, at_s, mbps[rows] * 1e6, at_s[-1] + step_s, LEAST_BPS, path))
    return tuple(traces)
