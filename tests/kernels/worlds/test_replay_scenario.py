"""Scenario replay, of traces of your own and of shipped series: every importer's output is playable; splits; rejected input."""

import itertools

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.environments import data_hashes, make_envs
from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS, SPLITS_OF_DRIVES, read_series
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import SPLITS, unlock_test_split
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.trace import Trace, to_slots
from vcgym.network.traces.trace_file import read_trace, write_trace
from vcgym.network.worlds.world import HISTORY_BLOCKS, blocks

HISTORY = 512 * HISTORY_BLOCKS
CARD = Card(name="made", description="arithmetic", source="test", licence="MIT", sha256="0" * 64, kind="synthesised", units="us")


def write(file, slots=6000, level_us=30_000, round_trip=False):
    """Write one probe per slot: a level, a saw-tooth, every 50th lost."""
    n = np.arange(slots)
    delay_us = np.where(n % 50 == 7, LOST, level_us + 100 * (n % 37)).astype(np.int64)
    file.parent.mkdir(exist_ok=True, parents=True)
    write_trace(Trace("made", 10_000 * n, delay_us, CARD, round_trip), file)
    return delay_us


@pytest.fixture
def two_paths(tmp_path):
    """Return a folder of one pair."""
    write(tmp_path / "home" / "direct.csv.gz")
    write(tmp_path / "home" / "relay.csv.gz", 7000, 20_000)
    return tmp_path / "home"


def test_a_world_is_a_segment_of_each_trace(two_paths):
    scenario = Scenario("replay", "replay", 100, traces=str(two_paths))
    assert scenario.layout.path_names == ("direct", "relay") and scenario.pairs("train") == ["home"]
    draw = scenario.draw("train", 3)
    world = scenario.world(1)
    world.start(0, draw)
    [block, *_] = blocks(world, 100)
    for path, name in enumerate(scenario.layout.path_names):
        slots = to_slots(read_trace(two_paths / f"{name}.csv.gz"))
        begin = draw.parameters["offset"][path]
        np.testing.assert_array_equal(block[path, :100], slots[begin : begin + 100])
    assert (block == LOST).any()


def test_round_trips_count_half(tmp_path):
    write(tmp_path / "a" / "direct.csv.gz", round_trip=True)
    write(tmp_path / "b" / "direct.csv.gz")
    whole, half = (Scenario("replay", "replay", 100, traces=str(tmp_path / name)) for name in ("b", "a"))
    levels = []
    for scenario in (whole, half):
        world = scenario.world(1)
        levels.append(world.start(0, scenario.draw("train", 0))[0, 1])
    assert levels[1] == pytest.approx(levels[0] / 2, rel=1e-3)


def test_one_pair_is_split_in_time(two_paths):
    scenario, used = Scenario("replay", "replay", 100, traces=[str(file) for file in sorted(two_paths.glob("*.csv.gz"))]), {}
    with unlock_test_split():
        for split in SPLITS:
            offsets = [scenario.draw(split, seed).parameters["offset"][0] for seed in range(200)]
            used[split] = (min(offsets) - HISTORY, max(offsets) + 100)
    assert 0 <= used["train"][0] < used["train"][1] <= 3600 <= used["validation"][0]
    assert used["validation"][1] <= 4800 <= used["test"][0] < used["test"][1] <= 6000


def test_five_pairs_are_split_by_pair(tmp_path):
    for n in range(5):
        write(tmp_path / f"home{n}" / "direct.csv.gz", 1300, 20_000 + 10_000 * n)
    scenario = Scenario("replay", "replay", 200, traces=str(tmp_path))
    with unlock_test_split():
        pairs = {split: scenario.pairs(split) for split in SPLITS}
        draws = [scenario.draw("test", 0), scenario.draw("train", 1)]
    assert [len(pairs[split]) for split in SPLITS] == [3, 1, 1]
    assert sorted(pair for split in SPLITS for pair in pairs[split]) == [f"home{n}" for n in range(5)]
    world = scenario.world(2)
    for row, draw in enumerate(draws):  # two pairs side by side: each plays its own level
        history = world.start(row, draw)
        assert history[0, 1] == pytest.approx(20 + 10 * int(draw.pair.removeprefix("home")) + 1.8, abs=0.1)


def test_every_environment_over_paths_plays_it(two_paths, path_env_id):
    env = gymnasium.make(path_env_id, scenario="replay", mode="replay", traces=str(two_paths), packets=100)
    env.reset(seed=1)
    truncated = False
    while not truncated:
        _, _, _, truncated, info = env.step(env.action_space.sample())
    assert info["pair"] == "home" and 20.0 < info["mouth_to_ear_ms"] < 2000.0


def test_an_agent_trains_on_it(two_paths):
    config = EnvConfig(id="vcgym/Call-v1", options={"scenario": "replay", "mode": "replay", "traces": str(two_paths), "packets": 100})
    assert data_hashes(config) == {"replay replay": Scenario("replay", "replay", 100, traces=str(two_paths)).layout.card}
    envs = make_envs(config, 2, "validation")
    envs.reset(seed=0)
    observations, *_ = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space


def test_what_cannot_be_played_is_refused(tmp_path):
    write(tmp_path / "short" / "direct.csv.gz", 6000)
    write(tmp_path / "uneven" / "a" / "direct.csv.gz")
    write(tmp_path / "uneven" / "b" / "relay.csv.gz")
    write(tmp_path / "mixed" / "direct.csv.gz")
    write(tmp_path / "mixed" / "a" / "direct.csv.gz")
    (tmp_path / "empty").mkdir()
    (tmp_path / "changed").mkdir()
    for ending in ("", ".card.json"):
        (tmp_path / "changed" / f"direct.csv.gz{ending}").write_bytes((tmp_path / "short" / f"direct.csv.gz{ending}").read_bytes())
    write(tmp_path / "changed" / "other.csv.gz", 100)
    (tmp_path / "changed" / "direct.csv.gz").write_bytes((tmp_path / "changed" / "other.csv.gz").read_bytes())
    wrong = {
        None: r"scenario replay: traces is None; allowed: a folder of traces \(\*\.csv\.gz\)",
        str(tmp_path / "gone"): r"gone: traces is 'missing'; allowed: a folder or file that exists",
        str(tmp_path / "empty"): r"empty: content is '0 traces, 0 folders of traces'; allowed: traces",
        str(tmp_path / "mixed"): r"mixed: content is '1 traces, 1 folders of traces'; allowed: .* not both",
        str(tmp_path / "uneven"): r"uneven/b: names of the files is \['relay\.csv\.gz'\]; allowed: \['direct\.csv\.gz'\]",
        str(tmp_path / "changed"): r"direct\.csv\.gz: sha256 of the content is",
    }
    for traces, message in wrong.items():
        with pytest.raises(DataError, match=message):
            Scenario("replay", "replay", 100, traces=traces)
    message = r"trace short/direct: slots of 10 ms in its validation part is 1200; allowed: at least 1225: 1024 of history and packets=201"
    with pytest.raises(DataError, match=message):
        Scenario("replay", "replay", 201, traces=str(tmp_path / "short")).pairs("validation")
    with pytest.raises(ValueError, match=r"traces = '.*': allowed is None in scenario leo; scenario replay takes traces"):
        Scenario("leo", "replay", 100, traces=str(tmp_path / "short"))


def probed(file, sent_us, start_us=0, delay_us=30_000):
    """Write probes sent at `sent_us` after `start_us`; the delay of the n-th is n microseconds longer than the first's."""
    n = np.arange(len(sent_us))
    file.parent.mkdir(exist_ok=True, parents=True)
    write_trace(Trace("made", np.asarray(sent_us, np.int64), delay_us + n, CARD, False, start_us), file)


def test_a_call_never_spans_a_gap(tmp_path):
    """Of 200 calls from a trace with a gap of 65 s none has a slot of it, in its history neither, and both parts are used."""
    sent_us = 10_000 * np.concatenate([np.arange(3000), 9500 + np.arange(4000)])
    probed(tmp_path / "home" / "direct.csv.gz", sent_us)
    scenario = Scenario("replay", "replay", 500, traces=str(tmp_path / "home"))
    with unlock_test_split():
        begins = [int(scenario.draw("all", seed).parameters["offset"][0]) for seed in range(200)]
        message = r"in its validation part, longest stretch without a gap of 5 s is 1300; allowed: at least 1524"
        with pytest.raises(DataError, match=message):
            scenario.pairs("validation")
    assert {begin < 3000 for begin in begins} == {True, False}
    assert all(HISTORY <= begin <= 2500 or 9500 + HISTORY <= begin <= 13_000 for begin in begins)


def test_all_of_a_trace_is_played_by_the_leaderboard_alone(two_paths):
    scenario = Scenario("replay", "replay", 100, traces=str(two_paths))
    with pytest.raises(ValueError, match=r"split = 'all': allowed are train, validation"):
        scenario.draw("all", 0)
    with unlock_test_split():
        offsets = [scenario.draw("all", seed).parameters["offset"][0] for seed in range(300)]
        with pytest.raises(ValueError, match=r"split = 'all': allowed are train, validation, test"):
            Scenario("table1", "paper", 100).draw("all", 0)
    assert min(offsets) < HISTORY + 300 and max(offsets) > 5600


def test_paths_measured_at_one_time_are_cut_at_one_time(tmp_path):
    """The second path was measured 7.5 s later, with a gap elsewhere; a delay names the time of its probe on the common clock."""
    at, clock_us = 10_000 * np.arange(8000), 1_700_000_000_000_000
    probed(tmp_path / "home" / "direct.csv.gz", np.delete(at, np.s_[3000:3600]), clock_us, 0)
    probed(tmp_path / "home" / "relay.csv.gz", np.delete(at, np.s_[5000:5600]), clock_us + 7_500_000, 0)
    common = Scenario("replay", "replay", 300, traces=str(tmp_path / "home"), offsets="common")
    own = Scenario("replay", "replay", 300, traces=str(tmp_path / "home"))
    assert common.layout.card != own.layout.card
    with unlock_test_split():
        offsets = np.array([common.draw("all", seed).parameters["offset"] for seed in range(200)])
        apart = np.array([own.draw("all", seed).parameters["offset"] for seed in range(200)])
    assert set((offsets[:, 0] - offsets[:, 1]).tolist()) == {750} and len(set((apart[:, 0] - apart[:, 1]).tolist())) > 100
    for path, gap in ((0, (3000, 3600)), (1, (5000, 5600))):
        assert ((offsets[:, path] + 300 <= gap[0]) | (offsets[:, path] - HISTORY >= gap[1])).all()
    probed(tmp_path / "days" / "direct.csv.gz", at, clock_us)
    probed(tmp_path / "days" / "relay.csv.gz", at, clock_us + 86_400_000_000)
    days = Scenario("replay", "replay", 300, traces=str(tmp_path / "days"), offsets="common")
    with pytest.raises(
        DataError, match=r"traces days, what all paths have in common: slots of 10 ms in its train part is 0; allowed: at least 1324"
    ):
        days.pairs("train")


def test_the_direct_path_is_named(two_paths):
    by_name, named = (Scenario("replay", "replay", 100, traces=str(two_paths), direct=name) for name in (None, "relay"))
    assert by_name.layout.path_names == ("direct", "relay") and named.layout.path_names == ("relay", "direct")
    assert by_name.layout.card != named.layout.card
    draw, world = named.draw("train", 1), named.world(1)
    assert world.start(0, draw)[0, 1] == pytest.approx(21.8, abs=0.2)
    with pytest.raises(DataError, match=r"direct is 'cable'; allowed: a path: direct, relay"):
        Scenario("replay", "replay", 100, traces=str(two_paths), direct="cable")
    for told, message in (
        ({"direct": "a"}, "direct = 'a': allowed is None"),
        ({"offsets": "common"}, "offsets = 'common': allowed is own"),
    ):
        with pytest.raises(ValueError, match=message):
            Scenario("table1", "paper", 100, **told)


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
