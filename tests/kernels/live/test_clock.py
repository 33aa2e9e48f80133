"""Steps of the machine's clock: the parties of a call do not see them, a relay stays open."""

import contextlib
import time
from collections import Counter

import numpy as np
import pytest

from vcgym.baselines.systems import load_system
from vcgym.live.call.audio import tones
from vcgym.live.call.parties import play_live
from vcgym.live.call.policies import of_system
from vcgym.live.call.sender import LiveSender
from vcgym.live.protocol import nodes
from vcgym.live.protocol.wire import DatagramKind, Header, route, session_key, write
from vcgym.live.relay import Limits, Relay
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario

HOUR_US = 3_600_000_000
STEPS = {"back by an hour": -HOUR_US, "forward by an hour": HOUR_US, "back by a second": -1_000_000}
steps = pytest.mark.parametrize("step_us", STEPS.values(), ids=STEPS)


class Stepping:
    """The module `time`, with a clock since 1970 that can be stepped."""

    def __init__(self):
        self.step_us = 0

    def time_ns(self):
        return time.time_ns() + 1000 * self.step_us

    def __getattr__(self, name):
        return getattr(time, name)


@pytest.fixture
def stepping(monkeypatch):
    stepping = Stepping()
    monkeypatch.setattr(nodes, "time", stepping)
    return stepping


@steps
def test_a_steady_clock_does_not_step(stepping, step_us):
    clock = nodes.steady_clock()
    before_us = clock()
    assert abs(before_us - nodes.unix_us()) < 500_000
    stepping.step_us = step_us
    assert 0 <= clock() - before_us < 500_000 < abs(nodes.unix_us() - before_us)


@steps
def test_a_datagram_that_arrived_before_a_step_has_a_time_near_now(stepping, step_us):
    clock = nodes.steady_clock()
    with contextlib.ExitStack() as opened:
        sender, receiver = (opened.enter_context(nodes.open_socket()) for _ in range(2))
        before_us = clock()
        sender.sendto(b"x", receiver.getsockname())
        stepping.step_us = step_us
        arrived = [arrived_us for _ in range(100) for _, _, arrived_us in nodes._waiting(receiver, clock)]
        assert len(arrived) == 1 and abs(arrived[0] - before_us) <= max(clock() - before_us, abs(step_us) if abs(step_us) < HOUR_US else 0)


@steps
def test_a_relay_forwards_at_its_rate_after_a_step(step_us):
    secret, hops = bytes(32), route(("10.0.0.1", 1), ("10.0.0.2", 2))
    relay, sent = Relay(secret, 0, Limits(burst_packets=2.0)), Counter()
    for number in range(400):
        now_us = 2 * HOUR_US + number * SLOT_US + (step_us if number >= 200 else 0)
        datagram = write(Header(DatagramKind.MEDIA, 0, 1, number, now_us, hops), b"", session_key(secret, 1))
        sent[number >= 200] += len(list(relay.receive(datagram, ("10.0.0.3", 3), now_us)))
    assert sent == {False: 200, True: 200}


@pytest.mark.realtime
@steps
def test_a_call_goes_on_over_a_step(stepping, monkeypatch, step_us):
    packets, sent = 300, Counter()
    wake = LiveSender.wake

    def counted(self, now_us):
        given = list(wake(self, now_us))
        sent["most at once"] = max(sent["most at once"], len(given))
        return given

    def step(parties):
        if len(parties[0].sender.paths) >= packets // 2:
            stepping.step_us = step_us

    monkeypatch.setattr(LiveSender, "wake", counted)
    scenario = Scenario("wonderproxy", "correlated", packets)
    (call,) = play_live(scenario, [(of_system(load_system("GRD-WM")), scenario.draw("validation", 1))], tones(1.0), watch=step)
    assert stepping.step_us == step_us and sent["most at once"] < packets // 4
    assert np.mean(call.played.played_us[0] >= 0) > 0.9
