"""Trainings inside the loop: advantages, any number of threads, controls in turns, worlds of several kinds, what an environment says."""

import hashlib

import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig, PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.controllers.learned_aim import LearnedAim
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_margin import LearnedMargin
from vcgym.agents.controllers.learned_switch import LearnedSwitch
from vcgym.agents.inside.learner import Learning
from vcgym.agents.inside.rollout import play
from vcgym.agents.inside.tasks import task_of
from vcgym.agents.inside.update import leave_one_out, returns
from vcgym.agents.training.training import require_trainable
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedCopies
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.rule import Control
from vcgym.network.scenarios.paths.synthetic import normal_table
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper

PACKETS, REPLICAS = 400, 4
SMALL = InsidePPOConfig(replicas=REPLICAS, hidden=8, noise_sd=0.7, mirrored=False)


class OnePath(Recipe):
    """A path and no other."""

    modes = ("paper",)

    def __init__(self, settings):
        self.strata = {"independent": 1.0}
        self.layout = Layout(("alone",), np.zeros((1, 1), np.int64), hashlib.sha256(b"one path").hexdigest())

    def pairs(self, split):
        return ["here-there"]

    def world(self, sessions):
        return LinkWorld(Paper(), sessions, self.layout.path_links)

    def parameters(self, split, pair, stratum, draws):
        return {"quantiles_ms": np.array([normal_table(80.0, 5.0)]), "loss": np.zeros(1)}


@pytest.mark.long  # trainings
@pytest.mark.parametrize(("env_id", "control", "rule"), [("Rate", Control.RATE, LearnedAim), ("SendOrder", Control.ORDER, LearnedMargin)])
def test_a_control_of_the_sender_learns_with_any_threads_and_takes_no_added_delay(env_id, control, rule):
    env, settings = EnvConfig(id=f"vcgym/{env_id}-v1", options={"seconds": 5.0, "worlds": 3}), SMALL.model_copy(update={"replicas": 2})
    first, second = (Learning(env, settings, 4, 1_000_000, 0, threads) for threads in (1, 2))
    start = weights(first)
    for learning in (first, second):
        learning.train_step()
    assert start != weights(first) == weights(second) and first.packets > 0
    assert isinstance(first.system.rules[control], rule) and (control == Control.RATE or first.system.rate == Tfrc())
    with pytest.raises(ValueError, match="max_added_ms is 30; allowed in environments over a bottleneck: 0"):
        Learning(env, settings.model_copy(update={"max_added_ms": 30.0}), 4, 100_000, 0)


@pytest.mark.parametrize("env_id", ["vcgym/Rate-v1", "vcgym/SendOrder-v1"])
def test_validation_calls_over_a_bottleneck_have_a_finite_return(env_id):
    learning = Learning(EnvConfig(id=env_id, options={"seconds": 5.0, "worlds": 3}), SMALL, 2 * REPLICAS, 1000, 0)
    (played,) = [play(learning.task, learning.ranked(), worlds, np.arange(2)) for worlds in learning.task.worlds("validation", 2)]
    assert np.isfinite(played.returned).all() and played.decided.tolist() == [0, 0] and played.packets > 0


def test_controls_explore_in_turns():
    one, two, three = (weights(learned(turns=turns)) for turns in (0, 1, 2))
    assert {control for control, name in one if one[control, name] != two[control, name]} == {Control.PATH}
    assert {control for control, name in one if two[control, name] != three[control, name]} == {Control.PLAYOUT}


def test_a_rollout_has_calls_of_each_kind():
    kinds = ["wonderproxy correlated", "table1 paper"]
    learning = learned(turns=0, scenario=kinds)
    assert [f"{worlds.scenario.name} {worlds.scenario.mode}" for worlds in learning.task.training_worlds] == kinds
    assert [len(worlds) for worlds in learning.task.training_worlds] == [2, 2]  # three worlds in all, rounded up
    alone = learned(turns=1)
    learning.train_step()
    assert 1.5 * alone.decisions < learning.decisions < 2.5 * alone.decisions
    assert weights(learned(turns=1, scenario=kinds[:1])) == weights(alone) != weights(learning)


def test_training_worlds_may_be_longer():
    usual, longer = (learned(turns=0, worlds=40, max_added_ms=added).task.training_worlds[0].world.loaded for added in (0.0, 30.0))
    added_us = (longer - usual)[:, :, 0][usual[:, :, 0] >= 0]
    assert added_us.min() == 0 and 20_000 < added_us.max() <= 30_000
    assert np.mean(added_us > 0) == pytest.approx(0.5, abs=0.25)


@pytest.mark.parametrize(
    ("env_id", "options", "message"),
    [
        ("vcgym/Relay-v1", {"packets": 15}, "path has nothing to decide in calls of 0.15 s"),
        ("vcgym/Call-v1", {"packets": 15}, "path has nothing to decide in calls of 0.15 s"),
        ("vcgym/Relay-v1", {"scenario": OnePath, "mode": "paper", "packets": 400}, "path has nothing to decide in calls of 4 s"),
    ],
    ids=["short", "short, both", "one path"],
)
def test_a_control_without_a_decision_is_refused(tmp_path, env_id, options, message):
    with pytest.raises(ValueError, match=message) as refused:
        require_trainable(TrainConfig(env=EnvConfig(id=env_id, options=options), algorithm=SMALL, num_envs=8, folder=tmp_path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("algorithm", [PPOConfig(), LibraryConfig(name="DQN")], ids=["ppo", "dqn"])
def test_an_action_without_a_choice_is_refused(tmp_path, algorithm):
    env = EnvConfig(id="vcgym/Relay-v1", options={"scenario": OnePath, "mode": "paper", "packets": 400})
    with pytest.raises(ValueError, match=r"action space of vcgym/Relay-v1 is Discrete\(1\); allowed: two actions or more"):
        require_trainable(TrainConfig(env=env, algorithm=algorithm, folder=tmp_path))


def random_records(sessions=8, room=30, slots=25):
    draws = np.random.default_rng(0)
    count = draws.integers(0, room + 1, sessions)
    slot = np.sort(draws.integers(0, slots, (sessions, room)), axis=1).astype(np.int32)
    return draws.standard_normal((sessions, room)).astype(np.float32), slot, count


def test_returns_and_advantages_equal_plain_twins():
    gain, slot, count = random_records()
    found, less = np.zeros_like(gain), np.zeros_like(gain)
    returns(gain, slot, count, 0.9, found)
    leave_one_out(found, slot, count, REPLICAS, 0.9, np.zeros(40), less)
    for s, n in np.ndindex(gain.shape):
        if n >= count[s]:
            continue
        later = range(n, count[s])
        assert found[s, n] == pytest.approx(sum(0.9 ** (slot[s, k] - slot[s, n]) * gain[s, k] for k in later), abs=1e-5)
        others = [k for k in range(s // REPLICAS * REPLICAS, s // REPLICAS * REPLICAS + REPLICAS) if k != s]
        assert less[s, n] == pytest.approx(found[s, n] - np.mean([from_slot(found, slot, count, k, slot[s, n]) for k in others]), abs=1e-5)


def from_slot(of, slot, count, s, at):
    """Return of a session from a slot on: discounted from its next decision."""
    following = [n for n in range(count[s]) if slot[s, n] >= at]
    return 0.9 ** (slot[s, following[0]] - at) * of[s, following[0]] if following else 0.0


def learned(env_id="vcgym/Call-v1", turns=2, threads=1, worlds=3, scenario="wonderproxy", **changed):
    settings = SMALL.model_copy(update=changed)
    env = EnvConfig(id=env_id, options={"packets": PACKETS, "reward": "impairment", "worlds": worlds, "scenario": scenario})
    learning = Learning(env, settings, 2 * REPLICAS, 1_000_000, 0, threads)
    for _ in range(turns):
        learning.train_step()
    return learning


def weights(learning):
    return {
        (control, name): tensor.numpy().tobytes() for control, one in learning.networks.items() for name, tensor in one.state_dict().items()
    }


@pytest.mark.long  # three trainings
def test_a_training_is_the_same_with_the_same_seed_and_any_threads():
    first, second = learned(), learned(threads=2)
    assert weights(first) == weights(second) != weights(learned(turns=1))
    assert isinstance(first.system.path, LearnedSwitch) and isinstance(first.system.playout, LearnedLag)


def test_an_environment_says_what_learns():
    assert list(learned("vcgym/Playout-v1", turns=1).networks) == [Control.PLAYOUT]
    assert list(learned("vcgym/Relay-v1", turns=1).networks) == [Control.PATH]
    assert list(task_of(EnvConfig(id="vcgym/Rate-v1")).learned) == [Control.RATE]
    assert list(task_of(EnvConfig(id="vcgym/SendOrder-v1")).learned) == [Control.ORDER]
    with pytest.raises(ValueError, match="sets other controls; allowed: environments over paths without an uplink"):
        task_of(EnvConfig(id="vcgym/Call-v1", options={"uplink": "order"}))


def test_a_task_passes_protection_and_its_budget_on():
    copies = FixedCopies()
    options = {"path": Direct(), "protection": copies, "protection_budget": 0.5, "scenario": "table1", "packets": PACKETS}
    task = task_of(EnvConfig(id="vcgym/Call-v1", options=options))
    batch, _ = task.started({**task.rules, "playout": WMJitter()}, task.worlds("train", 2)[0], np.arange(2))
    assert task.learned == ["playout"] and (batch.protecting.rule, batch.budget) == (copies, 0.5)
    with pytest.raises(ValueError, match="sets path and playout and protection; allowed"):
        task_of(EnvConfig(id="vcgym/Call-v1", options={"protection": None}))
