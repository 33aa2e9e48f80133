"""Topologies: paths of the underlay, links that are down, and rejected input."""

import numpy as np
import pytest

from vcgym.conference.network.topology import (
    NO_LINK,
    WHERE,
    PhysicalLink,
    Topology,
    both_ways,
    dumbbell,
    overlay,
    random_topology,
    require_topology,
)

A, B, C, D = range(4)


def of_names(network, i, j):
    names = [link.name for link in dumbbell().links]
    return [names[link] for link in network.paths[i, j] if link != NO_LINK]


def test_paths_of_the_dumbbell_cross_the_bottleneck_only_between_the_sides():
    network = overlay(dumbbell())
    assert of_names(network, A, B) == ["A->B"]
    assert of_names(network, A, D) == ["A->E", "E->F", "F->D"]
    assert of_names(network, C, A) == ["C->F", "F->E", "E->A"]
    assert network.crossings().sum() == 4 * 1 + 8 * 3


def test_a_cut_parts_only_the_pairs_whose_path_crosses_it():
    network = overlay(dumbbell(), [("A", "E"), ("E", "A")])
    apart = np.isinf(network.delay_ms) & ~np.eye(4, dtype=bool)
    assert [tuple(pair) for pair in np.argwhere(apart)] == [(A, C), (A, D), (C, A), (D, A)]
    assert (network.paths[A, C] == NO_LINK).all()


def test_the_path_of_least_propagation_is_taken_and_never_through_a_party():
    links = [
        *both_ways("A", "R", 100.0, 1.0), *both_ways("B", "R", 100.0, 30.0), *both_ways("B", "S", 100.0, 2.0),
        *both_ways("R", "S", 100.0, 3.0), *both_ways("C", "A", 100.0, 0.0), *both_ways("C", "B", 100.0, 0.0),
    ]  # fmt: skip
    network = overlay(Topology(("A", "B", "C"), ("R", "S"), tuple(links)))
    assert network.delay_ms[0, 1] == 6.0  # over R and S; over party C it would be 0


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("parties", [3, 7, 12])
def test_random_topologies_are_connected_and_follow_from_their_seed(parties, where):
    topology = random_topology(5, parties, where)
    require_topology(topology)
    assert topology == random_topology(5, parties, where) != random_topology(6, parties, where)
    inner = [link.capacity_kbps for link in topology.links if {link.tail, link.head} <= set(topology.routers)]
    outer = [link.capacity_kbps for link in topology.links if not {link.tail, link.head} <= set(topology.routers)]
    assert (max(inner) < min(outer)) == (where == "core")


GOOD = both_ways("A", "B", 100.0)


@pytest.mark.parametrize(
    ("parties", "routers", "links", "named"),
    [
        (("A",), (), (), "Topology.parties has 1"),
        (("A", "A"), (), GOOD, "node 'A'"),
        (("A", "B"), ("A",), GOOD, "node 'A'"),
        (("A", "B"), (), (*GOOD, PhysicalLink("B", "Q", 1.0)), "'Q'"),
        (("A", "B"), (), (*GOOD, PhysicalLink("B", "B", 1.0)), "link B->B"),
        (("A", "B"), (), (*GOOD, GOOD[0]), "link A->B occurs 2 times"),
        (("A", "B"), (), (GOOD[0], PhysicalLink("B", "A", 0.0)), "link B->A of Topology: PhysicalLink.capacity_kbps is 0.0"),
        (("A", "B"), (), (GOOD[0], PhysicalLink("B", "A", float("nan"))), "capacity_kbps is nan"),
        (("A", "B"), (), (GOOD[0],), "no path from party 'B' to party 'A'"),
        (("A", "B", "C"), (), GOOD, "no path from party 'A' to party 'C'"),
    ],
)
def test_a_bad_topology_is_refused_naming_the_element(parties, routers, links, named):
    with pytest.raises(ValueError, match="allowed") as refused:
        overlay(Topology(parties, routers, tuple(links)))
    assert named in str(refused.value)
    assert len(str(refused.value)) <= 300


def test_a_link_that_is_down_must_be_there():
    with pytest.raises(ValueError, match=r"link A->Q is down but not in Topology\.links"):
        overlay(dumbbell(), [("A", "Q")])


@pytest.mark.parametrize(("parties", "where"), [(2, "core"), (13, "core"), (3, "middle")])
def test_a_random_topology_out_of_range_is_refused(parties, where):
    with pytest.raises(ValueError, match="allowed"):
        random_topology(0, parties, where)
