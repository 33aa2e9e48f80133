"""Packets of a conference: equal to a plain simulator packet for packet, and invariants."""

import numpy as np
import pytest

from twins.conference import TwinConference
from vcgym.conference.network.cross_traffic import CrossTraffic
from vcgym.conference.network.forwarding import advance, send_message
from vcgym.conference.network.links import NEVER_US, PACKET, allocate_clock, earliest, set_next, stop_clock
from vcgym.conference.network.network import MESSAGES, PACKET_BYTES, allocate_network, start_network
from vcgym.conference.network.topology import WHERE, PhysicalLink, Topology, dumbbell, overlay, random_topology
from vcgym.conference.network.trees import Allocation, follow, source_of, tree_through
from vcgym.conference.optimum.oracle_lp import oracle_lp
from vcgym.conference.rules.planned import mutualcast

SEED = np.uint64(7)


def started(network, cross=(), log=0):
    net = allocate_network(network, cross, log)
    start_network(net, SEED)
    return net, np.zeros(1, PACKET)


def scaled(allocation, by):
    return allocation._replace(rates_kbps=allocation.rates_kbps * by)


def set_plans(twin, allocation, now_us):
    """The plans that `follow` makes, for the twin."""
    for m in range(allocation.parties):
        own = [k for k, tree in enumerate(allocation.trees) if source_of(tree) == m and allocation.rates_kbps[k] > 0.0]
        own.sort(key=lambda k: -allocation.rates_kbps[k])
        rates = allocation.rates_kbps[own]
        twin.set_plan(m, [allocation.trees[k] for k in own], list(rates / rates.sum()), float(rates.sum()), now_us)


@pytest.mark.parametrize(("seed", "load"), [(0, 0.9), (1, 1.0), (2, 1.3), (3, 2.0)])
def test_packets_equal_those_of_the_twin(seed, load):
    """Rates of the optimum times a load, cross traffic, other trees in the middle, a link that is down, a party that leaves."""
    topology = random_topology(seed, 3 + seed, WHERE[seed % 2])
    network = overlay(topology)
    cross = [(seed, CrossTraffic(*topology.links[seed][:2], 200.0, 1.0, 3.0))]
    net, scratch = started(network, cross, log=200_000)
    twin = TwinConference(network, cross, SEED)
    first, second = scaled(oracle_lp(network).allocation, load), scaled(mutualcast(network), load)

    def until(at_us):
        advance(net, scratch, at_us)
        twin.run(at_us)

    for allocation in (first, second):
        now_us = 0 if allocation is first else 2_000_000
        follow(net, allocation, now_us, SEED)
        set_plans(twin, allocation, now_us)
        until(now_us + 1_000_000)
        net.links["down"][0] = twin.links[0].down = True
        until(now_us + 1_500_000)
        net.links["down"][0] = twin.links[0].down = False
        until(now_us + 2_000_000)
    net.present[1] = False
    twin.present.remove(1)
    until(5_000_000)
    assert net.logged[0] > 500
    assert [tuple(entry) for entry in net.log[: net.logged[0]].tolist()] == twin.log
    for field in ("entered", "dropped", "cut"):
        assert net.links[field].tolist() == [getattr(link, field) for link in twin.links]


@pytest.mark.parametrize("seed", range(3))
def test_repairs_equal_those_of_the_twin(seed):
    """Every second to every packet of a session is followed by a coded one; links are overloaded."""
    network = overlay(random_topology(seed, 4, WHERE[seed % 2]))
    net, scratch = allocate_network(network, log=200_000, recovers=True), np.zeros(1, PACKET)
    start_network(net, SEED)
    shares = np.array([0.5, 0.7, 0.3, 1.0])
    net.repairs.share[:] = shares[:, None, None, None]
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    twin = TwinConference(network, (), SEED, {(m, *pair): shares[m] for m in range(4) for pair in pairs})
    allocation = scaled(oracle_lp(network).allocation, 0.9)
    follow(net, allocation, 0, SEED)
    set_plans(twin, allocation, 0)
    advance(net, scratch, 4_000_000)
    twin.run(4_000_000)
    assert [tuple(entry) for entry in net.log[: net.logged[0]].tolist()] == twin.log
    assert net.repairs.counts[1] == twin.repaired > 0
    for field in ("entered", "dropped"):
        assert net.links[field].tolist() == [getattr(link, field) for link in twin.links]
    copies = net.log[: net.logged[0]][["session", "receiver", "number"]]
    assert len(np.unique(copies)) == len(copies)  # nobody gets a packet twice


@pytest.mark.parametrize("seed", range(4))
def test_conservation_capacity_order_and_no_packet_twice(seed):
    network = overlay(random_topology(seed, 4 + seed, WHERE[seed % 2]))
    net, scratch = started(network, log=300_000)
    follow(net, scaled(oracle_lp(network).allocation, 1.2), 0, SEED)
    seconds = 20
    for second in range(1, seconds + 1):
        before = net.links["bytes"].copy()
        advance(net, scratch, second * 1_000_000)
        room = net.links["limit_packets"] * PACKET_BYTES  # what the queue may take in beyond what leaves
        assert ((net.links["bytes"] - before) * 8 <= network.capacity_kbps * 1000 + 8 * room).all()
    follow(net, scaled(oracle_lp(network).allocation, 0.0), seconds * 1_000_000, SEED)
    advance(net, scratch, 2 * seconds * 1_000_000)
    assert (net.links["taken"] == net.links["entered"]).all()
    assert net.measured["sent"].sum() == net.measured["received"].sum() + net.links["dropped"].sum()
    log = net.log[: net.logged[0]]
    copies = log[["session", "receiver", "number"]]
    assert len(np.unique(copies)) == len(log)
    assert (log["session"] != log["receiver"]).all()
    assert (log["number"] < net.sessions["number"][log["session"]]).all()
    for m, j, tree in {(int(e["session"]), int(e["receiver"]), int(e["tree"])) for e in log}:
        of_tree = log[(log["session"] == m) & (log["receiver"] == j) & (log["tree"] == tree)]
        assert (np.diff(of_tree["number"]) > 0).all()
        assert (np.diff(of_tree["arrived_us"]) >= 0).all()
    assert net.received["packets"].sum() == len(log)


def test_a_hundred_parties_hear_each_other():
    names = tuple(f"P{i}" for i in range(100))
    links = [PhysicalLink(*ends, 20_000.0, 5.0, 256) for name in names for ends in ((name, "R"), ("R", name))]
    net, scratch = started(overlay(Topology(names, ("R",), tuple(links))))
    trees = tuple(tree_through(m, (m + 1) % 100, 100) for m in range(100))
    for kbps, now_us in ((50.0, 0), (0.0, 3_000_000)):
        follow(net, Allocation(100, trees, np.full(100, kbps)), now_us, SEED)
        advance(net, scratch, now_us + 3_000_000)
    sent = net.sessions["number"]
    assert (sent > 5).all()
    assert (net.received["packets"] + np.diag(sent) == sent[:, None]).all()
    assert net.links["dropped"].sum() == 0


def test_messages_arrive_in_order_or_are_lost_and_never_overtake():
    net, scratch = started(overlay(dumbbell(1000.0)))
    for number in range(3 * MESSAGES):
        net.messages[0, 0, 2, net.written[0, 0, 2] % MESSAGES, 0] = number
        send_message(net, scratch, 0, 0, 2, 100, number * 1000)
        advance(net, scratch, number * 1000)
    assert net.inbox_us[0, 2, 0] < 3 * MESSAGES * 1000
    advance(net, scratch, 10_000_000)
    assert net.inbox[0, 2, 0, 0] == 3 * MESSAGES - 1
    assert (net.inbox_us >= 0).sum() == 1


def test_the_clock_gives_the_earliest_and_of_equals_the_lower_number():
    random = np.random.default_rng(0)
    clock, times = allocate_clock(11), np.full(11, NEVER_US)
    stop_clock(clock)
    for _ in range(500):
        stream = int(random.integers(11))
        times[stream] = random.integers(5)
        set_next(clock, stream, int(times[stream]))
        assert earliest(clock) == times.argmin()


@pytest.mark.parametrize("wrong", [{"rate_kbps": 0.0}, {"size_bytes": 0}, {"starts_s": 2.0, "stops_s": 1.0}])
def test_cross_traffic_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match=r"CrossTraffic\..* allowed range"):
        allocate_network(overlay(dumbbell()), [(0, CrossTraffic("A", "E", **{"rate_kbps": 80.0} | wrong))])
