"""SCReAM, both versions: acknowledgements, and the whole against plain twins."""

import numpy as np
import pytest
from sending import play

from twins.reports import drawn_reports
from twins.scream import PlainScreamV1, PlainScreamV2
from vcgym.baselines.rate.scream.report import Acks, clear_report, close_report, on_packet
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.records import PacketFeedback, RateLimits, SenderStatus
from vcgym.baselines.rule import allocate, decide, init, pacing, reads_marks, report_every_us, see_sender, update, wake_us, window_bytes
from vcgym.baselines.systems import load_system
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Encoder
from vcgym.network.kernels.record import records

V1, V2 = ScreamV1(), ScreamV2()


def test_queuing_delay_is_above_the_least_of_ten_minutes():
    acks = records(Acks, 1)[0]
    for minute, delay_us in enumerate((30_000, 20_000, *[50_000] * 10, 55_000)):
        at_us = minute * 60_000_000
        on_packet(acks, PacketFeedback(minute, 1000, at_us, at_us + delay_us, at_us + 100_000))
        close_report(acks, at_us + 100_000)
        clear_report(acks)
        assert acks.queuing_us == delay_us - (30_000 if minute == 0 else 20_000 if minute < 11 else 50_000)
    assert acks.acked_bytes == acks.sent_bytes == 13_000


@pytest.mark.parametrize(("params", "plain"), [
    (V1, PlainScreamV1), (V1._replace(competes=False, mss_bytes=1200.0, resumes_after_s=1.0), PlainScreamV1), (V2, PlainScreamV2),
    (V2._replace(l4s=True), PlainScreamV2), (V2._replace(competes=False, min_window_bytes=500.0), PlainScreamV2),
], ids=["v1", "v1 alone", "v2", "v2 l4s", "v2 alone"])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_whole_equals_its_twin(params, plain, seed):
    state, twin = allocate(params, 1, 1), plain(params, 300e3, 50e3, 4e6)
    init(params, state, 0, RateLimits(300e3, 50e3, 4e6), np.uint64(1))
    found, wanted = [], []
    for packets, news, known_us in drawn_reports(seed):
        for one in packets:
            update(params, state, 0, one)
        see_sender(params, state, 0, news)
        found.append((decide(params, state, 0, known_us), window_bytes(params, state, 0), pacing(params, state, 0, 1.0)))
        rate_bps, window, pace = twin.report(packets, news)
        wanted.append((int(rate_bps), int(window), pace))
    assert len({rate for rate, _, _ in wanted}) > 20
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1.0)


@pytest.mark.parametrize("params", [V1, V2], ids=["v1", "v2"])
def test_a_sender_that_hears_nothing_may_send_again(params):
    """3,000 bytes are under way and no report comes: after 500 ms they no longer count, until the next report."""
    state = allocate(params, 1, 1)
    init(params, state, 0, RateLimits(300e3, 50e3, 4e6), np.uint64(1))
    first = window_bytes(params, state, 0)
    assert first == (4000 if params is V1 else 4500)
    see_sender(params, state, 0, SenderStatus(0, 3000, 3000, 0, 0, 0))
    assert wake_us(params, state, 0) == 500_000
    decide(params, state, 0, 500_000)  # it has been sending
    assert (window_bytes(params, state, 0), wake_us(params, state, 0)) == (first, 1_000_000)
    decide(params, state, 0, 1_000_000)
    assert window_bytes(params, state, 0) == first + 3000
    for n in range(3):
        update(params, state, 0, PacketFeedback(n, 1000, 1000 * n, 1_030_000 + n, 1_060_000))
    assert decide(params, state, 0, 1_060_000) >= 50_000
    assert window_bytes(params, state, 0) < first + 3000
    assert wake_us(params, state, 0) == 1_560_000
    assert reads_marks(params, state, 0)


@pytest.mark.long  # compiles two loops that no other quick test needs
@pytest.mark.parametrize("system", ["SCREAM-V1", "SCREAM-V2"])
@pytest.mark.parametrize("frames_per_s", [24.0, 25.0, 30.0, 50.0, 60.0])
def test_an_empty_link_is_used_at_every_frame_rate(system, frames_per_s):
    """A frame that has just been captured is no standing queue, even if adjustments and captures fall together."""
    which = load_system(system)
    video = Encoder(frames_per_s=frames_per_s, lag_ms=0.0, spread=0.0, key_every=0)
    link = SharedLink("x", 0, constant(5e6), queue_packets=8192, video=video, audio=None, rates_kbps=(300.0, 50.0, 6000.0), seconds=100.0)
    assert play(link, which.rate, which.order, which.pacing).tables.targets[0, 50:100].min() > 4.2e6


def test_reports_are_as_frequent_as_the_documents_say():
    for params, rates in ((V1, {10e3: 400_000, 300e3: 33_333, 2e6: 20_000}), (V2, {10e3: 33_333, 2e6: 20_000, 4e6: 10_000})):
        for start_bps, every_us in rates.items():
            state = allocate(params, 1, 1)
            init(params, state, 0, RateLimits(start_bps, 1e3, 4e6), np.uint64(1))
            assert report_every_us(params, state, 0, 50_000) == every_us


def test_a_maximum_target_below_the_minimum_one_is_refused():
    with pytest.raises(ValueError, match=r"ScreamV1\.target_high_ms is 50\.0; allowed range is \[100\.0, 10000\.0\]"):
        allocate(V1._replace(target_high_ms=50.0), 1, 1)
