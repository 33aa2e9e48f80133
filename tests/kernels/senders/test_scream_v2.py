"""SCReAM, version 2, stage by stage against the draft that obsoletes RFC 8298."""

import pytest

from vcgym.baselines.rate.scream.reference_window import Window, average, grow, increment, is_l4s_active, shrink
from vcgym.baselines.rate.scream.report import Acks
from vcgym.baselines.rate.scream.scream_v2 import Frames, ScreamV2, see_frame, target_rate_bps
from vcgym.baselines.records import SenderStatus
from vcgym.network.kernels.record import records

V2 = ScreamV2()


def acks_of(qdelay_us=0, rtt_us=50_000.0, new_bytes=1000, marked_bytes=0, lost=0, marked=0, packets=1, before_bytes=0):
    acks = records(Acks, 1)[0]
    acks.queuing_us, acks.rtt_us, acks.new_bytes, acks.new_marked_bytes = qdelay_us, rtt_us, new_bytes, marked_bytes
    acks.new_lost, acks.new_marked, acks.new_packets, acks.before_bytes = lost, marked, packets, before_bytes
    return acks


def window_v2(size, queuing_us=0.0, inflection=1.0, congested_us=0):
    window = records(Window, 1)[0]
    window.bytes, window.queuing_us, window.inflection_bytes, window.congested_us = size, queuing_us, inflection, congested_us
    return window


def test_rate_and_loss_of_the_reference_window():
    """C2: version 2 asks 2 Mbit/s of 12,500 bytes in 50 ms; a loss leaves 8,750 bytes."""
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 0.9, False) == pytest.approx(2e6)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 1.08, False) == pytest.approx(2e6 / 1.2)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 9.0, False) == pytest.approx(2e6 / 1.5)
    assert target_rate_bps(V2, 12_500.0, 50_000.0, 9.0, True) == pytest.approx(2e6)  # L4S marks instead
    assert target_rate_bps(V2, 4000.0, 50_000.0, 0.0, False) == pytest.approx(640e3 * 0.85)
    assert target_rate_bps(V2, 1000.0, 50_000.0, 0.0, False) == pytest.approx(160e3 * 0.2)
    window = window_v2(12_500.0)
    assert shrink(V2, window, acks_of(lost=2), 60_000.0, False, 1_000_000)
    assert (window.bytes, window.inflection_bytes, window.congested_us) == (8750.0, 12_500.0, 1_000_000)
    assert not shrink(V2, window, acks_of(lost=2), 60_000.0, False, 1_024_999)  # VIRTUAL_RTT
    assert shrink(V2, window, acks_of(marked=1), 60_000.0, False, 1_025_000)
    assert (window.bytes, window.inflection_bytes) == (7000.0, 12_500.0)  # the inflection stays for 250 ms


def test_delay_of_the_reference_window():
    """C3: an average of 45 ms of a target of 60 ms is v = 0.5, and three quarters of the window stay."""
    window = window_v2(10_000.0, 45_000.0)
    assert shrink(V2, window, acks_of(qdelay_us=31_000), 60_000.0, False, 1_000_000)
    assert window.bytes == 7500.0
    assert not shrink(V2, window_v2(10_000.0, 45_000.0), acks_of(qdelay_us=30_000), 60_000.0, False, 1_000_000)
    assert not shrink(V2, window_v2(10_000.0, 45_000.0), acks_of(qdelay_us=31_000), 60_000.0, True, 1_000_000)


def test_growth_of_the_reference_window():
    """One segment per round trip, and 2 % of the window 4 s after congestion; slow near the last maximum and in short round trips."""
    acks = acks_of(new_bytes=10_000)
    assert increment(V2, window_v2(10_000.0, congested_us=8_000_000), acks, False, 8_000_000) == pytest.approx(1000.0)
    assert increment(V2, window_v2(10_000.0, congested_us=8_000_000), acks, False, 10_000_000) == pytest.approx(1000.0 * 1.1)
    assert increment(V2, window_v2(10_000.0), acks, False, 4_000_000) == increment(V2, window_v2(10_000.0), acks, False, 9_000_000)
    assert increment(V2, window_v2(10_000.0), acks, False, 4_000_000) == pytest.approx(1200.0)
    assert increment(V2, window_v2(10_000.0, inflection=10_000.0), acks, False, 0) == pytest.approx(100.0)
    assert increment(V2, window_v2(10_000.0, inflection=9000.0), acks, False, 0) == pytest.approx(1000.0 * (4 / 9) ** 2)
    assert increment(V2, window_v2(10_000.0, inflection=10_000.0), acks, True, 0) == pytest.approx(200.0)  # 10 of 50 segments
    assert increment(V2, window_v2(10_000.0), acks_of(new_bytes=10_000, rtt_us=12_500.0), False, 0) == pytest.approx(250.0)
    assert increment(V2, window_v2(10_000.0), acks_of(new_bytes=10_000, marked_bytes=4000), False, 0) == pytest.approx(600.0)
    window = window_v2(10_000.0)
    window.max_bytes = 4900
    for most, at_most, grown in ((4900, False, False), (5000, True, False), (5000, False, True)):
        window.max_bytes = most
        grow(V2, window, acks, False, at_most, 0)
        assert (window.bytes > 10_000.0) == grown


def test_averages_of_version_2():
    window = window_v2(10_000.0)
    taken = (50_000, 40_000, 10_000.0), (99_999, 90_000, 10_000.0), (100_000, 20_000, 12_500.0), (200_000, 8_000, 8_000.0)
    for now_us, qdelay_us, wanted in taken:
        average(V2, window, acks_of(qdelay_us=qdelay_us, marked=1, packets=2), now_us)
        assert window.queuing_us == wanted
    assert window.alpha == pytest.approx(0.5 * (1 - (15 / 16) ** 3))


def test_l4s():
    """Two marks per round trip tell that the way marks; the window yields by half the mean share, after a quiet time to what was used."""
    l4s, window = V2._replace(l4s=True), window_v2(50_000.0)
    window.alpha = 0.04
    assert is_l4s_active(l4s, window, 100_000.0, 4e6)  # 2 of 50 packets
    assert not is_l4s_active(l4s, window, 100_000.0, 3.9e6)
    assert not is_l4s_active(V2, window, 100_000.0, 4e6)
    assert shrink(l4s, window, acks_of(marked=1), 60_000.0, True, 5_000_000)
    assert window.bytes == pytest.approx(50_000 * (1 - 0.02 * 0.96))
    window = window_v2(50_000.0)
    window.max_before_bytes = 30_000
    assert shrink(l4s, window, acks_of(marked=1), 60_000.0, True, 5_000_001)
    assert (window.bytes, window.alpha) == (pytest.approx(30_000 * 0.75), 0.25)


def test_size_of_frames():
    frames = records(Frames, 1)[0]
    for number, size in enumerate((900, 1100, 2000, 1300, 1200), 1):  # 1,000 are the share of 240 kbit/s
        see_frame(frames, SenderStatus(0, 0, 0, number, size, 33_333), 240e3)
        see_frame(frames, SenderStatus(0, 0, 0, number, 9999, 33_333), 240e3)  # the same frame
    assert (frames.larger, frames.high) == (4, pytest.approx(1.3, rel=1e-4))
