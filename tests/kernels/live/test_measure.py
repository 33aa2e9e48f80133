"""Measured delays equal those of the emulated world, and are a scenario at once."""

import threading
from contextlib import ExitStack

import numpy as np
import pytest

from vcgym.live.emulator import EmulatedWorld, Emulator
from vcgym.live.measure import WAIT_US, MeasuredDelays, Prober, measure_pairs, write_traces
from vcgym.live.protocol.nodes import NEVER_US, open_socket, serve, unix_us
from vcgym.live.relay import Relay
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario

SECRET, OWN, EMULATOR, RELAY = b"secret", ("127.0.0.1", 1), ("127.0.0.1", 2), ("127.0.0.1", 3)


def test_probes_of_emulated_paths_find_their_delays():
    draws = np.random.default_rng(0)
    world = EmulatedWorld(draws.integers(1000, 50_000, (3, 200)).astype(np.int32), np.zeros((3, 3)), 0, 0)
    world.delay_us[1, 50:60] = LOST
    prober = Prober(SECRET, [[EMULATOR, RELAY, OWN]] * 3, 100, 200, 0)
    nodes = {OWN: prober, EMULATOR: Emulator(SECRET, world, 0), RELAY: Relay(SECRET, 0)}
    now_us = 0
    while prober.due_us != NEVER_US:
        waiting = [(address, sent) for address, node in nodes.items() if node.due_us <= now_us for sent in node.wake(now_us)]
        while waiting:
            source, (datagram, address) = waiting.pop()
            waiting += [(address, sent) for sent in nodes[address].receive(datagram, source, now_us)]
        now_us = max(min(node.due_us for node in nodes.values()), now_us)
    np.testing.assert_array_equal(prober.delay_us, world.delay_us)
    assert now_us >= 199 * SLOT_US + WAIT_US


@pytest.mark.realtime
def test_pairs_are_measured_over_sockets():
    stop = threading.Event()
    with ExitStack() as opened:
        sockets = [opened.enter_context(open_socket()) for _ in range(3)]
        relays = [(one, Relay(SECRET, unix_us())) for one in sockets]
        network = threading.Thread(target=serve, args=(relays, stop.is_set))
        network.start()
        try:
            measured = measure_pairs(SECRET, [one.getsockname() for one in sockets], 20, 7)
        finally:
            stop.set()
            network.join()
    assert measured.delay_us.shape == (6, 20) and len(set(measured.names)) == 6
    assert np.mean(measured.delay_us != LOST) > 0.9 and measured.delay_us.max() < 3_000_000
    assert all(relay.counts["forwarded"] == 5 * 20 for _, relay in relays)


def test_traces_are_a_scenario_at_once(tmp_path):
    delay_us = np.full((2, 6000), 40_000)
    delay_us[1] += 10_000
    delay_us[1, 3000:3100] = LOST
    files = write_traces(MeasuredDelays(["a", "b", "c"], np.vstack([delay_us, np.full((1, 6000), LOST)]), "method"), tmp_path, "a test")
    assert [file.name for file in files] == ["a.csv.gz", "b.csv.gz"]
    scenario = Scenario("replay", "replay", 100, traces=str(tmp_path))
    world = scenario.world(1)
    history = world.start(0, scenario.draw("train", 0))
    assert history[:, 1] == pytest.approx([40.0, 50.0])
    with pytest.raises(ValueError, match="existing"):
        write_traces(MeasuredDelays(["a"], delay_us[:1], "method"), tmp_path, "a test")
