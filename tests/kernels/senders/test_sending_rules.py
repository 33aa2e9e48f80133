"""The fixed rate, and the oracle that knows the capacity."""

import numpy as np
import pytest
from sending import play

from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.oracle_rate import OracleRate
from vcgym.baselines.records import PacketFeedback, RateLimits, SenderStatus
from vcgym.baselines.rule import allocate, decide, init, is_oracle, report_every_us, see_capacity, see_sender, update, wake_us
from vcgym.network.bottleneck.capacity.capacity import constant, pool, steps
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Timeline

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

HISTORY = np.array([[300e3, 50e3, 4e6]])


def test_fixed_rate_stays():
    rule = FixedRate(700.0)
    state = allocate(rule, 1, 1)
    init(rule, state, 0, RateLimits(*HISTORY[0]), np.uint64(0))
    update(rule, state, 0, PacketFeedback(0, 1200, 0, -1, 100))
    assert decide(rule, state, 0, 5) == 700_000
    assert not is_oracle(rule)
    with pytest.raises(ValueError, match="rate_kbps is 0"):
        allocate(FixedRate(0.0), 1, 1)


@pytest.mark.parametrize(
    ("ahead_ms", "shares"),
    [(0.0, (0.3, 1.0, 1.0, 1.5, 2.0)), (100.0, (1.0, 1.0, 1.5, 2.0, 1.5)), (500.0, (1.0, 1.4, 1.9, 2.0, 1.1))],
)  # fmt: skip
def test_oracle_is_told_the_mean_capacity_ahead(ahead_ms, shares):
    rule, capacity = OracleRate(0.5, ahead_ms), pool([steps("x", [(0.0, 1.0), (1.0, 2.0)], 2.0)], 1)
    state = allocate(rule, 1, 1)
    init(rule, state, 0, RateLimits(*HISTORY[0]), np.uint64(0))
    assert wake_us(rule, state, 0) == 0
    assert report_every_us(rule, state, 0, 50_000) == 50_000
    for now_us, share in zip((0, 700_000, 950_000, 1_050_000, 1_950_000), shares, strict=True):
        see_capacity(rule, state, 0, capacity, now_us)
        assert decide(rule, state, 0, now_us) == pytest.approx(0.5e6 * share, abs=1)
        assert wake_us(rule, state, 0) == now_us + 100_000
    assert is_oracle(rule)
    assert not is_oracle(GccWebrtc())


def test_oracle_drains_what_it_captured_and_the_capacity_did_not_carry():
    rule, capacity = OracleRate(drain_ms=200.0), pool([steps("x", [(0.0, 1.0)], 2.0)], 1)
    state = allocate(rule, 1, 1)
    init(rule, state, 0, RateLimits(*HISTORY[0]), np.uint64(0))
    # 1 Mbit/s carries 12,500 bytes in a tenth of a second; 15,000 sent and 2,500 waiting leave 5,000, which ask for 0.2 Mbit/s.
    told = ((0, 0, 0, 1e6), (100_000, 15_000, 2_500, 0.8e6), (200_000, 25_000, 5_000, 0.8e6), (400_000, 30_000, 0, 1e6))
    for now_us, sent, waiting, bps in told:
        see_capacity(rule, state, 0, capacity, now_us)
        see_sender(rule, state, 0, SenderStatus(waiting, sent + waiting, sent, 0, 0, 33_333))
        assert decide(rule, state, 0, now_us) == pytest.approx(bps, abs=1)


def test_oracle_follows_the_capacity():
    link = SharedLink("x", 3, steps("x", [(0.0, 2.0), (20.0, 0.5), (40.0, 3.0)], 60.0))
    batch = play(link, OracleRate())
    assert batch.tables.targets[0, [5, 30, 50]] == pytest.approx([2e6, 0.5e6, 3e6], rel=0.2)
    log = batch.log(0)
    assert np.mean(log["arrived_us"] < 0) < 0.01
    transit_ms = (log["arrived_us"] - log["sent_us"])[log["arrived_us"] >= 0] / 1000.0
    assert np.median(transit_ms) - link.forward_ms < 30.0  # no standing queue


def test_what_is_captured_before_the_count_begins_is_played_but_not_counted():
    whole = SharedLink("x", 3, constant(0.4e6), video=Timeline(), send_queue=5, flows=(Tcp(size_bytes=519),), seconds=20.0)
    late = whole._replace(counts_from_s=7.0)
    of_whole, of_late = play(whole, FixedRate(400.0)), play(late, FixedRate(400.0))
    log = of_whole.log(0)
    assert log.tolist() == of_late.log(0).tolist()
    counted = log[log["created_us"] >= 7_000_000]
    counts = of_late.totals()
    for kind in (0, 1):
        of_kind = counted[counted["kind"] == kind]
        assert counts.sent[0, kind] == len(of_kind)
        assert counts.delivered[0, kind] == np.count_nonzero(of_kind["arrived_us"] >= 0)
        heard = of_kind[of_kind["arrived_us"] >= 0]
        assert counts.on_time[0, kind] == np.count_nonzero(heard["arrived_us"] - heard["created_us"] <= 200_000)
    assert counts.created[0, 1] == 13 * 50
    assert of_whole.totals().created[0, 1] == 20 * 50
    assert counts.rejected.sum() > 0


def test_a_sender_that_hears_nothing_waits():
    """A minute without capacity: no more than so many packets are on their way, and the call ends."""
    link = SharedLink("x", 3, steps("x", [(0.0, 4.0), (1.0, 0.001)], 300.0), seconds=120.0, queue_packets=8192)
    batch = play(link, FixedRate(4000.0))
    assert batch.senders["packets"][0] - batch.senders["reported"][0] == 0  # settled at the end
    counts = batch.totals()
    assert counts.created.sum() > counts.sent.sum() > 8000
    assert (counts.rejected + counts.sent).sum() + batch.senders["queue"]["waiting"][0] == counts.created.sum()
