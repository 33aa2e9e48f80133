"""Shipped measured series: declared splits without a shared drive, both orders of the direct path, replay of what was measured."""

import itertools

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS, SPLITS_OF_DRIVES, read_series
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import SPLITS, unlock_test_split
from vcgym.network.traces.cards import DataError

ROADS = [f"5g-{road}" for road in SPLITS_OF_DRIVES]


@unlock_test_split()
def pairs(scenario, split):
    return scenario.pairs(split)


@pytest.mark.parametrize("name", ROADS)
@pytest.mark.parametrize("packets", [4000, 6000])
def test_no_drive_is_in_two_splits_and_each_pair_is_there_in_both_orders(name, packets):
    scenario = Scenario(name, "replay", packets)
    drives = {split: set(itertools.chain(*(pair.split("-") for pair in pairs(scenario, split)))) for split in SPLITS}
    assert all(drives.values())
    assert all(drives[a].isdisjoint(drives[b]) for a, b in itertools.combinations(SPLITS, 2))
    every = [pair.split("-") for split in SPLITS for pair in pairs(scenario, split)]
    assert all([b, a] in every and {a.rpartition("_")[2], b.rpartition("_")[2]} == {"n8", "n78"} for a, b in every)
    assert sorted(pairs(scenario, "all")) == sorted("-".join(pair) for pair in every)


def test_every_drive_is_in_a_split_and_long_enough_for_measured_v0():
    for name in ROADS:
        used = {drive for pair in pairs(Scenario(name, "replay", 4000), "all") for drive in pair.split("-")}
        road = name.removeprefix("5g-")
        assert {f"{road}_{drive}" for drive in used} == {one for one in read_series(DRIVES) if one.startswith(road)}


def test_a_world_replays_its_drives_half_a_round_trip_one_way():
    scenario = Scenario("5g-urban", "replay", 1000)
    draw = scenario.draw("validation", 5, pair="v20_2_n8-v30_2_n78")
    world = scenario.world(1)
    world.start(0, draw)
    for path, name in enumerate(("urban_v20_2_n8", "urban_v30_2_n78")):
        trace, slot = read_series(DRIVES)[name], draw.parameters["offset"][path]
        last = np.flatnonzero(trace.sent_us <= slot * 10_000 + 9_999)[-1]
        assert world.delay_us[0, path, 0] == trace.one_way_delay_us[last] // 2
    assert draw.stratum == "5g-urban" and scenario.layout.path_names == ("direct", "other")


def test_a_call_longer_than_the_drives_of_a_split_is_refused():
    assert len(pairs(Scenario("5g-weak", "replay", 4000), "validation")) == 8
    assert len(pairs(Scenario("5g-weak", "replay", 6000), "validation")) == 4  # the number 4 of n78 is too short
    with pytest.raises(DataError, match=r"scenario 5g-weak: packets is 8500; allowed: fewer: a drive of each split must be longer"):
        Scenario("5g-weak", "replay", 8500)


def test_the_satellite_pings_are_split_in_time_and_have_their_losses():
    scenario = Scenario("starlink-ping", "replay", 4000)
    assert pairs(scenario, "train") == pairs(scenario, "test") == ["lagos-seattle", "seattle-lagos"]
    trained, tested = (unlock_test_split()(scenario.draw)(split, 1).parameters["offset"] for split in ("train", "test"))
    assert (trained < tested).all()
    lost = {name: np.mean(one.one_way_delay_us == LOST) for name, one in read_series(PINGS).items()}
    assert lost == pytest.approx({"lagos": 0.005, "seattle": 0.023}, abs=5e-4)
    assert scenario.draw("train", 1, stratum="satellite").stratum == "satellite"
