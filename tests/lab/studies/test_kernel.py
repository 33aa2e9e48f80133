"""Short runs over a queue of the kernel, beside the simulator; the namespaces end with the run."""

import os
from pathlib import Path

import numpy as np
import pytest

from lab.studies.live_kernel.comparison import KernelCase, MeasuredFlows, case, play, simulate
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.systems import System, load_system

pytestmark = pytest.mark.namespaces


def fullest(chosen: KernelCase, enough_bps: float) -> MeasuredFlows:
    """Play up to five times; a timer that is late only takes from a link, so the fullest run is the least disturbed."""
    found: list[MeasuredFlows] = []
    while len(found) < 5 and max((one.bps.sum() for one in found), default=0.0) < enough_bps:
        found.append(play(chosen))
    return max(found, key=lambda one: one.bps.sum())


def test_cubic_and_a_call_share_the_kernel_s_queue_as_the_simulator_s():
    chosen = case(System(FixedRate(1500.0), Fifo(), pacing=2.5), 3e6, 60.0, ("cubic",), 6.0, 1.0)
    before = os.readlink("/proc/thread-self/ns/net"), sorted(os.listdir("/sys/class/net")), len(os.listdir("/proc/self/fd"))
    real, model = fullest(chosen, 0.97 * 3e6), simulate(chosen, 8)
    assert real.bps == pytest.approx(np.mean([one.bps for one in model], axis=0), rel=0.1)
    assert real.mean_ms == pytest.approx(np.mean([one.mean_ms for one in model]), rel=0.25)
    assert (os.readlink("/proc/thread-self/ns/net"), sorted(os.listdir("/sys/class/net")), len(os.listdir("/proc/self/fd"))) == before
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_gcc_by_the_same_rule_fills_the_kernel_s_link():
    chosen = case(load_system("GCC-WEBRTC"), 1e6, 200.0, (), 7.0, 4.0)
    (model,) = simulate(chosen, 1)
    real = fullest(chosen, 0.95 * model.bps[0])
    assert real.bps[0] == pytest.approx(model.bps[0], rel=0.1)
    assert real.bps[0] > 0.4e6


def test_a_queue_that_iproute2_refuses_is_an_error_that_leaves_nothing():
    chosen = case(load_system("FIXED"), 1e6, 200.0, (), 7.0, 4.0)
    before = os.readlink("/proc/thread-self/ns/net")
    with pytest.raises(RuntimeError, match="tc qdisc add"):
        play(chosen._replace(link=chosen.link._replace(queue_bytes=0)))
    assert os.readlink("/proc/thread-self/ns/net") == before
    assert Path("/sys/class/net/lo").exists()
