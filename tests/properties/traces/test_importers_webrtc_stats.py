"""Statistics of browsers: dumps of chrome://webrtc-internals and saved reports of getStats, in the shapes that pages save."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from vcgym.network.traces.importers.webrtc_stats import import_available_bitrate, import_round_trips
from vcgym.network.traces.trace import TraceError

BEGIN_MS = 1_714_564_800_000.0
SECONDS = 60


def pair(second, name="CP1", nominated=True, every=2, rtt_s=0.05):
    """The candidate pair after `second` reports: a response every other second, and the round trip rises by 1 ms each."""
    responses = second // every + 1
    trips = [rtt_s + 0.001 * n for n in range(responses)]
    return {
        "id": name, "type": "candidate-pair", "timestamp": BEGIN_MS + 1_000.0 * second, "nominated": nominated, "state": "succeeded",
        "requestsSent": 1, "consentRequestsSent": responses + 1, "responsesReceived": responses, "totalRoundTripTime": sum(trips),
        "currentRoundTripTime": trips[-1], "availableOutgoingBitrate": 300_000 + 10_000 * second,
    }  # fmt: skip


def remote(second, name="RI1"):
    return {
        "id": name, "type": "remote-inbound-rtp", "timestamp": BEGIN_MS + 1_000.0 * second, "roundTripTime": 0.08 + 0.001 * (second // 5),
        "roundTripTimeMeasurements": second // 5 + 1, "totalRoundTripTime": sum(0.08 + 0.001 * n for n in range(second // 5 + 1)),
        "fractionLost": 0.0,
    }  # fmt: skip


def inbound(second):
    return {"id": "IT1", "type": "inbound-rtp", "timestamp": BEGIN_MS + 1e3 * second, "jitter": 0.004, "jitterBufferDelay": 1.0 * second}


REPORTS = [[pair(n), remote(n), inbound(n)] for n in range(SECONDS)]


def internals(*connections):
    """Return the dump of chrome://webrtc-internals of lists of reports."""

    def series(reports):
        found = {}
        for report in reports:
            for one in report:
                for field, value in one.items():
                    if field not in ("id", "type"):
                        found.setdefault((one["id"], one["type"], field), []).append(value)
        ends = [datetime.fromtimestamp((BEGIN_MS + 1_000.0 * n) / 1e3, UTC).isoformat().replace("+00:00", "Z") for n in (0, SECONDS - 1)]
        return {
            f"{name}-{field}": {"statsType": kind, "startTime": ends[0], "endTime": ends[1], "values": json.dumps(values)}
            for (name, kind, field), values in found.items()
        }

    peers = {f"{n}-1": {"stats": series(reports), "updateLog": []} for n, reports in enumerate(connections)}
    return {"getUserMedia": [], "UserAgent": "x", "PeerConnections": peers}


STATS = internals(REPORTS)["PeerConnections"]["0-1"]["stats"]
SHAPES = {
    "internals": internals(REPORTS),
    "without times": {"PeerConnections": {"1-1": {"stats": {key: one for key, one in STATS.items() if "timestamp" not in key}}}},
    "lists": REPORTS,
    "maps": [{one["id"]: one for one in report} for report in REPORTS],
    "entries": [[[one["id"], one] for one in report] for report in REPORTS],
    "wrapped": {"room": "x", "samples": [{"timestamp": 1, "type": "sample", "stats": report} for report in REPORTS]},
    "flat": [one for report in REPORTS for one in report],
}


def written(tmp_path, document):
    path = tmp_path / "call.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.mark.parametrize("shape", [*SHAPES, "lines"])
def test_a_round_trip_counts_once(tmp_path, shape):
    document = "\n".join(map(json.dumps, REPORTS)) + "\n" if shape == "lines" else SHAPES[shape]
    path = written(tmp_path, document)
    with pytest.raises(TraceError, match=r"currentRoundTripTime of CP1, mean spacing in s is 2\.0; .* format\.any_spacing=true takes any"):
        import_round_trips(path)
    made = import_round_trips(path, any_spacing=True)
    assert made.round_trip and made.start_us == round(BEGIN_MS * 1e3)
    assert made.sent_us.tolist() == [2_000_000 * n for n in range(SECONDS // 2)]
    assert made.one_way_delay_us.tolist() == [50_000 + 1_000 * n for n in range(SECONDS // 2)]
    assert made.notes == ("stun round trips of CP1", "2 of 32 requests unanswered, at unknown times")
    rtcp = import_round_trips(path, "rtcp", any_spacing=True)
    assert rtcp.one_way_delay_us.tolist() == [80_000 + 1_000 * n for n in range(SECONDS // 5)]
    at_s, bps = import_available_bitrate(path)
    assert np.diff(at_s).tolist() == pytest.approx([1.0] * (SECONDS - 1)) and bps[:2].tolist() == [300_000, 310_000]


def test_several_round_trips_between_two_reports_are_one_probe_of_their_mean(tmp_path):
    made = import_round_trips(written(tmp_path, [[pair(4 * n)] for n in range(20)]), any_spacing=True)
    assert made.one_way_delay_us.tolist() == [50_000, *(50_000 + 1_000 * n - 500 for n in range(2, 39, 2))]


def test_without_counts_a_new_value_is_a_new_round_trip(tmp_path):
    kept = ("id", "type", "timestamp", "currentRoundTripTime")
    reports = [[{key: value for key, value in pair(n).items() if key in kept}] for n in range(9)]
    assert import_round_trips(written(tmp_path, reports), any_spacing=True).sent_us.tolist() == [2_000_000 * n for n in range(5)]


def test_of_several_pairs_the_nominated_one_is_taken_or_one_is_to_be_chosen(tmp_path):
    both = [[pair(n), pair(n, "CP2", nominated=False, rtt_s=0.2)] for n in range(SECONDS)]
    assert import_round_trips(written(tmp_path, both), any_spacing=True).one_way_delay_us[0] == 50_000
    two = internals(REPORTS, [[pair(n, "CP9")] for n in range(SECONDS)])
    with pytest.raises(TraceError, match=r"with currentRoundTripTime is 2; allowed: one, chosen by format\.stat=ID: 0-1/CP1 \(30"):
        import_round_trips(written(tmp_path, two), any_spacing=True)
    assert import_round_trips(written(tmp_path, two), stat="1-1/CP9", any_spacing=True).notes[0] == "stun round trips of 1-1/CP9"
    with pytest.raises(TraceError, match=r"stat is 'CP7'; allowed: 0-1/CP1"):
        import_round_trips(written(tmp_path, two), stat="CP7")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "content is 'JSONDecodeError"),
        ("{", "content is 'JSONDecodeError"),
        ("[" * 100_000, "content is 'RecursionError"),
        ("[]", "content is 'no statistics'; allowed: a dump of chrome"),
        ("3", "no statistics"),
        ('{"PeerConnections": {"1": {}}}', "no statistics"),
        ('{"PeerConnections": {"1": {"stats": {"a-b": {"values": "[1]"}}}}}', r"stats a-b is \"KeyError: 'startTime'\""),
        ('{"PeerConnections": {"1": {"stats": {"a-b": 3}}}}', r"stats a-b is"),
        ([[inbound(n)] for n in range(9)], "candidate-pair with currentRoundTripTime is 'none with two .*this file has inbound-rtp"),
        ([[pair(0)]], "none with two values"),
        ([[{**pair(n), "currentRoundTripTime": 61.0, "totalRoundTripTime": None}] for n in range(9)], r"currentRoundTripTime of CP1 is 61"),
        ([[{**pair(n, rtt_s=40.0)}] for n in range(9)], r"median in s is 40\.0\d*; allowed: 0 to 1\.5"),
        ([[{**pair(n), "currentRoundTripTime": 0}] for n in range(9)], "none with two values"),
        ([[{**pair(n), "currentRoundTripTime": "x"}] for n in range(9)], "none with two values"),
        ([[{**pair(n), "timestamp": 1e3 * n * 86_400}] for n in range(9)], "at most 86400000000"),
    ],
)
def test_what_measures_nothing_is_refused_in_one_line(tmp_path, document, message):
    with pytest.raises(TraceError, match=rf"call\.json: .*{message}"):
        import_round_trips(written(tmp_path, document), any_spacing=True)
