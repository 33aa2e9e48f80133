"""Scenarios: every one samples, starts and plays in every mode; layouts, splits, strata and errors are as declared."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from lab.shipped.sets.link_fits import HOURS
from lab.shipped.sets.world_sample import fit_world, write_all
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig, TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.envs.call.batch import CallBatch
from vcgym.network.fitting.traces import loss_of
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios import splits
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.paths.linked import ALWAYS, HOUR_SLOTS, NATURAL, STRATA, natural_bad_hours
from vcgym.network.scenarios.paths.stress import MILD_STEP, MILD_STEPS_MS, STRESS
from vcgym.network.scenarios.paths.synthetic import normal_table
from vcgym.network.scenarios.scenario import MODES, Scenario
from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.traces.cards import data_root, load_links
from vcgym.network.worlds.links import SAMPLE, load_sample
from vcgym.network.worlds.quantiles import OPEN_PROBABILITIES
from vcgym.network.worlds.world import blocks

PATHS = {
    "wonderproxy": 17, "cloud": 17, "table1": 5, "stress": 17, "leo": 5, "world": 101, "world-19": 362, "measured-like-5": 5,
    "synthetic-9": 9, "synthetic-90": 90, "synthetic-900": 900,
}  # fmt: skip
EVERY = [(name, mode) for name in PATHS for mode in MODES[name]]
DRAWN = [(name, mode) for name, mode in EVERY if mode != "replay"]


@pytest.fixture(autouse=True)
def series(monkeypatch):
    """Stands in for the measured series."""
    slots = 20_000 + np.random.default_rng(0).integers(0, 9_000, (len(leo.SERIES), 12_000))
    monkeypatch.setattr(leo, "measured", lambda data: (slots, "card"))


@pytest.mark.parametrize(("name", "mode"), EVERY)
def test_it_draws_starts_and_plays(name, mode):
    scenario = Scenario(name, mode, 200)
    assert scenario.paths == PATHS[name] == len(set(scenario.layout.path_names))
    batch = CallBatch(scenario, 2, Direct(), WMJitter(), log=True)
    for row, split in enumerate(("train", "validation")):
        batch.start(row, scenario.draw(split, 5))
    assert np.isfinite(batch.history).all()
    batch.play(np.arange(2))
    played = batch.played()
    assert (played.arrived_us != LOST).mean() > 0.5
    assert (played.path == 0).all()


@pytest.mark.parametrize("stratum", [*STRESS, MILD_STEP])
def test_every_kind_of_trouble_shows(stratum):
    """Against the same world without it: that of another kind whose trouble is left out."""
    scenario = Scenario("stress", "correlated", 3000)
    world, calm = scenario.world(1), scenario.world(1)
    draw = scenario.draw("train", 11, stratum=stratum)
    assert draw.stratum == stratum
    world.start(0, draw)
    calm.start(0, draw._replace(parameters=draw.parameters | {"events": (), "skew_ppm": 0.0}))
    changed = np.zeros(scenario.paths, bool)
    for _ in range(6):
        changed |= (world.delay_us[0] != calm.delay_us[0]).any(axis=1)
        world.fill(np.array([0]))
        calm.fill(np.array([0]))
    everywhere = stratum in ("clock-skew", "day-night")
    assert changed.all() if everywhere else changed.any()
    if stratum in ("route-flap", "congestion", "delay-step", MILD_STEP, "relay-failure"):
        assert not changed.all()  # there is a way round


def test_mild_delay_steps_are_of_the_declared_size():
    scenario = Scenario("stress", "correlated", 3000)
    added = [scenario.draw("train", seed, stratum=MILD_STEP).parameters["events"][0].add_ms for seed in range(100)]
    low, high = MILD_STEPS_MS
    assert low <= min(added) < 70.0 and 350.0 < max(added) <= high
    assert np.median(added) == pytest.approx(np.sqrt(low * high), rel=0.35)


def test_a_delay_step_of_thirty_seconds_is_played_to_its_end():
    scenario = Scenario("stress", "correlated", 3000)
    batch = CallBatch(scenario, 1, Direct(), WMJitter(), log=True)
    draws = (scenario.draw("train", seed, stratum="delay-step") for seed in range(99))
    batch.start(0, next(draw for draw in draws if draw.parameters["events"][0].link == 0))  # the direct link
    batch.play(np.arange(1))
    delay_us = batch.played().arrived_us[0] - np.arange(3000) * 10_000
    assert delay_us[-1] > 30_000_000 > delay_us[0] > 0


def test_an_environment_shows_a_delay_step_to_the_end_of_the_call():
    env = gymnasium.make_vec("vcgym/Relay-v1", num_envs=3, scenario="stress", packets=3000, observation="records", action="discrete")
    env.reset(seed=3, options={"stratum": "delay-step"})
    truncated = np.zeros(3, bool)
    while not truncated.any():
        observation, _, _, truncated, _ = env.step(np.zeros(3, np.int64))
    assert truncated.all() and (observation["count"] <= 512).all()


@pytest.mark.parametrize(("name", "mode"), DRAWN)
def test_a_draw_follows_from_its_seed(name, mode):
    one, other = Scenario(name, mode, 600), Scenario(name, mode, 600)
    for split in ("train", "validation"):
        a, b, c = one.draw(split, 7), other.draw(split, 7), one.draw(split, 8)
        assert a[:3] == b[:3] and a.parameters.keys() == b.parameters.keys()
        for key, value in a.parameters.items():
            np.testing.assert_array_equal(np.asarray(value, object if key == "events" else None), b.parameters[key])
        assert a.seed != c.seed


@pytest.mark.usefixtures("test_split_opened")
@pytest.mark.parametrize(("name", "mode"), EVERY)
def test_splits_share_no_pair_or_no_world(name, mode):
    scenario = Scenario(name, mode, 300)
    pairs = {split: scenario.pairs(split) for split in SPLITS}
    assert all(pairs.values())
    assert len({scenario.draw(split, seed).seed for split in SPLITS for seed in range(20)}) == 60
    together = {pair for split in SPLITS for pair in pairs[split]}
    if not name.startswith(("synthetic", "measured-like")) and name != "leo":
        assert len(together) == sum(map(len, pairs.values()))
    if name in ("wonderproxy", "table1"):  # every sender and every receiver is in each split
        assert len(together) == {"wonderproxy": 25, "table1": 12}[name]
        for end in (0, 1):
            train, validation, test = ({pair.split("-")[end] for pair in pairs[split]} for split in SPLITS)
            assert train == validation == test


@pytest.mark.parametrize("split", ["train", "validation"])
def test_the_test_split_is_refused_outside_the_leaderboard(split):
    scenario = Scenario("wonderproxy", "correlated")
    for ask in (scenario.pairs, lambda name: scenario.draw(name, 0)):
        with pytest.raises(ValueError, match=r"split = 'test': allowed are train, validation; .* for the leaderboard alone"):
            ask("test")
        with splits.unlock_test_split():
            assert ask("test")
        with pytest.raises(ValueError, match="split = 'test'"):
            ask("test")
    assert scenario.draw(split, 0)


def test_only_the_leaderboard_names_the_lock():
    """As the import contract says, but for each file by itself: through an import or by its text."""
    home = Path(splits.__file__).parents[2]
    names = ("sending_scenarios", "recipe", "rate_worlds")
    of_scenarios = ("splits", "scenario", "paths/replay", *(f"bottleneck/{name}" for name in names))
    allowed = {"conference/network/scenario.py", *(f"network/scenarios/{name}.py" for name in of_scenarios)}
    found = {
        path.relative_to(home).as_posix()
        for room in ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard", "scripts", "conference")
        for path in (home / room).rglob("*.py")
        if "vcgym.network.scenarios.splits" in path.read_text() or "unlock_test_split" in path.read_text()
    }
    assert {name for name in found if not name.startswith(("leaderboard/", "conference/board/"))} == allowed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"burst": "best"}, "burst = 'best': allowed are worst, median"),
        ({"tau_ms": -1.0}, r"tau_ms = -1\.0: allowed are numbers from 0 to 60000"),
        ({"tau_ms": float("nan")}, "tau_ms = nan: allowed are numbers from 0 to 60000"),
        ({"tau_ms": "200"}, "tau_ms = '200': allowed are numbers"),
        ({"tau_ms": True}, "tau_ms = True: allowed are numbers"),
        ({"loss_run_slots": 0.5}, r"loss_run_slots = 0.5: allowed are numbers from 1 to 10000"),
        ({"loss_run_slots": 3.0, "scenario": "leo", "mode": "replay"}, r"loss_run_slots = 3.0: allowed is 1 in mode replay"),
    ],
)
def test_settings_out_of_range_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Scenario(**{"scenario": "table1", "mode": "correlated", **given})


def direct_delays(scenario, draw, count=20):
    world = scenario.world(1)
    world.start(0, draw)
    return np.concatenate([block[0] for block in blocks(world, count * BLOCK_SLOTS)]) / 1000.0


def test_the_median_burst_is_another_law_than_the_worst():
    link = load_links("wonderproxy_ten_places").link("BR", "AR")
    for burst, law in (("median", link.median), ("worst", link.worst)):
        scenario = Scenario("wonderproxy", "paper", burst=burst)
        split = next(split for split in ("train", "validation") if "BR-AR" in scenario.pairs(split))
        ms = direct_delays(scenario, scenario.draw(split, 1, "BR-AR"))
        mean = law.low_ms + (law.high_ms - law.low_ms) * law.a / (law.a + law.b)
        assert ms.min() >= law.low_ms - 0.001 and ms.max() <= law.high_ms + 0.001
        assert ms.mean() == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("tau_ms", [0, 50, 200, 1000])
def test_the_correlation_time_is_the_one_asked_for(tau_ms):
    scenario = Scenario("cloud", "correlated", tau_ms=tau_ms)
    draw = scenario.draw("train", 3, "FRA-UserHK", "quiet")
    assert draw.parameters["tau_ms"] == tau_ms
    x = np.log(np.maximum(direct_delays(scenario, draw, 60) - draw.parameters["base_ms"][0], 1e-3))
    if tau_ms >= 50:
        lag = max(tau_ms // 20, 1)
        assert np.corrcoef(x[lag:], x[:-lag])[0, 1] == pytest.approx(np.exp(-10.0 * lag / tau_ms), abs=0.15)


def test_bad_hours_of_the_natural_mix_come_as_often_as_fitted_and_last_an_hour():
    draws = np.random.default_rng(1)
    share = np.full(20_000, 2.0 / HOURS)
    begin, end = natural_bad_hours(share, draws)
    bad = begin < end
    assert bad.mean() == pytest.approx(2 * 2.0 / HOURS, rel=0.1)  # the hour the call begins in, and the one after
    borders = np.concatenate([begin[bad], end[bad]])
    assert {int(value) for value in borders[np.abs(borders) < ALWAYS]} and (np.abs(borders[np.abs(borders) < ALWAYS]) <= HOUR_SLOTS).all()


def test_the_natural_mix_is_mostly_quiet():
    scenario = Scenario("wonderproxy", "correlated")
    worlds = [scenario.draw("train", seed, stratum=NATURAL) for seed in range(200)]
    assert {draw.stratum for draw in worlds} == {NATURAL}
    bad = np.array([(draw.parameters["bad_from"] < 6000) & (draw.parameters["bad_to"] > 0) for draw in worlds])
    assert 1.0 / HOURS < bad[:, :-1].mean() < 3.0 / HOURS
    assert not bad[:, -1].any()  # nothing is known of the receiver's access by itself
    assert (worlds[0].parameters["bad_level_ms"][:-1] > 1.0).all()
    assert NATURAL not in {scenario.draw("train", seed).stratum for seed in range(100)} <= set(STRATA)


@pytest.mark.parametrize(("mean_ms", "sd_ms"), [(100.0, 30.0), (200.0, 10.0), (20.0, 30.0)])
def test_the_synthetic_law_is_a_normal_cut_off_at_zero(mean_ms, sd_ms):
    expected = stats.truncnorm.ppf(OPEN_PROBABILITIES, -mean_ms / sd_ms, np.inf, mean_ms, sd_ms)
    np.testing.assert_allclose(normal_table(mean_ms, sd_ms), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_synthetic_paths_have_the_declared_moments(mode):
    scenario = Scenario("synthetic-9", mode, tau_ms=0)
    world = scenario.world(1)
    history = world.start(0, scenario.draw("train", 2))
    share = scenario.share_of_rtt
    assert (history[:, 1] > 100.0 * share - 5.0).all() and (history[:, 1] < 200.0 * share + 8.0).all()
    if mode == "paper":
        np.testing.assert_allclose(history[:, 2], np.resize([10.0, 20.0, 30.0], 9), rtol=0.1)


@pytest.mark.data
def test_all_pairs_by_import_agree_with_the_sample(tmp_path):
    write_all(data_root(), tmp_path / SAMPLE)
    whole, sample, fitted = load_sample(tmp_path), load_sample(), fit_world(data_root())
    assert whole.row == {link: number for number, link in enumerate(sorted(fitted.row))} and set(whole.pairs) == set(fitted.pairs)
    assert whole.links.tobytes() == fitted.links[[fitted.row[link] for link in whole.row]].tobytes()
    assert len(whole.pairs) > 40_000 and set(sample.pairs) <= set(whole.pairs)
    for link in list(sample.row)[::400]:
        np.testing.assert_allclose(
            np.array(whole.links[whole.row[link]].tolist()), np.array(sample.links[sample.row[link]].tolist()), rtol=2e-5
        )
    scenario = Scenario("world", "correlated", data=str(tmp_path))
    assert scenario.layout.card != Scenario("world", "correlated").layout.card
    assert np.median(direct_delays(scenario, scenario.draw("train", 1), 1)) > 0.0


def test_a_training_or_an_evaluation_on_the_test_split_is_refused_before_any_work(tmp_path):
    with pytest.raises(ValidationError, match=r"no argument \{'split': 'test'\}"):
        TrainConfig(env=EnvConfig(options={"split": "test"}))
    with pytest.raises(ValidationError, match="split"):
        EvaluateConfig(agent=tmp_path, split="test")
    with pytest.raises(ValueError, match="split = 'test': allowed are train, validation"):
        make_envs(EnvConfig(), 1, "test")
    assert not list(tmp_path.iterdir())


def test_runs_of_losses_change_nothing_but_which_packets_are_lost():
    delays, lost = [], []
    for run in (1.0, 3.0):
        scenario = Scenario("table1", "correlated", 20_000, loss_run_slots=run)
        world, draw = scenario.world(1), scenario.draw("train", 4)
        for found, changed in ((delays, {"lossless": True}), (lost, {})):
            world.start(0, draw._replace(parameters={**draw.parameters, **changed}))
            found.append(np.concatenate([*blocks(world, 20_000)], axis=1))
    np.testing.assert_array_equal(*delays)
    shares, runs = zip(*(loss_of((found == LOST).ravel()) for found in lost), strict=True)
    assert shares[0] == pytest.approx(shares[1], rel=0.3) and runs[1] == pytest.approx(3.0 * runs[0], rel=0.2)
