"""Parts of test cases: calls with the rules of the first, reports behind a bottleneck, pauses, TCP that sends files, and their metrics."""

from typing import NamedTuple

import numpy as np
import pytest
from sending import logs_of, play

from vcgym.baselines.controls.control import PACING
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.oracle_rate import OracleRate
from vcgym.baselines.rule import Control, Rows, rule
from vcgym.envs.call.sender.batch import PlayedFlow, SendingBatch, SendingTotals, Worlds
from vcgym.envs.call.sender.effects import Requests
from vcgym.envs.call.sender.reports import REPORT_BYTES
from vcgym.envs.call.sender.state import LOGGED
from vcgym.leaderboard.results.kinds import RMCAT
from vcgym.leaderboard.results.sender_metrics import case_metrics
from vcgym.network.bottleneck.capacity.capacity import constant, pool
from vcgym.network.bottleneck.cross_traffic import allocate_dumbbell, run_flows, start_flows
from vcgym.network.bottleneck.flow import Tcp, describe_flow
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.queue import allocate_queue, offer, require_limits, start_link
from vcgym.network.bottleneck.shared_link import Reverse, SharedLink
from vcgym.network.bottleneck.sharing import jain

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

FORWARD = constant(1.2e6)


@rule(Control.RATE, told=Rows(np.int64, 9000))
class Told(NamedTuple):
    """A fixed rate that keeps when each packet was told of."""

    kbps: float = 900.0

    def update(self, told, record):
        told[record.packet] = record.known_us

    def decide(self, told, now_us):
        return 1000.0 * self.kbps


def test_calls_with_the_rules_of_the_first_are_as_calls_that_name_them():
    link, logs = SharedLink("x", 5, FORWARD, seconds=12.0, queue_packets=40), []
    for name in ("gcc_webrtc", SAME):
        others = (OtherCall(name, pacing=PACING, starts_s=1.0), OtherCall(name, pacing=PACING, starts_s=2.5, forward_ms=70.0))
        batch = play(link._replace(flows=others), GccWebrtc())
        logs.append([log.tolist() for log in logs_of(batch)])
    assert logs[0] == logs[1]
    flows = batch.flows(0)
    assert [(flow.starts_s, flow.link.seconds, len(flow.log)) for flow in flows[1:]] == [
        (1.0, 11.0, len(logs[1][1])), (2.5, 9.5, len(logs[1][2])),
    ]  # fmt: skip
    assert [flow.totals.sent[flow.row].sum() for flow in flows] == [len(log) for log in logs[1]]


def test_reports_through_a_wide_bottleneck_are_a_microsecond_late():
    link, wide = SharedLink("x", 5, FORWARD, seconds=10.0, queue_packets=40), constant(1e11)
    plain = play(link, GccWebrtc()).log(0)
    through = play(link._replace(reverse=Reverse(wide), backward_ms=24.999), GccWebrtc()).log(0)
    assert through.tolist() == plain.tolist()


def test_reports_wait_behind_the_media_of_the_way_back():
    """Each is back when a queue, offered the media of the way back and the reports in order of time, has let it out."""
    narrow = constant(0.8e6)
    link = SharedLink("x", 5, FORWARD, seconds=6.0, queue_packets=40, reverse=Reverse(narrow, 40_000))
    link = link._replace(flows=(OtherCall(SAME, backwards=True),))
    batch = play(link, Told())
    back, told = batch.log_of_other(0, 0), batch.rate_state.told[0, : len(batch.log(0))]
    queue, capacity = allocate_queue(1), pool([narrow], 1)
    start_link(queue, capacity, 0, *require_limits(8192, 40_000))
    reports_us = np.arange(50_000, 6_000_000, 50_000)
    # Other calls have their turn first at equal instants.
    offers = sorted([(at_us, 0, size) for at_us, size in zip(back["sent_us"], back["size_bytes"], strict=True)])
    offers = sorted([*offers, *((at_us, 1, REPORT_BYTES) for at_us in reports_us)])
    out_us = [(offer(queue, capacity, 0, at_us, size), kind) for at_us, kind, size in offers]
    media_us = [-1 if at_us < 0 else at_us + 25_000 for at_us, kind in out_us if kind == 0]
    known_us = [at_us + 25_000 for at_us, kind in out_us if kind == 1 and at_us >= 0]
    assert back["arrived_us"].tolist() == media_us
    seen = np.unique(told[told > 0])
    assert set(seen.tolist()) <= set(known_us)
    assert len(seen) > 0.8 * sum(at_us < 6_000_000 for at_us in known_us)
    assert max(known_us - reports_us[: len(known_us)]) > 300_000


def test_nothing_is_captured_in_a_pause():
    link = SharedLink("x", 5, FORWARD, seconds=12.0, queue_packets=40, flows=(OtherCall(SAME, starts_s=1.0, pauses_s=((3.0, 5.0),)),))
    batch = play(link._replace(pauses_s=((0.0, 2.0), (6.0, 7.5))), Told(300.0))
    for log, pauses_s in ((batch.log(0), ((0.0, 2.0), (6.0, 7.5))), (batch.log_of_other(0, 0), ((3.0, 5.0),))):
        created_s = np.unique(log["created_us"]) / 1e6
        gaps = [(round(a, 1), round(b, 1)) for a, b in zip([0.0, *created_s], [*created_s, 12.0], strict=True) if b - a > 0.1]
        assert gaps == [*(((0.0, 1.0),) if pauses_s[0][0] else ()), *pauses_s]


@pytest.mark.parametrize("rate", [FromAgent(effect=Requests()), OracleRate()])
def test_who_cannot_decide_for_several_calls_is_refused(rate):
    with pytest.raises(ValueError, match=r"rate = .*: allowed are rules"):
        SendingBatch(1, rate, Fifo(), Worlds([FORWARD], 1, 1, same=True))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"flows": (OtherCall(SAME),)}, "rate of an OtherCall is 'same' or not; the batch was made for same = False"),
        ({"reverse": Reverse(FORWARD)}, "reverse = Reverse.*the batch was made for reverse = False"),
    ],
)
def test_worlds_that_a_batch_was_not_made_for(changed, message):
    batch = SendingBatch(1, FixedRate(), Fifo(), Worlds([FORWARD], 1, 1))
    with pytest.raises(ValueError, match=message):
        batch.start(0, SharedLink("x", 1, FORWARD)._replace(**changed))


def test_tcp_sends_files_and_is_idle_between_them():
    bell = allocate_dumbbell([constant(1e9)], 1, 1)
    start_link(bell.queue, bell.capacity, 0, *require_limits(8192))
    bell.flows.flow[0, 0] = describe_flow(Tcp("cubic", file_bytes=(100_000, 1_000_000), idle_s=1.0))
    start_flows(bell, 0, np.uint64(3))
    files, flow = [], bell.flows.flow[0]
    for second in range(1, 4001):
        run_flows(bell, 0, second * 1_000_000)
        files.append(int(flow["until"][0]))
    sizes = np.diff(np.unique(files)) * 1500
    missing = int(flow["connection"]["first_missing"][0])
    assert flow["until"][0] - 667 <= missing <= flow["until"][0]
    # A file of 550 kB on average takes 4 to 6 round trips of 40 ms at this rate.
    done = missing * 1500 / 550_000
    assert 4000 / 1.26 < done < 4000 / 1.16
    assert sizes.min() >= 100_000
    assert flow["dropped"][0] == flow["connection"]["retransmitted"][0] == 0


def flow(rates_kbps, starts_s=0.0, backwards=False):
    """One packet of each second's bits in its middle, 80 ms after capture."""
    link = SharedLink("x", 1, constant(2e6), seconds=float(len(rates_kbps)), forward_ms=50.0)
    log = np.zeros(len(rates_kbps), LOGGED)
    log["created_us"] = log["sent_us"] = 500_000 + 1_000_000 * np.arange(len(rates_kbps))
    log["arrived_us"], log["size_bytes"] = log["created_us"] + 80_000, np.array(rates_kbps) * 125
    count = np.array([[len(rates_kbps), 0]])
    totals = SendingTotals(*(count if name in ("created", "sent", "delivered", "on_time") else 0 * count for name in SendingTotals._fields))
    return PlayedFlow(link, log, totals, 0, np.full(len(rates_kbps) + 1, 1e6), starts_s, backwards)


def test_metrics_of_a_case_by_hand():
    link = flow([900] * 60).link._replace(flows=(OtherCall(SAME, starts_s=20.0),))
    flows = [one._replace(link=one.link._replace(flows=link.flows)) for one in (flow([900] * 60), flow([300] * 40, starts_s=20.0))]
    found = case_metrics(link, flows)
    assert found.keys() == RMCAT.metric.keys()
    assert jain([3.0, 1.0]) == 0.8
    assert found["jain"] == pytest.approx(0.8)
    assert found["throughput_kbps"] == pytest.approx(600.0)
    assert found["utilisation"] == pytest.approx((900 * 60 + 300 * 40) / (2000 * 60))
    assert found["delay_p99_ms"] == found["delay_p95_ms"] == 80.0
    assert found["lost"] == found["settling_s"] == 0.0
    assert np.isnan(found["capacity_error"]) and np.isnan(found["overestimate"])
    assert found["utility"] == pytest.approx((0.6 * np.log(4.6) + 0.6 * np.log(2.2)) / 2 - 0.03)
    ramp = flow([100 * min(i, 10) for i in range(40)])  # 5 s of it are at 800 kbit/s or above from 6 to 10 s on
    assert case_metrics(ramp.link, [ramp])["settling_s"] == 6.0
    assert case_metrics(ramp.link, [ramp])["jain"] == 1.0
    assert case_metrics(ramp.link, [ramp])["capacity_error"] == 0.25  # 1 of 2 Mbit/s
