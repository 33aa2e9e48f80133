"""What a result row of a sender holds. Shares lie in 0..1 in files and are shown in percent."""

import pyarrow as pa

from vcgym.leaderboard.results.columns import Column
from vcgym.leaderboard.results.files import Layout

IDENTITY = {
    "system": "string", "suite": "string", "scenario": "string", "kind": "string", "split": "string", "seed": "int64",
    "trace": "string", "capacity_kbps": "float64",
}  # fmt: skip
WORLD = ("scenario", "kind", "seed")

_UTILITY = "0.6 ln(4 Mbit/s + 1), second by second, - mean delay beyond propagation in s - 10 share missing"

METRICS = (
    Column("audio_on_time", "audio on time", "%", 1, 1, "audio packets that are there by their expiry, of those captured"),
    Column("video_on_time", "video on time", "%", 1, 1, "the same of video"),
    Column("audio_late", "audio late", "%", 2, -1, "audio packets received after their expiry, of those captured"),
    Column("video_late", "video late", "%", 2, -1, "the same of video"),
    Column("r", "R", "", 1, 1, "E-model of the audio: offset = expiry time, what is not there by then is concealed"),
    Column("utility", "utility", "/s", 2, 1, _UTILITY),
    Column("throughput_kbps", "delivered", "kbit/s", 0, 1, "media delivered, all headers included"),
    Column("utilisation", "of capacity", "%", 1, 0, "delivered, of what the bottleneck could carry"),
    Column("delay_p50_ms", "delay p50", "ms", 0, -1, "capture to arrival, median over packets"),
    Column("delay_p95_ms", "delay p95", "ms", 0, -1, "capture to arrival, 95th percentile"),
    Column("transit_p50_ms", "transit p50", "ms", 0, -1, "leaving the sender to arrival, median"),
    Column("transit_p95_ms", "transit p95", "ms", 0, -1, "leaving the sender to arrival, 95th percentile"),
    Column("queueing_ms", "queueing", "ms", 0, -1, "mean transit beyond propagation: queue, serialisation, outages"),
    Column("waiting_ms", "waiting", "ms", 0, -1, "mean time in the sender's queue"),
    Column("lost", "lost", "%", 2, -1, "packets lost or dropped on the way, of those sent"),
    Column("unsent", "unsent", "%", 2, -1, "packets that a full queue rejected or the sender discarded, of those captured"),
)
METRIC = {column.name: column for column in METRICS}

RESULTS = Layout(
    pa.schema(
        [
            pa.field(name, pa.type_for_alias(kind), nullable=False)
            for name, kind in (IDENTITY | {column.name: column.type for column in METRICS}).items()
        ]
    ),
    (*WORLD, "system"),
)
"""`sending.parquet`: one row per system and run."""
