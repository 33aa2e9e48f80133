"""The search on whole calls: fresh training worlds of every kind, the return of the environment, and a learned system that loads."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from lab.learners import whole_search
from lab.learners.whole_search import SUITE, WholeConfig, WholeWorlds, call_returns, system_of, train_whole
from vcgym.agents.controllers.learned_order import NUMBERS
from vcgym.baselines.systems import learned_system, load_system
from vcgym.baselines.zoo import LEARNED
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls
from vcgym.leaderboard.evaluation.kinds.whole import play_whole

BEST = 0.7
"""Each weight of the best order, in the fake of the score."""


@pytest.fixture
def without_calls(monkeypatch):
    """Score a system by the distance of its order from a known one, and note the worlds."""
    drawn = []

    def play(system, scenario, worlds):
        drawn.extend((world.split, world.kind, world.seed, world.paths.pair) for world in worlds)
        far = system.order.weights - BEST
        return FinishedCalls([-float(far @ far)] * len(worlds), 0.0, 0.0)

    monkeypatch.setattr(whole_search, "play_whole", play)
    monkeypatch.setattr(whole_search, "call_returns", lambda calls: calls)
    return drawn


def test_generations_have_fresh_training_worlds_of_every_kind(without_calls):
    config = WholeConfig(trials=12, population=4)
    for seed in (0, 1):
        worlds = WholeWorlds(config, seed)
        for chunk in range(len(worlds)):
            assert worlds.scores([system_of(np.zeros(NUMBERS))], chunk)[0].shape == (12,)
    assert len(set(without_calls)) == len(without_calls) == 2 * 3 * 12
    assert {split for split, *_ in without_calls} == {"train"}
    assert {kind for _, kind, *_ in without_calls} == {p.stratum for p in SUITE.parts}


def test_it_learns_saves_and_resumes(without_calls, tmp_path):
    config = WholeConfig(trials=480, worlds=1, validation_worlds=1, folder=tmp_path)
    found = train_whole(config, 3, lambda trials, gain: None)
    learned, start = learned_system(tmp_path / "seed-3", LEARNED), system_of(np.zeros(NUMBERS))
    assert found["difference"] > 0.0
    np.testing.assert_allclose(learned.order.weights, BEST, atol=0.2)
    assert learned.rate == start.rate and learned.pacing == start.pacing == 2.5 and np.array_equal(learned.path.prices, start.path.prices)
    files = {file.name: file.read_bytes() for file in (tmp_path / "seed-3").iterdir()}
    train_whole(config, 3, lambda trials, gain: None)
    assert files == {file.name: file.read_bytes() for file in (tmp_path / "seed-3").iterdir()}


@pytest.mark.long
def test_the_score_is_the_return_of_the_environment():
    """The agent sets only the order, and keeps the first scheduler, which is that of the plain call."""
    plain, part = load_system("CALL-PLAIN"), SUITE.parts[0]._replace(split="validation")
    scenario = SUITE.kind.open(part, 300)
    which = [(scenario.paths.pairs("validation")[0], 5)]
    envs = gymnasium.make_vec(
        "vcgym/Call-v1", num_envs=1, scenario="wonderproxy", mode="correlated", packets=300, split="validation", uplink="rate",
        path=plain.path, playout=plain.playout, rate=plain.rate, pacing=plain.pacing, action="discrete", reward="emodel",
        autoreset_mode=AutoresetMode.DISABLED,
    )  # fmt: skip
    envs.reset(seed=[5], options={"pair": which[0][0], "kind": part.stratum})
    total, is_over = 0.0, False
    while not is_over:
        _, reward, ended, cut, _ = envs.step(np.zeros(1, np.int64))
        total, is_over = total + float(reward[0]), bool(ended[0] or cut[0])
    envs.close()
    (score,) = call_returns(play_whole(plain, scenario, SUITE.kind.draw(part, scenario, which)).calls)
    assert score == pytest.approx(100.0 * total / 6000, rel=1e-9)
