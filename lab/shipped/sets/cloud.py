"""The link table of scenario `cloud`: public ping statistics between cloud regions for the VCRoute paper's second setting.

`REGIONS` maps the paper's places to regions. If the public statistics lack a place's region, it is replaced by the nearest region that no
other place uses. Each link uses the run (min / avg / max / mdev of about 3600 pings, one per second) of the first cloud in `CLOUDS` that
has it. The copy of the runs lacks a quarter of the public pairs; a missing link is the best sum of two measured links over a third
region. Two places in one region are LOCAL_MS apart (assumed).
"""

import itertools
import math
from pathlib import Path
from typing import NamedTuple

from lab.shipped.sets.link_fits import beta_by_moments, queueing_excess
from lab.shipped.sets.tables import link_table
from vcgym.network.traces.cards import DataError, Link, LinkTable, Place
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import read_content
from vcgym.network.traces.trace import MAX_DELAY_US

CLOUDS = ("aws", "gcp")
RUN_PINGS = 3600
LOCAL_MS = 2.0
LOCAL_SPREAD_MS = 0.2
# place: role, name in the paper, region in each cloud
REGIONS = {
    "TYO": ("endpoint", "Tokyo", {"aws": "ap-northeast-1", "gcp": "asia-northeast1"}),
    "CAN": ("endpoint", "Guangzhou (stand-in: Hong Kong)", {"aws": "ap-east-1", "gcp": "asia-east2"}),
    "SIN": ("endpoint", "Singapore", {"aws": "ap-southeast-1", "gcp": "asia-southeast1"}),
    "FRA": ("endpoint", "Frankfurt", {"aws": "eu-central-1", "gcp": "europe-west3"}),
    "SAO": ("endpoint", "Sao Paulo", {"aws": "sa-east-1", "gcp": "southamerica-east1"}),
    "UserSZ": ("user", "Shenzhen (stand-in: Taiwan)", {"gcp": "asia-east1"}),
    "UserSG": ("user", "Singapore", {"aws": "ap-southeast-1", "gcp": "asia-southeast1"}),
    "UserHK": ("user", "Hong Kong", {"aws": "ap-east-1", "gcp": "asia-east2"}),
}
_COUNTRY = {"TYO": "Japan", "CAN": "China", "SIN": "Singapore", "FRA": "Germany", "SAO": "Brazil", "UserSZ": "China", "UserSG": "Singapore",
            "UserHK": "China"}  # fmt: skip


class PingRun(NamedTuple):
    """Ping run between two regions, ms."""

    min_ms: float
    avg_ms: float
    max_ms: float
    mdev_ms: float


Runs = dict[tuple[str, str, str], PingRun]  # by cloud, source region, destination region


def read_runs(root: Path) -> Runs:
    """Read the runs of `cloud_rtt/inter_region_ping.csv` under `root`.

    Raises:
        DataError: the file is missing or a row is malformed.
    """
    path = root / "cloud_rtt" / "inter_region_ping.csv"
    table = read_table(path, read_content(path))
    links = zip(*(table.cells(name) for name in ("cloud", "src", "dst")), strict=True)
    runs = zip(*(table.numbers(name, 0.0, MAX_DELAY_US / 1e3).tolist() for name in PingRun._fields), strict=True)
    return {link: PingRun(*run) for link, run in zip(links, runs, strict=True)}


def fit_cloud(root: Path) -> LinkTable:
    """Fit every ordered link among the eight places.

    Raises:
        DataError: a file is missing or broken, or a link is missing and no third region replaces it.
    """
    runs = read_runs(root)
    links = []
    for source, destination in itertools.permutations(REGIONS, 2):
        run = find_run(runs, source, destination)
        links.append(
            Link(
                source=source,
                destination=destination,
                rtt_ms=run.avg_ms,
                median=beta_by_moments(run.min_ms, run.max_ms, run.avg_ms, run.mdev_ms),
                queue=queueing_excess(run.min_ms, run.avg_ms, run.max_ms, RUN_PINGS),
            )
        )
    places = [Place(code=code, role=role, name=name, country=_COUNTRY[code]) for code, (role, name, _) in REGIONS.items()]
    return link_table(
        places,
        links,
        name="cloud",
        description="Parameters of each ordered link among eight cloud regions that stand in for the places of the VCRoute paper's second "
        "setting; links that the copy of the runs lacks (Singapore-Frankfurt, Taiwan-Singapore, Taiwan-Sao Paulo) are sums over a third "
        "region, two places in one region are 2 ms apart (assumed)",
        source="vitorenesduarte/fantoch, commit aea6e324, folders latency_aws/2020_06_05 and latency_gcp",
        licence="fitted parameters, under the licence of this project; the statistics are MIT or Apache-2.0",
    )


def find_run(runs: Runs, source: str, destination: str) -> PingRun:
    """Return the run of the link between two of the `REGIONS`; see the module.

    Raises:
        DataError: the runs lack it, and no third region replaces it.
    """
    source_region, destination_region = REGIONS[source][2], REGIONS[destination][2]
    if any(source_region.get(cloud, 0) == destination_region.get(cloud, 1) for cloud in CLOUDS):
        return PingRun(LOCAL_MS, LOCAL_MS + LOCAL_SPREAD_MS, LOCAL_MS + 10.0 * LOCAL_SPREAD_MS, LOCAL_SPREAD_MS)
    measured = _measured(runs, source_region, destination_region)
    if measured is not None:
        return measured
    sums = []
    thirds = [names for _, _, names in REGIONS.values()] + [{cloud: region} for cloud, region in sorted({key[:2] for key in runs})]
    for third in thirds:
        first, second = _measured(runs, source_region, third), _measured(runs, third, destination_region)
        if first is not None and second is not None:
            low, avg, high = (a + b for a, b in zip(first[:3], second[:3], strict=True))
            sums.append(PingRun(low, avg, high, math.hypot(first.mdev_ms, second.mdev_ms)))
    if not sums:
        raise DataError("inter_region_ping.csv", "link", f"{source}->{destination}", "a link of one cloud, or two over a third region")
    return min(sums, key=lambda run: run.avg_ms)


def _measured(runs: Runs, source_region: dict[str, str], destination_region: dict[str, str]) -> PingRun | None:
    keys = ((cloud, source_region.get(cloud, ""), destination_region.get(cloud, "")) for cloud in CLOUDS)
    return next((runs[key] for key in keys if key in runs), None)
