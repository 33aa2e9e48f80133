"""RTP logs of several streams, of streams that begin anew or pause, of frames, and of number spaces that wrap."""

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.importers.rtp import import_rtp, streams_of
from vcgym.network.traces.trace import TraceError
from vcgym.network.traces.trace_file import read_trace
from vcgym.scripts.importing.formats import Rtp

RATE_HZ, TICKS = 48_000, 960
AT_S = 1_700_000_000.0


def stream(packets, begins_ms=0.0, seq=0, timestamp=0, ticks=TICKS, every_ms=20.0, delay_ms=30.0):
    """Return (arrival in s, seq, timestamp) of packets in order."""
    number = np.arange(packets)
    jitter_ms = np.random.default_rng(packets).uniform(0.0, 4.0, packets)
    arrived_s = AT_S + (begins_ms + number * every_ms + delay_ms + jitter_ms) / 1e3
    return list(zip(arrived_s.tolist(), ((seq + number) % 65_536).tolist(), ((timestamp + number * ticks) % 2**32).tolist(), strict=True))


def written(tmp_path, rows, ssrcs=None, separator="\t"):
    path = tmp_path / "call.csv"
    named = ["frame.time_epoch", "rtp.seq", "rtp.timestamp"] + (["rtp.ssrc"] if ssrcs else [])
    cells = [[f"{at:.6f}", str(seq), str(tick), *([ssrcs[n]] if ssrcs else [])] for n, (at, seq, tick) in enumerate(rows)]
    path.write_text("\n".join(map(separator.join, [named, *cells])) + "\n")
    return path


def delays_ms(path, **options):
    delay_us = import_rtp(path, sample_rate_hz=RATE_HZ, **options).to_trace(floor_ms=10.0).one_way_delay_us
    return delay_us[delay_us != LOST] / 1e3


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ({"begins_ms": 2_000.0, "seq": 12_676, "timestamp": 3_000_000_000}, 102),  # all anew
        ({"begins_ms": 6_000.0, "seq": 100, "timestamp": 100 * TICKS}, 102),  # 4 s of pause that the time stamps leave out
        ({"begins_ms": 2_000.0, "seq": 100, "timestamp": 100 * TICKS + 5 * RATE_HZ}, 102),  # time stamps ahead by 5 s
        ({"begins_ms": 2_000.0, "seq": 40_000, "timestamp": 100 * TICKS}, 102),  # numbers anew, time stamps go on
        ({"begins_ms": 2_000.0, "seq": 20_000, "timestamp": 100 * TICKS}, 102),
        ({"begins_ms": 602_000.0, "seq": 100, "timestamp": 100 * TICKS}, 102),
    ],
)
def test_a_stream_that_begins_anew_is_refused_with_the_line(tmp_path, second, line):
    path = written(tmp_path, [*stream(100), *stream(100, **second)])
    with pytest.raises(TraceError, match=rf"line {line}, .*is this one stream\? Print rtp\.ssrc too"):
        import_rtp(path, sample_rate_hz=RATE_HZ)


def test_two_streams_without_ssrc_are_refused_and_with_it_each_is_one(tmp_path):
    one, other = stream(200, seq=65_500, timestamp=2**32 - 5_000), stream(150, begins_ms=300.0, seq=7, timestamp=10**9, delay_ms=60.0)
    rows = sorted([(*row, "0x00abcdef") for row in one] + [(*row, "0xFFFFFFFF") for row in other])
    with pytest.raises(TraceError, match=r"line \d+, .*is this one stream"):
        import_rtp(written(tmp_path, [row[:3] for row in rows]), sample_rate_hz=RATE_HZ)
    path = written(tmp_path, [row[:3] for row in rows], [row[3] for row in rows])
    assert streams_of(path) == ["0x00abcdef", "0xffffffff"]
    with pytest.raises(TraceError, match=r"streams by rtp\.ssrc is 2; allowed: one of 0x00abcdef \(200 packets\), 0xffffffff"):
        import_rtp(path, sample_rate_hz=RATE_HZ)
    for ssrc, packets in (("0xabcdef", 200), ("11259375", 200), ("0xffffffff", 150)):
        made = import_rtp(path, sample_rate_hz=RATE_HZ, ssrc=ssrc)
        assert len(made.sequence) == packets and made.sequence.tolist() == list(range(packets))
        assert np.ptp(made.to_trace(10.0).one_way_delay_us) < 5_000
    for ssrc in ("0x1", "call", "-1", "0x1ffffffff"):
        with pytest.raises(TraceError, match=r"ssrc is .*; allowed: 0x00abcdef"):
            import_rtp(path, sample_rate_hz=RATE_HZ, ssrc=ssrc)
    rows[5] = (*rows[5][:3], "none")
    with pytest.raises(TraceError, match=r"line 7, rtp\.ssrc is 'none'; allowed: 0 to 4294967295"):
        import_rtp(written(tmp_path, [row[:3] for row in rows], [row[3] for row in rows]), sample_rate_hz=RATE_HZ)


def test_pauses_outages_and_late_packets_are_no_new_stream(tmp_path):
    # Silence: 7 s and 13 hours, longer than half of the time stamps' range, without a packet; numbers go on.
    ahead = 100 * TICKS + 7 * RATE_HZ
    silent = [*stream(100), *stream(100, 9_000.0, 100, ahead), *stream(100, 9_000.0 + 13 * 3.6e6, 200, ahead + 13 * 3_600 * RATE_HZ)]
    assert np.ptp(delays_ms(written(tmp_path, silent))) < 5.0
    # An outage of 3 s: what waited arrives at once, and then all is as before.
    rows = [(max(at, AT_S + 5.0) if at > AT_S + 2.0 else at, seq, tick) for at, seq, tick in stream(500)]
    assert 2_900.0 < np.ptp(delays_ms(written(tmp_path, rows))) < 3_100.0
    # The same at the end of the log, and one packet that is late by 2 s.
    assert 2_900.0 < np.ptp(delays_ms(written(tmp_path, rows[:240]))) < 3_100.0
    late = stream(300)
    late = sorted([*late[:50], (late[50][0] + 2.0, *late[50][1:]), *late[51:]])
    assert np.sort(delays_ms(written(tmp_path, late)))[-2:] == pytest.approx([13.0, 2_012.0], abs=3.0)


def test_a_lost_stretch_of_more_than_half_the_numbers_is_lost(tmp_path):
    lost = 40_000  # of 65,536: 800 s at 20 ms
    rows = [*stream(100, seq=60_000), *stream(100, lost * 20.0 + 2_000.0, 60_000 + lost + 100, (lost + 100) * TICKS)]
    trace = import_rtp(written(tmp_path, rows), sample_rate_hz=RATE_HZ).to_trace(10.0)
    assert (trace.one_way_delay_us == LOST).sum() == lost and len(trace.sent_us) == lost + 200


def test_packets_of_a_frame_have_the_delay_of_its_first(tmp_path):
    rows = []
    for frame in range(100):  # 33 ms apart at 90 kHz, four packets each, 3 ms apart; number 2 of frame 7 is lost
        rows += [(AT_S + frame * 0.033 + 0.003 * n, 4 * frame + n, 2_970 * frame) for n in range(4) if (frame, n) != (7, 2)]
    trace = import_rtp(written(tmp_path, rows), sample_rate_hz=90_000).to_trace(10.0)
    assert len(trace.sent_us) == 400 and np.flatnonzero(trace.one_way_delay_us == LOST).tolist() == [30]
    assert set(trace.one_way_delay_us.tolist()) == {LOST, 10_000}
    assert trace.sent_us[28:32].tolist() == [231_000] * 4


def test_order_and_copies_at_both_wraps(tmp_path):
    rows = stream(40, seq=65_520, timestamp=2**32 - 16 * TICKS)
    rows[15], rows[17] = (rows[15][0], *rows[17][1:]), (rows[17][0], *rows[15][1:])  # they change places across the wrap
    rows = sorted([*rows, *((at + 0.001, *numbers) for at, *numbers in rows[14:18])])  # and come twice
    made = import_rtp(written(tmp_path, rows), sample_rate_hz=RATE_HZ)
    assert sorted(made.sequence.tolist()) == list(range(40)) and made.sequence[15:18].tolist() == [17, 16, 15]
    assert np.ptp(made.to_trace(10.0).one_way_delay_us) < 90_000 and (made.timestamp == made.sequence * TICKS).all()


def test_each_stream_is_a_file_of_its_own_on_one_clock(tmp_path):
    one, other = stream(200), stream(150, begins_ms=300.0, seq=7, timestamp=10**9, delay_ms=60.0)
    rows = sorted([(*row, "0xabc") for row in one] + [(*row, "0xdef") for row in other])
    path = written(tmp_path, [row[:3] for row in rows], [row[3] for row in rows])
    form = Rtp(sample_rate_hz=RATE_HZ, floor_ms=10.0)
    with pytest.raises(DataError, match=r"output is 'x\.csv\.gz'; allowed: a folder for the 2 streams .* or format\.ssrc=0x00000abc"):
        form.imported(path, tmp_path / "x.csv.gz")
    made = form.imported(path, tmp_path / "streams")
    assert [file.output.name for file in made] == ["0x00000abc.csv.gz", "0x00000def.csv.gz"]
    first, second = (read_trace(file.output) for file in made)
    # The one that begins 300 ms later has 30 ms more of unknown delay.
    assert (second.start_us - first.start_us) / 1e3 == pytest.approx(330.0, abs=4.0)
    [alone] = Rtp(sample_rate_hz=RATE_HZ, floor_ms=10.0, ssrc="0xDEF").imported(path, tmp_path / "alone.csv.gz")
    assert alone.card.sha256 == made[1].card.sha256
