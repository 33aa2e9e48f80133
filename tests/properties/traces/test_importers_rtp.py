"""RTP arrival logs: unwrapping at 16 and 32 bits, duplicates, order, units and rates; and a receiver alone on them."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.standalone import emissions
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.rtp import import_rtp
from vcgym.network.traces.trace import TraceError

RATE_HZ = 48_000
TICKS = 960  # of 20 ms


def written(tmp_path, rows, header="frame.time_epoch,rtp.seq,rtp.timestamp"):
    path = tmp_path / "call.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return path


def packets(sent, arrived_ms, first_seq=0, first_timestamp=0):
    """Rows of a log: numbers of the packets sent, in order of arrival, and when each arrived."""
    return [
        f"{1_600_000_000 + ms / 1e3:.6f},{(first_seq + n) % 65_536},{(first_timestamp + n * TICKS) % 2**32}"
        for n, ms in zip(sent, arrived_ms, strict=True)
    ]


def test_wrap_loss_overtaking_and_copies(tmp_path):
    # 2 is lost, 4 overtakes 3, 5 comes twice; both counters wrap within the log.
    rows = packets([0, 1, 4, 3, 5, 5, 6], [50, 70, 131, 132, 150, 151, 170], first_seq=65_533, first_timestamp=2**32 - 3 * TICKS)
    made = import_rtp(written(tmp_path, rows), sample_rate_hz=RATE_HZ)
    assert made.sequence.tolist() == [0, 1, 4, 3, 5, 6]
    assert (made.timestamp // TICKS).tolist() == [0, 1, 4, 3, 5, 6]
    assert made.sent_us.tolist() == [0, 20_000, 80_000, 60_000, 100_000, 120_000]
    assert made.arrived_us.tolist() == [0, 20_000, 81_000, 82_000, 100_000, 120_000]
    trace = made.to_trace(floor_ms=30)
    assert not trace.round_trip
    assert trace.sent_us.tolist() == [0, 20_000, 40_000, 60_000, 80_000, 100_000, 120_000]
    assert trace.one_way_delay_us.tolist() == [30_000, 30_000, LOST, 52_000, 31_000, 30_000, 30_000]
    for floor_ms in (-1, float("nan"), 2_000):
        with pytest.raises(TraceError, match=r"call\.csv: floor_ms is .*; allowed: 0\.0 to 1000\.0"):
            made.to_trace(floor_ms)


def slow_unwrap(values, modulus):
    """The multiple of the modulus that brings each value nearest to the one before."""
    whole = [values[0]]
    for value in values[1:]:
        candidates = [value + turn * modulus for turn in range(whole[-1] // modulus - 1, whole[-1] // modulus + 3)]
        whole.append(min(candidates, key=lambda candidate: (abs(candidate - whole[-1]), candidate)))
    return whole


@given(
    st.integers(0, 65_535),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(-40, 40), min_size=1, max_size=80).map(lambda offsets: np.arange(len(offsets)) * 10 + offsets),
)
def test_numbers_unwrap_as_the_slow_twin_says(tmp_path_factory, first_seq, first_timestamp, numbers):
    rows = packets(numbers.tolist(), 20 * np.maximum.accumulate(numbers), first_seq, first_timestamp)
    made = import_rtp(written(tmp_path_factory.getbasetemp(), rows), sample_rate_hz=RATE_HZ)
    seq = np.array(slow_unwrap([(first_seq + n) % 65_536 for n in numbers.tolist()], 65_536))
    timestamp = np.array(slow_unwrap([(first_timestamp + n * TICKS) % 2**32 for n in numbers.tolist()], 2**32))
    first = sorted({n: i for i, n in reversed(list(enumerate(seq.tolist())))}.values())
    assert made.sequence.tolist() == (seq - seq.min())[first].tolist()
    assert made.timestamp.tolist() == (timestamp - timestamp.min())[first].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.replace("0010.000000", "0009.000000"), r"line 502, frame\.time_epoch is 1600000009\.0; allowed: at least"),
        (lambda row: row.replace(",500,", ",65536,"), r"line 502, rtp\.seq is '65536'; allowed: a number from 0 to 65535"),
        (lambda row: row.replace(",500,", ",-1,"), r"line 502, rtp\.seq is '-1'"),
        (lambda row: row.replace(",480000", ",4294967296"), r"line 502, rtp\.timestamp is '4294967296'; allowed: .* to 4294967295"),
        (lambda row: row.replace(",480000", ",480000.5"), r"line 502, rtp\.timestamp is 480000\.5; allowed: a whole number"),
        (lambda row: row.replace(",480000", ",nan"), r"line 502, rtp\.timestamp is 'nan'"),
        (lambda row: row.replace(",480000", ","), r"line 502, rtp\.timestamp is ''"),
        (lambda row: row.replace(",480000", ",480000,7"), "line 502, number of fields is 4"),
        (lambda row: row.replace(",480000", ",1480480000"), r"line 502, arrival time less media time in ms is .*; is this one stream\?"),
    ],
)
def test_a_bad_row_is_named(tmp_path, change, message):
    rows = packets(range(1_000), range(0, 20_000, 20))
    changed = change(rows[500])
    assert changed != rows[500]
    with pytest.raises(TraceError, match=rf"call\.csv: {message}"):
        import_rtp(written(tmp_path, [*rows[:500], changed, *rows[501:]]), sample_rate_hz=RATE_HZ)


def test_another_rate_or_unit_is_refused(tmp_path):
    path = written(tmp_path, packets(range(3_000), range(0, 60_000, 20)))
    assert import_rtp(path, sample_rate_hz=RATE_HZ).sent_us[-1] == 59_980_000
    for rate_hz in (8_000, 16_000, 44_100, 90_000):
        with pytest.raises(TraceError, match="is the sample rate right, and the unit"):
            import_rtp(path, sample_rate_hz=rate_hz)
    for unit in ("ms", "us"):
        with pytest.raises(TraceError, match="is the sample rate right, and the unit"):
            import_rtp(path, sample_rate_hz=RATE_HZ, arrival_unit=unit)
    for wrong in (0, -8_000, 10**9):
        with pytest.raises(TraceError, match="allowed: 1000 to 1000000"):
            import_rtp(path, sample_rate_hz=wrong)
    with pytest.raises(TraceError, match="arrival_unit is 'min'; allowed: s, ms, us"):
        import_rtp(path, sample_rate_hz=RATE_HZ, arrival_unit="min")
    with pytest.raises(TraceError, match="timestamp_unit is 's'; allowed: ticks, ms"):
        import_rtp(path, sample_rate_hz=RATE_HZ, timestamp_unit="s")


MEDIA = {"timestamp_column": "media_ms", "timestamp_unit": "ms", "arrival_column": "rx_ms", "arrival_unit": "ms", "sequence_column": None}


def test_media_time_in_milliseconds_must_be_whole_ticks(tmp_path):
    path = written(tmp_path, ["0.000,0.000", "8.989,5.011", "14.000,10.023"], "rx_ms,media_ms")
    made = import_rtp(path, sample_rate_hz=44_100, **MEDIA)
    assert made.timestamp.tolist() == [0, 221, 442]
    assert made.sequence.tolist() == [0, 1, 2]
    with pytest.raises(TraceError, match=r"line 3, media_ms is '5\.011'; allowed: a whole number of ticks of 48000 Hz"):
        import_rtp(path, sample_rate_hz=48_000, **MEDIA)


def test_a_receiver_alone_takes_the_arrivals(tmp_path):
    made = import_rtp(written(tmp_path, packets([0, 1, 3, 2, 4], [0, 20, 60, 95, 96])), sample_rate_hz=RATE_HZ)
    out = emissions(FixedLag(lag_ms=40.0), made.sent_us, made.arrived_us)
    assert not out.late.any()
    out = emissions(FixedLag(lag_ms=0.0), made.sent_us, made.arrived_us)
    assert out.late.tolist() == [False, False, False, True, False]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "packets", "spread_ms"),
    [
        ("wifi2_no_load", 49_626, 820.7),
        ("ethernet_spikes", 78_172, 23.7),
        ("wifi_bad_no_load", 17_183, 1_119.0),
        ("internet_vpn_100ms", 20_767, 799.9),
    ],
)
def test_the_measured_arrivals(name, packets, spread_ms):
    path = Path(os.environ["VCGYM_DATA"]) / "rtp_arrivals" / f"{name}.csv.gz"
    made = import_rtp(path, sample_rate_hz=44_100, **MEDIA)
    delay_us = made.to_trace(floor_ms=10).one_way_delay_us
    assert len(made.arrived_us) == len(delay_us) == packets
    assert delay_us.min() == 10_000
    assert abs(delay_us.max() / 1e3 - 10 - spread_ms) < 0.1
