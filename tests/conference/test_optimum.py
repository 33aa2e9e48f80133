"""The optimum of a conference and its alternatives: the dumbbell by hand, and random networks by an independent convex solver."""

import functools
import itertools

import clarabel
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from vcgym.conference.network.topology import WHERE, dumbbell, overlay, random_topology
from vcgym.conference.network.trees import NO_PARENT, hops_of, is_admissible, source_of
from vcgym.conference.optimum.oracle_lp import cheapest_tree, oracle_lp, packed_rate
from vcgym.conference.rules.link_rates import session_rate
from vcgym.conference.rules.planned import forwarding_unit, mutualcast, simulcast

PLAIN = overlay(dumbbell())
CROSS = overlay(dumbbell(400.0, 480.0))
CUT = overlay(dumbbell(), [("A", "E"), ("E", "A")])


def load_kbps(allocation, network):
    """The load of each physical link, (L,)."""
    crossings, rated = network.crossings(), zip(allocation.trees, allocation.rates_kbps, strict=True)
    return sum(rate * crossings[:, tail, head] for tree, rate in rated for tail, head in hops_of(tree))


def depth(tree, party):
    """Hops from the source; more than there are parties in a cycle."""
    hops = 0
    while tree[party] != NO_PARENT and hops <= len(tree):
        party, hops = tree[party], hops + 1
    return hops


@functools.cache
def every_tree(source, parties, hops):
    """All trees of at most `hops` hops, by trying every choice of parents."""
    choices = itertools.product(range(parties), repeat=parties - 1)
    trees = [(*parents[:source], NO_PARENT, *parents[source:]) for parents in choices]
    return [tree for tree in trees if max(depth(tree, party) for party in range(parties)) <= hops]


def independent(network, hops, bound_ms):
    """Session rates by Clarabel's interior points over exponential cones, one variable per tree."""
    listed = [tree for source in range(network.parties) for tree in every_tree(source, network.parties, hops)]
    trees = [tree for tree in listed if is_admissible(tree, network, bound_ms)]
    sources, crossings = sorted({source_of(tree) for tree in trees}), network.crossings()
    m, unit = len(sources), network.capacity_kbps.max()
    gains = np.array([[source_of(tree) == source for tree in trees] for source in sources], float)
    loads = np.array([sum(crossings[:, tail, head] for tail, head in hops_of(tree)) for tree in trees]).T
    cones, offsets = [], []
    for row in range(m):  # (t, 1, R) in the exponential cone: R >= exp(t)
        t = np.eye(m)[row]
        cones += [np.concatenate([np.zeros(len(trees)), -t]), np.zeros(len(trees) + m), np.concatenate([-gains[row], np.zeros(m)])]
        offsets += [0.0, 1.0, 0.0]
    matrix = np.vstack([np.hstack([loads, np.zeros((len(loads), m))]), np.hstack([-np.eye(len(trees)), np.zeros((len(trees), m))]), *cones])
    limits = np.concatenate([network.capacity_kbps / unit, np.zeros(len(trees)), offsets])
    kinds = [clarabel.NonnegativeConeT(len(loads) + len(trees)), *[clarabel.ExponentialConeT()] * m]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    objective = np.concatenate([np.zeros(len(trees)), -np.ones(m)])
    nothing = sparse.csc_matrix((len(objective),) * 2)
    solved = clarabel.DefaultSolver(nothing, objective, sparse.csc_matrix(matrix), limits, kinds, settings).solve()
    rates = np.zeros(network.parties)
    rates[sources] = gains @ np.array(solved.x)[: len(trees)] * unit
    return rates


def near(*kbps):
    return pytest.approx(kbps, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("network", "two_hops", "three_hops", "mutual", "simul"),
    [
        (PLAIN, (240, 240, 240, 240), (240, 240, 240, 240), (120, 120, 120, 120), (120, 120, 120, 120)),
        (CROSS, (200, 200, 240, 240), (200, 200, 240, 240), (110, 110, 110, 110), (100, 100, 120, 120)),
        (CUT, (120, 240, 240, 240), (240, 240, 240, 240), (60, 60, 120, 120), (0, 240, 0, 0)),
    ],
    ids=["plain", "cross", "cut"],
)
def test_rates_on_the_dumbbell(network, two_hops, three_hops, mutual, simul):
    """M1: the paper's timeline; Mutualcast during the cut by hand: A and B cross twice in one direction, C and D once in each."""
    assert oracle_lp(network, 2).allocation.session_kbps() == near(*two_hops)
    assert oracle_lp(network, 3).allocation.session_kbps() == near(*three_hops)
    assert mutualcast(network).session_kbps() == near(*mutual)
    assert simulcast(network).session_kbps() == near(*simul)


def test_a_forwarding_unit_on_the_dumbbell_serves_the_other_side_worse():
    """The unit is A: C and D cross towards it and back, A and B only away from it; 480 kbps away is shared in proportion."""
    rates = forwarding_unit(PLAIN).session_kbps()
    assert np.sort(rates) == near(60, 60, 120, 120)
    assert len(forwarding_unit(PLAIN).trees) == 4


def test_trees_cross_the_bottleneck_once_per_unit_of_rate():
    """M4: the load from E to F is the rate of A and B together."""
    found = oracle_lp(PLAIN).allocation
    bottleneck = [link.name for link in dumbbell().links].index("E->F")
    rates = found.session_kbps()
    assert load_kbps(found, PLAIN)[bottleneck] == pytest.approx(rates[0] + rates[1], rel=1e-6)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 50))])
def test_the_optimum_equals_an_independent_convex_solver_over_all_trees(seed):
    parties = 3 + seed % 3
    network = overlay(random_topology(seed, parties, WHERE[seed % 2]))
    hops = 2 if parties == 5 else 2 + seed // 6 % 2
    bound_ms = (200.0, 60.0)[seed // 3 % 2]
    found = oracle_lp(network, hops, bound_ms)
    assert found.allocation.session_kbps() == pytest.approx(independent(network, hops, bound_ms), rel=1e-3)
    assert 0.0 <= found.bound - found.allocation.utility() + 1e-8 <= 2e-6
    assert (load_kbps(found.allocation, network) <= network.capacity_kbps * (1.0 + 1e-9)).all()
    for tree in found.allocation.trees:
        assert is_admissible(tree, network, bound_ms)
        assert max(depth(tree, party) for party in range(parties)) <= hops
    for rival in (mutualcast, simulcast, forwarding_unit):
        rates = rival(network, bound_ms)
        if (rates.session_kbps() > 0.0).sum() == (found.allocation.session_kbps() > 0.0).sum():
            assert rates.utility() <= found.allocation.utility() + 1e-6
        assert (load_kbps(rates, network) <= network.capacity_kbps * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_tree_is_the_cheapest_of_all(seed, hops):
    random = np.random.default_rng(seed)
    prices, delay_ms = random.random((5, 5)), random.uniform(20.0, 120.0, (5, 5))
    listed = every_tree(seed % 5, 5, hops)

    def delays(tree, party):
        return 0.0 if tree[party] == NO_PARENT else delays(tree, tree[party]) + delay_ms[tree[party], party]

    allowed = [tree for tree in listed if max(delays(tree, party) for party in range(5)) <= 200.0]
    best = min((sum(prices[hop] for hop in hops_of(tree)) for tree in allowed), default=np.inf)
    parents = np.empty(5, np.int64)
    assert cheapest_tree(seed % 5, prices, delay_ms, 200.0, hops, parents) == pytest.approx(best)
    if allowed:
        assert tuple(parents) in allowed
        assert sum(prices[hop] for hop in hops_of(tuple(parents))) == pytest.approx(best)


def bound_of(source, rates, delay_ms, bound_ms=200.0):
    cut = np.zeros(rates.shape, bool)
    return session_rate(source, np.ones(len(rates), bool), rates, delay_ms, bound_ms, cut), cut


def test_the_bound_is_not_always_reached_by_trees():
    """M2: a ring of three receivers."""
    rates = np.zeros((4, 4))
    rates[0, 1:] = rates[2, 1] = rates[3, 2] = rates[1, 3] = 1.0
    assert bound_of(0, rates, np.zeros((4, 4)))[0] == 2.0
    assert packed_rate(0, rates, np.zeros((4, 4))).allocation.session_kbps()[0] == pytest.approx(1.5, rel=1e-6)


def test_a_relay_that_breaks_the_delay_bound_is_not_counted():
    """M7: 150 ms to the relay and 60 ms from it."""
    rates, delay_ms = np.full((3, 3), 10.0), np.zeros((3, 3))
    delay_ms[0, 1], delay_ms[1, 2] = 150.0, 60.0
    rate, cut = bound_of(0, rates, delay_ms)
    assert rate == 10.0
    assert [tuple(link) for link in np.argwhere(cut)] == [(0, 2)]
    assert bound_of(0, rates, delay_ms, bound_ms=210.0)[0] == 20.0


def drawn(seed):
    random = np.random.default_rng(seed)
    return random.uniform(0.0, 100.0, (5, 5)), random.uniform(0.0, 100.0, (5, 5)), random.uniform(20.0, 160.0, (5, 5))


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_concave_with_the_critical_cut_as_its_subgradient(seed):
    """M5: halfway it is no less than the mean. M6: it lies below the tangent of the critical cut."""
    one, other, delay_ms = drawn(seed)
    (at_one, cut), (at_other, _) = bound_of(0, one, delay_ms), bound_of(0, other, delay_ms)
    assert bound_of(0, (one + other) / 2.0, delay_ms)[0] >= (at_one + at_other) / 2.0 - 1e-9
    assert at_other <= at_one + (other - one)[cut].sum() + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_the_least_min_cut_of_the_two_layer_graph(seed):
    rates, _, delay_ms = drawn(seed)
    cuts = []
    for sink in range(1, 5):
        graph = nx.DiGraph()
        for i in range(1, 5):
            if delay_ms[0, i] <= 200.0:
                graph.add_edge("s", ("r", i), capacity=rates[0, i])
            graph.add_edge(("r", i), ("t", i))
            for j in range(1, 5):
                if i != j and delay_ms[0, i] + delay_ms[i, j] <= 200.0:
                    graph.add_edge(("r", i), ("t", j), capacity=rates[i, j])
        cuts.append(nx.maximum_flow_value(graph, "s", ("t", sink)))
    assert bound_of(0, rates, delay_ms)[0] == pytest.approx(min(cuts))


@pytest.mark.parametrize("seed", range(6))
def test_packing_never_exceeds_the_bound(seed):
    rates, _, delay_ms = drawn(seed)
    packed = packed_rate(0, rates, delay_ms)
    assert packed.allocation.session_kbps()[0] <= bound_of(0, rates, delay_ms)[0] * (1.0 + 1e-6)


@pytest.mark.parametrize("hops", [0, 4])
def test_more_hops_than_the_optimum_is_made_for_are_refused(hops):
    with pytest.raises(ValueError, match=f"hops = {hops}"):
        oracle_lp(PLAIN, hops)
