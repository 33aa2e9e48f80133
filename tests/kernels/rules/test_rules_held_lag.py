"""A lag that is held after a change to a faster path: a twin on plain lists, and a packet that it saves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.playout_lag import TwinJitter
from twins.standalone import levels
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.held_lag import HeldLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, PROBE, Record, path_history
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario


def decided_us(params, packets):
    """The lag after each of `packets`: kind, path, sent and arrived (us)."""
    state = allocate(params, 2, 3)
    init(params, state, 1, path_history(np.zeros((3, 3))), np.uint64(0))
    found = []
    for number, (kind, path, sent_us, arrived_us) in enumerate(packets):
        update(params, state, 1, Record(kind, number, path, sent_us, arrived_us, arrived_us, 0, 0))
        found.append(int(decide(params, state, 1, arrived_us)))
    return found


def twin(lags_us, packets, hold_us, margin_us):
    """The held lag from the lags of the rule within."""
    jitter, least_us, last_us, newest, holds, found = TwinJitter(), 0, 0, None, [], []
    for (kind, path, sent_us, arrived_us), lag_us in zip(packets, lags_us, strict=True):
        if kind == MEDIA:
            least_us, last_us = arrived_us - sent_us - jitter(sent_us, arrived_us), arrived_us
            if newest is None or sent_us > newest[1]:
                if newest is not None and path != newest[0] and arrived_us - sent_us < newest[2] - newest[1]:
                    lasting = [held_us for held_us, until_us in holds[-1:] if arrived_us < until_us]
                    holds.append((max([newest[2] - newest[1] + margin_us, *lasting]), arrived_us + hold_us))
                newest = path, sent_us, arrived_us
        lasting = [held_us - least_us for held_us, until_us in holds[-1:] if last_us < until_us]
        found.append(max([lag_us, *lasting]))
    return found


@st.composite
def arrivals(draw):
    """Packets of three paths with delays up to three seconds, ties, gaps and probes, in order of arrival."""
    spacing = draw(st.sampled_from([10_000, 10_000, 300_000]))
    kinds = st.tuples(st.sampled_from([MEDIA, MEDIA, MEDIA, PROBE]), st.integers(0, 2))
    delays = st.sampled_from([0, 1, 999, 9_999, 35_000, 120_000, 500_000, 3_000_000])
    drawn = draw(st.lists(st.tuples(kinds, delays), min_size=1, max_size=60))
    packets = [(spacing * k + delay, spacing * k, kind, path) for k, ((kind, path), delay) in enumerate(drawn)]
    return [(kind, path, sent, arrived) for arrived, sent, kind, path in sorted(packets)]


@pytest.mark.parametrize("within", [FixedLag(20.0), AdaptiveEwma(0.9)], ids=lambda rule: type(rule).__name__)
@given(packets=arrivals(), hold_ms=st.sampled_from([0.0, 30.0, 250.0, 5000.0]), margin_ms=st.sampled_from([0.0, 15.0]))
def test_lags_equal_the_twin(within, packets, hold_ms, margin_ms):
    found = decided_us(HeldLag(within, hold_ms, margin_ms), packets)
    assert found == twin(decided_us(within, packets), packets, int(1000 * hold_ms), int(1000 * margin_ms))


def test_the_old_path_is_waited_for():
    """At 200 ms the path changes from one of 100 ms to one of 40 ms: 40 + 75 ms reach the old path's delay and 15 ms more."""
    sent = [10_000 * k for k in range(60)]
    packets = [(MEDIA, int(k >= 20), us, us + (40_000 if k >= 20 else 100_000)) for k, us in enumerate(sent)]
    packets.sort(key=lambda packet: packet[3])
    lags = decided_us(HeldLag(FixedLag(20.0)), packets)
    held = [lag == 75_000 for lag in lags]
    first = next(i for i, packet in enumerate(packets) if packet[1] == 1)
    assert set(lags) == {20_000, 75_000}
    assert all(held[i] == (i >= first and packet[3] < 240_000 + 250_000) for i, packet in enumerate(packets))


def test_a_change_to_a_slower_path_holds_nothing():
    packets = [(MEDIA, k // 20, 10_000 * k, 10_000 * k + 30_000 * (1 + k // 20)) for k in range(60)]
    assert set(decided_us(HeldLag(FixedLag(20.0)), packets)) == {20_000}


def test_without_a_path_it_is_the_rule_within():
    rng = np.random.default_rng(6)
    sent = 10_000 * np.arange(400)
    arrived = np.sort(sent + rng.exponential(30_000, sent.size).astype(np.int64))
    assert levels(HeldLag(WMJitter()), sent, arrived).tolist() == levels(WMJitter(), sent, arrived).tolist()


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_calls_conceal_less():
    """Greedy changes paths all the time; held, the same lag discards fewer of the packets that it overtakes, so less is concealed."""
    scenario, missed = Scenario("wonderproxy", "correlated", 3000), []
    for receiver in (FixedLag(20.0), HeldLag(FixedLag(20.0))):
        batch = CallBatch(scenario, 4, Greedy(), receiver)
        for row in range(4):
            batch.start(row, scenario.draw("train", row))
        batch.play(np.arange(4))
        missed.append(int(batch.totals().ticks_concealed.sum()))
    assert missed[1] < missed[0]
