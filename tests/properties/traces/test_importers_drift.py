"""Clock drift in logs of RTP and in tables of two clocks: found, removed, kept, and not found where the delays are the network's."""

import os
from pathlib import Path

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.drift import CLOCKS_PPM, drift_of
from vcgym.network.traces.importers.restarts import refuse_new_timestamps
from vcgym.network.traces.importers.rtp import import_rtp
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.trace import TraceError
from vcgym.network.traces.trace_file import read_trace

RATE_HZ = 48_000


def log(tmp_path, ppm, packets, spacing_ms=20.0, noise=lambda draws, n: draws.gamma(2.0, 3.0, n)):
    """Write a log of packets with a network delay; the sender's clock is slow by `ppm`. Return it and the delays, in ms."""
    number = np.arange(packets)
    delay_ms = noise(np.random.default_rng(packets), packets)
    arrived_s = 1_700_000_000 + np.maximum.accumulate(number * spacing_ms * (1.0 + 1e-6 * ppm) + delay_ms) / 1e3
    ticks = (4_000_000_000 + number * round(spacing_ms * RATE_HZ / 1e3)) % 2**32
    rows = [f"{at:.6f},{(65_000 + n) % 65_536},{tick}" for at, n, tick in zip(arrived_s, number.tolist(), ticks.tolist(), strict=True)]
    path = tmp_path / "call.csv"
    path.write_text("\n".join(["frame.time_epoch,rtp.seq,rtp.timestamp", *rows, ""]))
    return path, np.maximum.accumulate(number * spacing_ms + delay_ms) - number * spacing_ms


@pytest.mark.parametrize(
    ("ppm", "packets", "spacing_ms"),
    [(100.0, 500, 1_000.0), (-100.0, 30_000, 20.0), (35.0, 30_000, 20.0), (400.0, 3_000, 20.0), (900.0, 15_000, 20.0)],
)
def test_a_drift_is_found_and_removed_unless_it_is_to_be_kept(tmp_path, ppm, packets, spacing_ms):
    path, delay_ms = log(tmp_path, ppm, packets, spacing_ms)
    made = import_rtp(path, sample_rate_hz=RATE_HZ)
    assert made.drift.is_found and made.drift.ppm == pytest.approx(ppm, abs=5.0)
    assert "removed" in made.describe_drift("remove") and f"{made.drift.ppm:.1f} ppm" in made.describe_drift("remove")
    trace = made.to_trace(floor_ms=20.0)
    np.testing.assert_allclose(trace.one_way_delay_us / 1e3 - 20.0, delay_ms - delay_ms.min(), atol=1.5)
    assert trace.sent_us[-1] / 1e3 == pytest.approx((packets - 1) * spacing_ms * (1.0 + 1e-6 * ppm), abs=2.0)  # on the receiver's clock
    rise_ms = ppm * 1e-6 * packets * spacing_ms
    kept_ms = made.to_trace(20.0, drift="keep").one_way_delay_us / 1e3
    tenth = packets // 10
    assert kept_ms[-tenth:].min() - kept_ms[:tenth].min() == pytest.approx(0.9 * rise_ms, abs=0.05 * abs(rise_ms) + 1.0)


@pytest.mark.parametrize("time_of", ["send", "reply"])
@pytest.mark.parametrize("ppm", [100.0, -100.0])
def test_a_drift_in_a_table_of_two_clocks_is_removed_unless_it_is_to_be_kept(tmp_path, time_of, ppm):
    """Over 5 minutes 30 ms; every 50th packet is lost."""
    number = np.arange(3_000)
    delay_ms = np.random.default_rng(5).gamma(2.0, 3.0, len(number))
    shown_ms = delay_ms - 700.0 + 1e-4 * ppm * number
    times_ms = 100.0 * number + (shown_ms if time_of == "reply" else 0.0)
    rows = [f"{at:.3f},{'' if n % 50 == 7 else f'{one:.3f}'}" for n, at, one in zip(number.tolist(), times_ms, shown_ms, strict=True)]
    (tmp_path / "two.csv").write_text("\n".join(["t,d", *rows, ""]))
    told = {"time_column": "t", "time_unit": "ms", "delay_column": "d", "delay_unit": "ms", "round_trip": False, "time_of": time_of}
    made = import_csv(tmp_path / "two.csv", **told, floor_ms=20.0)
    [note] = made.notes
    assert note.endswith("removed") and float(note.split()[2]) == pytest.approx(ppm, abs=5.0)
    answered = number % 50 != 7
    assert (made.one_way_delay_us == LOST).sum() == (~answered).sum()
    np.testing.assert_allclose(made.one_way_delay_us[answered] / 1e3 - 20.0, (delay_ms - delay_ms[answered].min())[answered], atol=1.5)
    assert made.one_way_delay_us[answered].min() == 20_000
    kept = import_csv(tmp_path / "two.csv", **told, floor_ms=20.0, drift="keep")
    assert kept.notes[0].endswith("kept")
    rise_ms = (kept.one_way_delay_us - made.one_way_delay_us)[answered][[0, -1]] / 1e3
    assert rise_ms[1] - rise_ms[0] == pytest.approx(0.3 * ppm, abs=2.0)


def _bloated(draws, n):
    """A queue that grows for half of the log, and is then drained."""
    return draws.gamma(2.0, 3.0, n) + np.interp(np.arange(n), [0, n // 2, n], [0.0, 60.0, 0.0])


def _stepped(draws, n):
    """A change of route adds 20 ms."""
    return draws.gamma(2.0, 3.0, n) + 20.0 * (np.arange(n) > 0.45 * n)


@pytest.mark.parametrize("packets", [30, 200, 2_000, 30_000])
@pytest.mark.parametrize("noise", [lambda draws, n: draws.gamma(2.0, 3.0, n), _bloated, _stepped])
def test_noise_queues_and_routes_are_no_drift(tmp_path, packets, noise):
    path, delay_ms = log(tmp_path, 0.0, packets, noise=noise)
    made = import_rtp(path, sample_rate_hz=RATE_HZ)
    assert not made.drift.is_found and made.describe_drift("remove").startswith("no clock drift found")
    np.testing.assert_allclose(made.to_trace(5.0).one_way_delay_us / 1e3 - 5.0, delay_ms - delay_ms.min(), atol=0.01)


def test_more_than_two_clocks_differ_is_kept_and_said(tmp_path):
    path, _ = log(tmp_path, 3_000.0, 3_000)
    made = import_rtp(path, sample_rate_hz=RATE_HZ)
    assert made.drift.is_found and not made.drift.is_of_clocks
    assert "kept, more than two clocks differ; if one does, format.sample_rate_hz=4785" in made.describe_drift("remove")
    trace = made.to_trace(5.0)
    assert trace.one_way_delay_us[-300:].min() > 150_000
    assert not import_rtp(path, sample_rate_hz=47_856).drift.is_found


@pytest.mark.parametrize("said_hz", [16_000, 44_100, 90_000])
def test_a_wrong_rate_of_a_short_log_is_no_drift(tmp_path, said_hz):
    path, _ = log(tmp_path, 0.0, 60)  # 1.2 s, within the tolerance of a log as a whole
    with pytest.raises(TraceError, match=r"is the sample rate right.* stamps advance by 4[78]\d\d\d in a second of arrivals"):
        import_rtp(path, sample_rate_hz=said_hz).to_trace(5.0)


def test_a_drift_of_more_than_a_per_cent_is_kept_on_request(tmp_path):
    path, _ = log(tmp_path, 50_000.0, 1_000)
    assert import_rtp(path, sample_rate_hz=RATE_HZ).to_trace(5.0, drift="keep").one_way_delay_us.max() > 900_000


def test_arrivals_in_whole_seconds_are_refused(tmp_path):
    path, _ = log(tmp_path, 0.0, 3_000)
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head, *(f"{row[:10]}{row[17:]}" for row in rows), ""]))
    with pytest.raises(TraceError, match=r"several time stamps share is 100; allowed: at most 90; a resolution of some milliseconds"):
        import_rtp(path, sample_rate_hz=RATE_HZ)


def slow_line(at, delay):
    """The line through two points that lies below all, with the smallest mean distance."""
    best = (np.inf, 0.0)
    for i in range(len(at)):
        for j in range(i + 1, len(at)):
            if at[i] != at[j]:
                slope = (delay[j] - delay[i]) / (at[j] - at[i])
                above = delay - delay[i] - slope * (at - at[i])
                if above.min() >= -1e-9:
                    best = min(best, (above.mean(), slope))
    return best[1]


@pytest.mark.parametrize("seed", range(20))
def test_the_line_is_that_of_the_slow_twin(seed):
    draws = np.random.default_rng(seed)
    sent_us = np.sort(draws.integers(0, 10**7, 40))
    delay_us = (draws.gamma(1.0, 5e3, 40) + sent_us * draws.uniform(-1e-3, 1e-3)).astype(np.int64)
    found = drift_of(sent_us, delay_us)
    assert found.ppm == pytest.approx(1e6 * slow_line(sent_us / 1.0, delay_us / 1.0), rel=1e-6, abs=1e-6)


def test_packets_of_one_instant_have_no_drift():
    assert not drift_of(np.zeros(5, np.int64), np.arange(5)).is_found


def measured():
    """Yield name, send times and delays in us of measured series: round trips, which one clock measures."""
    root = Path(os.environ["VCGYM_DATA"])
    for folder in ("leo_ping_10ms", "cicv5g_rtt", "operators_rtt"):
        for path in sorted((root / folder).glob("*.csv.gz")):
            trace = read_trace(path)
            answered = trace.one_way_delay_us != LOST
            yield path, trace.sent_us[answered], trace.one_way_delay_us[answered]


@pytest.mark.data
@pytest.mark.parametrize("window_s", [30, 120, 600])
def test_round_trips_of_one_clock_have_no_drift_and_begin_once(window_s):
    windows = 0
    for path, sent_us, delay_us in measured():
        order = np.argsort(sent_us + delay_us, kind="stable")
        refuse_new_timestamps(path, np.arange(len(order)), sent_us[order], (sent_us + delay_us)[order])
        for begin_us in range(0, int(sent_us[-1]) - window_s * 10**6, window_s * 10**6):
            inside = (sent_us >= begin_us) & (sent_us < begin_us + window_s * 10**6)
            if inside.sum() >= 20:
                found, windows = drift_of(sent_us[inside], delay_us[inside]), windows + 1
                assert not found.is_found or abs(found.ppm) > CLOCKS_PPM, (path, begin_us, found)
    assert windows > 20


@pytest.mark.data
@pytest.mark.parametrize("name", ["wifi2_no_load", "ethernet_spikes", "wifi_bad_no_load", "internet_vpn_100ms"])
def test_a_drift_added_to_a_measured_log_is_found(name):
    table = np.loadtxt(Path(os.environ["VCGYM_DATA"]) / "rtp_arrivals" / f"{name}.csv.gz", delimiter=",", skiprows=1)
    sent_us, delay_us = (1e3 * table[:, 1]).astype(np.int64), 1e3 * table[:, 2]
    assert not drift_of(sent_us, delay_us.astype(np.int64)).is_found
    for ppm in (-100.0, 100.0):
        found = drift_of(sent_us, (delay_us + 1e-6 * ppm * sent_us).astype(np.int64))
        assert found.is_found and found.ppm == pytest.approx(ppm, abs=5.0)
