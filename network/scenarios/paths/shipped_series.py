"""Scenarios of measured series that ship with vcgym, in mode replay: two paths, each of them once the direct one.

    5g-urban         round trips over two 5G networks from a car in a city, at 20 and 30 km/h; a probe every 55 ms
    5g-weak          the same on a road where one of the networks leaves its coverage
    starlink-ping    pings over two satellite accesses, the next 0.1 s after the last reply: every 0.15 and 0.22 s

So level, rises and outages are measured, jitter between packets is not (`vcgym.network.traces.coverage`). Half a round trip counts as
one-way delay. The two series of a pair were not measured at one time, and each is cut at an offset of its own.

Splits: no drive of 5G is in two of them (`SPLITS_OF_DRIVES`), and a pair is any two drives of one split over the same road, one for each
network. A drive too short for history and call is left out. The satellite series are split in time, as those of scenario replay.
"""

import functools
from collections.abc import Mapping

import numpy as np

from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.scenarios.paths.replay import Measured, Replay, as_slots
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.reading import read_content
from vcgym.network.traces.trace import MAX_DELAY_US, MAX_SPAN_US, Trace
from vcgym.network.traces.trace_file import ENDING
from vcgym.network.worlds.world import HISTORY_BLOCKS

DRIVES, PINGS = "cicv5g", "starlink_pings"
"""Shipped files: CSV of series, sent_ms and rtt_ms; an empty round trip is a lost probe."""
PATHS = ("direct", "other")
SATELLITE = "satellite"
SPLITS_OF_DRIVES = {
    "urban": {"1": "train", "2": "validation", "3": "test"},
    "weak": {"1": "train", "2": "validation", "4": "validation", "3": "test", "5": "test"},
}
"""Road -> number of a drive, of any speed and network -> its split."""
_HISTORY_US = HISTORY_BLOCKS * BLOCK_SLOTS * SLOT_US


class Drives(Replay):
    """Drives over one road; a pair is a drive over each network, in an order that names the direct one: `v20_3_n8-v30_3_n78`."""

    def __init__(self, settings: WorldSettings, road: str) -> None:
        self.road = road
        super().__init__(settings)
        self.strata = {f"5g-{road}": 1.0}

    def measure(self) -> Measured:
        """Read the drives that are long enough for a call."""
        whole = {name.removeprefix(f"{self.road}_"): one for name, one in read_series(DRIVES).items() if name.startswith(self.road)}
        needed_us = _HISTORY_US + self.settings.packets * SLOT_US
        drives = {name: one for name, one in whole.items() if one.sent_us[-1] >= needed_us}
        pairs = {
            f"{a}-{b}": (drives[a], drives[b])
            for a in drives
            for b in drives
            if _network(a) != _network(b) and self._split_of(a) == self._split_of(b)
        }
        if {self._split_of(pair) for pair in pairs} != set(SPLITS_OF_DRIVES[self.road].values()):
            raise DataError(f"scenario 5g-{self.road}", "packets", self.settings.packets, "fewer: a drive of each split must be longer")
        return as_slots(pairs, PATHS)._replace(card=self.cards()[0].sha256)

    def cards(self) -> list[Card]:
        return [next(iter(read_series(DRIVES).values())).card]

    def split_pairs(self, names: list[str]) -> dict[str, list[str]]:
        return {split: [name for name in names if self._split_of(name) == split] for split in SPLITS_OF_DRIVES[self.road].values()}

    @property
    def split_by_pair(self) -> bool:
        """Return True: no drive is cut by a split."""
        return True

    def _split_of(self, name: str) -> str:
        """Return the split of a drive `v30_2_n8`, or of a pair, by its first drive."""
        return SPLITS_OF_DRIVES[self.road][name.split("_")[1]]


class Pings(Replay):
    """Two satellite accesses as two paths; the pair `lagos-seattle` has Lagos as its direct path.

    Stratum `satellite`, by name, has a board of its own: probes are rarer than on the drives, and the two places far apart.
    """

    by_name = (SATELLITE,)

    def measure(self) -> Measured:
        series = read_series(PINGS)
        pairs = {f"{a}-{b}": (series[a], series[b]) for a in series for b in series if a != b}
        return as_slots(pairs, PATHS)._replace(card=self.cards()[0].sha256)

    def cards(self) -> list[Card]:
        return [next(iter(read_series(PINGS).values())).card]


@functools.cache
def read_series(name: str) -> Mapping[str, Trace]:
    """Return the series of a shipped file (`DRIVES` or `PINGS`) by name.

    Raises:
        DataError: the file is broken or does not match its card.
    """
    path = shipped() / f"{name}{ENDING}"
    content = read_content(path)
    card = card_beside(path, content)

    def columns_of(block: Table) -> Arrays:
        delay_us = block.microseconds("rtt_ms", 0, MAX_DELAY_US, missing={""})
        return np.array(block.cells("series"), object), block.microseconds("sent_ms", 0, MAX_SPAN_US), delay_us

    series, sent_us, delay_us = read_columns(path, content, columns_of)
    return {one: Trace(one, sent_us[series == one], delay_us[series == one], card) for one in dict.fromkeys(series.tolist())}


def _network(drive: str) -> str:
    return drive.rpartition("_")[2]
