"""The formats that `vcgym import` reads: typed counterparts of conf/format, one class per importer."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field

from vcgym.network.bottleneck.capacity import alphartc
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.capacity.files import RateUnit, describe_capacity, import_throughput, read_mahimahi, repeating, write_capacity
from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.coverage import coverage
from vcgym.network.traces.importers import fping, irtt, ping, rtp, table, webrtc_stats, wonderproxy
from vcgym.network.traces.importers.drift import KeptDrift
from vcgym.network.traces.importers.units import Unit
from vcgym.network.traces.reading import read_content
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, refuse_existing, write_trace
from vcgym.scripts.importing.config import Format

Text = Annotated[str, Field(strict=False, coerce_numbers_to_str=True)]
"""Text that may look like a number, which a command line reads as one: column 1, mark -1."""


def _listed(marks: object) -> object:
    """Return marks as a list: one alone, or the text of a list, is one too."""
    if isinstance(marks, str) and marks.startswith("[") and marks.endswith("]"):
        return [mark.strip() for mark in marks[1:-1].split(",")]
    return marks if isinstance(marks, list) else [marks]


Content = Trace | CapacityTrace | wonderproxy.Pairs


class Imported(NamedTuple):
    """File that an import wrote, its card, and a short summary."""

    output: Path
    card: Card
    found: str


class Importer(Format):
    """Importer of a format; every field is an argument of its function.

    Attributes:
        reads: function of a file and the fields, which returns the content of the file.
        is_of_many: True if a file may hold several series: its output is a folder.
    """

    reads: ClassVar[Callable[..., Content]]
    is_of_many: ClassVar[bool] = False

    def imported(self, file: Path, output: Path) -> list[Imported]:
        """Import `file`, and return each file that was written; `output` is the file, or the folder of several."""
        refuse_existing(output)
        return [_written(self.read(file), file, output)]

    def read(self, file: Path) -> Content:
        """Return the content of `file`."""
        return self.reads(file, **dict(self))


class Ping(Importer):
    """Text log of `ping`; `interval_ms` is needed if it has no time stamps."""

    reads = staticmethod(ping.import_ping_text)
    interval_ms: float | None = None
    any_spacing: bool = False


class Fping(Importer):
    """Text log of `fping -D`, a series of each host; `interval_ms` is needed if it has no time stamps."""

    is_of_many: ClassVar[bool] = True
    interval_ms: float | None = None
    any_spacing: bool = False

    def imported(self, file: Path, output: Path) -> list[Imported]:
        return _several(fping.import_fping(file, **dict(self)), "hosts", file, output)


class Irtt(Importer):
    """JSON of `irtt client -o`; `delay`: rtt, or one way: send, receive; `offset` and `drift` of the two clocks: remove or keep."""

    reads = staticmethod(irtt.import_irtt)
    delay: irtt.Delay = "rtt"
    offset: irtt.Offset = "remove"
    drift: KeptDrift = "remove"


class Csv(Importer):
    """CSV of time and delay; without a header columns are numbered; `lost`: marks of a lost packet; `floor_ms`, `drift`: as in `Rtp`."""

    reads = staticmethod(table.import_csv)
    time_column: Text
    time_unit: Unit | None = None
    delay_column: Text
    delay_unit: Unit
    round_trip: bool
    time_of: table.TimeOf = "send"
    header: bool = True
    lost: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)
    floor_ms: float | None = None
    drift: KeptDrift = "remove"
    any_spacing: bool = False
    any_delay: bool = False


class Rtp(Importer):
    """Table of the arrivals of RTP streams, a series of each SSRC; `floor_ms` is the minimum one-way delay, which no log determines."""

    sample_rate_hz: int
    floor_ms: float
    timestamp_column: Text = "rtp.timestamp"
    timestamp_unit: Literal["ticks", "ms"] = "ticks"
    arrival_column: Text = "frame.time_epoch"
    arrival_unit: Unit = "s"
    sequence_column: Text | None = "rtp.seq"
    ssrc_column: Text = rtp.SSRC_COLUMN
    ssrc: Text | None = None
    header: bool = True
    drift: KeptDrift = "remove"

    def imported(self, file: Path, output: Path) -> list[Imported]:
        streams = rtp.streams_of(file, self.ssrc_column, self.header) if self.ssrc is None else [self.ssrc]
        if (len(streams) < 2 and output.name.endswith(ENDING)) or not streams:
            return super().imported(file, output)
        if output.name.endswith(ENDING):
            allowed = f"a folder for the {len(streams)} streams of the log, without {ENDING}; or format.ssrc={streams[0]}, which takes one"
            raise DataError(output, "output", output.name, allowed)
        return _several({ssrc: self._trace(file, ssrc) for ssrc in streams}, "streams", file, output)

    def read(self, file: Path) -> Trace:
        return self._trace(file, self.ssrc)

    def _trace(self, file: Path, ssrc: str | None) -> Trace:
        arguments = {name: value for name, value in self if name not in ("floor_ms", "drift", "ssrc")}
        return rtp.import_rtp(file, ssrc=ssrc, **arguments).to_trace(self.floor_ms, self.drift)


class GetStats(Importer):
    """Dump of chrome://webrtc-internals or reports of `getStats` over time; `stat` is the id of one candidate pair or stream of several."""

    measure: Literal["stun", "rtcp", "capacity"] = "stun"
    stat: Text | None = None
    any_spacing: bool = False

    def imported(self, file: Path, output: Path) -> list[Imported]:
        (found,) = super().imported(file, output)
        estimated = ", what the browser estimated that it may send" if self.measure == "capacity" else ""
        return [found._replace(found=found.found + estimated)]

    def read(self, file: Path) -> Content:
        if self.measure == "capacity":
            return repeating(file.name.split(".")[0], *webrtc_stats.import_available_bitrate(file, self.stat), file)
        return webrtc_stats.import_round_trips(file, self.measure, self.stat, self.any_spacing)


class Mahimahi(Importer):
    """Capacity in mahimahi's format: a line per opportunity to send 1500 bytes, in whole milliseconds."""

    reads = staticmethod(read_mahimahi)


class Throughput(Importer):
    """Table of time and throughput, used as capacity, of at least 50 kbit/s; `any_rate`, `any_spacing`: of any median, of any spacing."""

    reads = staticmethod(import_throughput)
    time_column: Text
    time_unit: Unit | None = None
    rate_column: Text
    rate_unit: RateUnit
    header: bool = True
    any_rate: bool = False
    any_spacing: bool = False


class AlphaRtc(Importer):
    """JSON of AlphaRTC and OpenNetLab's gym: capacity, delay and loss that change together."""

    reads = staticmethod(alphartc.import_alphartc)
    direction: alphartc.Direction = "uplink"
    any_rate: bool = False


class WonderProxyRaw(Importer):
    """WonderProxy's raw pings, aggregated to one row per ordered pair."""

    statistic: wonderproxy.Statistic = "medians"

    def read(self, file: Path) -> Content:
        bursts = wonderproxy.import_raw(file)
        return wonderproxy.burst_medians(bursts) if self.statistic == "medians" else wonderproxy.pooled(bursts)


class WonderProxyGrouped(Importer):
    """WonderProxy's pings grouped by pair."""

    reads = staticmethod(wonderproxy.import_grouped)


def _several(traces: dict[str, Trace], what: str, file: Path, output: Path) -> list[Imported]:
    """Write the only one of some traces to a file, or each to a file of its name in a folder."""
    if output.name.endswith(ENDING):
        if len(traces) > 1:
            raise DataError(output, "output", output.name, f"a folder for the {len(traces)} {what} of the log, without {ENDING}")
        outputs = dict.fromkeys(traces, output)
    else:
        outputs = {name: output / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}{ENDING}" for name in traces}
    for path in outputs.values():
        refuse_existing(path)
    return [_written(trace, file, outputs[name]) for name, trace in traces.items()]


def _written(content: Content, file: Path, output: Path) -> Imported:
    if isinstance(content, Trace):
        return Imported(output, write_trace(content, output), summary(content))
    if isinstance(content, CapacityTrace):
        origin = card_beside(file, read_content(file))
        return Imported(output, write_capacity(content, origin, output), describe_capacity(content))
    found = f"{len(content.source):,} ordered pairs, {content.statistic}"
    return Imported(output, wonderproxy.write_pairs(content, output), found)


def summary(trace: Trace) -> str:
    """Return what a trace holds, in one line: probes, losses, quantiles of the delays, coverage, and what the importer left out."""
    answered_ms = trace.one_way_delay_us[trace.one_way_delay_us != LOST] / 1e3
    probes, lost = len(trace.sent_us), len(trace.sent_us) - len(answered_ms)
    p50, p95, p99 = np.percentile(answered_ms, [50.0, 95.0, 99.0])
    kind = "round trips" if trace.round_trip else "one-way delays"
    delays = f"{kind} p50 {p50:.4g}, p95 {p95:.4g}, p99 {p99:.4g}, largest {answered_ms.max():.4g} ms"
    over = f"{probes:,} probes over {trace.sent_us[-1] / 1e6:.1f} s, {lost:,} lost ({100.0 * lost / probes:.3g} %)"
    return ", ".join([over, delays, str(coverage(trace.sent_us)), *trace.notes])
