"""Sets of capacity traces: the shipped generated one, and the measured ones under the data root, folder `bandwidth`.

    mahimahi, nyc_cellular_2019     folders of files of delivery opportunities (capacity of cellular links)
    all others                      one file with many traces of throughput, about one value per second

`vcgym.network.bottleneck.capacity.files` reads both.

Left out: `irish_5g`, which has no demand half of the time, and `lumos5g_4g`, whose times decrease.
"""

import functools
import importlib.resources
import re
from pathlib import Path

from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.capacity.files import read_capacity
from vcgym.network.kernels.ranges import one_of
from vcgym.network.traces.cards import data_root
from vcgym.network.traces.reading import TraceError
from vcgym.network.traces.trace_file import ENDING

FOLDER = "bandwidth"

GENERATED = "generated_cellular"
OPPORTUNITIES = ("mahimahi", "nyc_cellular_2019")
MEASURED = (
    *OPPORTUNITIES,
    "norway_hsdpa",
    "fcc_broadband",
    "us_drive_starlink_cellular",
    "oboe_video_sessions",
    "lumos5g_5g",
    "starlink_tcp_100ms",
)

# The common part of the names of traces of one ride, household or phone, which must not be in two splits.
_ONE_PLACE = {
    "mahimahi": re.compile(r"(.*)\.(?:up|down)"),
    "norway_hsdpa": re.compile(r"(?:test_norway_)?(.*?\.log)"),
    "fcc_broadband": re.compile(r"(fcc_\d+)"),
}


def read_set(name: str, data: str | None = None) -> tuple[CapacityTrace, ...]:
    """Read all traces of a set, by name.

    Args:
        name: GENERATED, or one of MEASURED.
        data: the data root; None: the environment variable VCGYM_DATA. Ignored for the shipped set.

    Raises:
        ValueError: an unknown name.
        DataError: no data root, a file is missing or broken, or its content does not match its card.
    """
    one_of("set of capacity traces", name, (GENERATED, *MEASURED))
    if name == GENERATED:
        return _read_file(Path(str(importlib.resources.files("vcgym.data"))) / f"{GENERATED}{ENDING}")
    folder = data_root(data) / FOLDER
    return _read_folder(folder / name) if name in OPPORTUNITIES else _read_file(folder / f"{name}{ENDING}")


def place_of_trace(set_name: str, trace: str) -> str:
    """Return the place in a trace's name; all traces of a place are in one split."""
    found = _ONE_PLACE[set_name].match(trace) if set_name in _ONE_PLACE else None
    return found[1] if found else trace


def read_folder(folder: Path) -> tuple[CapacityTrace, ...]:
    """Read every file of capacity traces in a folder, in order of name.

    Raises:
        DataError: the folder has no such files, or a file is broken or does not match its card.
    """
    files = sorted(folder.glob(f"*{ENDING}"))
    if not files:
        raise TraceError(folder, f"number of files *{ENDING}", 0, "at least 1")
    return tuple(trace for file in files for trace in read_capacity(file))


_read_file, _read_folder = functools.cache(read_capacity), functools.cache(read_folder)
