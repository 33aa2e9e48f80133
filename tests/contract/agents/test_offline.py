"""Offline sets: the same bytes for a seed, Minari reads and replays them, agents learn from them, and what does not fit is refused."""

import sys

import gymnasium
import minari
import numpy as np
import pytest
import torch

from vcgym.agents.config.algorithms import OfflineConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig, TrainConfig
from vcgym.agents.evaluation.evaluate import evaluate_agent
from vcgym.agents.networks.observation import ObservedPart, network_for
from vcgym.agents.offline import recorded
from vcgym.agents.offline.behaviour import BEHAVIOURS, Greedy
from vcgym.agents.offline.learner import OfflineLearner
from vcgym.agents.offline.recorded import Transitions, read_set, record, set_id, write_set
from vcgym.agents.training import offline
from vcgym.agents.training.training import require_trainable, train
from vcgym.envs.environments.vector.actions import HEADROOMS_US
from vcgym.leaderboard.evaluation.participants import published_agent
from vcgym.scripts.console.program import _extra_of

pytestmark = pytest.mark.usefixtures("one_thread")
CALL = EnvConfig(id="vcgym/Call-v1", options={"packets": 1000})
RATE = EnvConfig(id="vcgym/Rate-v1", options={"seconds": 5.0})


def made(folder, env, behaviour, calls=3):
    return write_set(folder, env, behaviour, list(record(env, behaviour, calls, 7, "train")))


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("env", [CALL, RATE], ids=["call", "rate"])
def test_one_seed_makes_the_same_bytes_in_batches_of_any_size_and_minari_replays_them(tmp_path, monkeypatch, env, behaviour):
    made(tmp_path / "together", env, behaviour)
    monkeypatch.setattr(recorded, "TOGETHER", 2)
    made(tmp_path / "apart", env, behaviour)
    assert files_of(tmp_path / "together") == files_of(tmp_path / "apart")
    assert gymnasium.spec(env.id).kwargs == {}  # a set with options leaves the registered id as it is
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "apart"))
    found = minari.load_dataset(set_id(env.id, behaviour))
    again = found.recover_environment()
    assert found.observation_space == again.observation_space and found.action_space == again.action_space
    assert found.total_episodes == 3
    last = list(found.iterate_episodes())[-1]
    observation, _ = again.reset(seed=9)
    for number, action in enumerate(last.actions):
        assert np.array_equal(observation, last.observations[number])
        observation, reward, _, ended, _ = again.step(action)
        assert reward == last.rewards[number] and ended == last.truncations[number]
    assert np.array_equal(observation, last.observations[-1]) and ended


def test_calls_of_a_mixture_differ_in_their_rules_and_an_explorer_takes_any_action(tmp_path):
    rule, mixture, exploring = (list(record(CALL, name, 20, 0, "train")) for name in BEHAVIOURS)
    headrooms = [{np.unique(call.actions % len(HEADROOMS_US)).size for call in calls} for calls in (rule, mixture)]
    assert headrooms == [{1}, {1}]  # one rule drives a whole call
    assert {int(call.actions[0] % len(HEADROOMS_US)) for call in mixture} == {2, 3, 4, 5}
    taken = np.bincount(np.concatenate([call.actions for call in exploring]), minlength=16) / sum(len(call.actions) for call in exploring)
    assert (taken > 0).all() and taken[[Greedy(0.4, 3).headroom, 3 + len(HEADROOMS_US)]].sum() > 0.65


def test_cloning_a_rule_decides_as_it_does(tmp_path):
    folder = made(tmp_path, CALL, "rule", 100)
    logged = read_set(folder, CALL)
    parts = [ObservedPart(name="all", features=[str(i) for i in range(logged.observations.shape[1])])]
    learner = OfflineLearner(network_for(parts, 16, 64, "relu"), OfflineConfig(), logged, 0)
    for _ in range(1500):
        learner.train_step()
    others = np.concatenate([call.observations for call in record(CALL, "exploring", 20, 5000, "validation")])
    with torch.no_grad():
        chosen = learner.policy(torch.from_numpy(others)).argmax(dim=1).numpy()
    assert (chosen == Greedy(0.4, 3)(others)).mean() > 0.97


def test_implicit_q_learning_prefers_what_paid_where_cloning_takes_what_was_frequent():
    draws, n = np.random.default_rng(0), 2000
    seen = draws.standard_normal((n, 2)).astype(np.float32)
    actions = (draws.random(n) < 0.3).astype(np.int64)
    pays = actions == (seen[:, 0] > 0)
    logged = Transitions(seen, actions, pays.astype(np.float32), np.roll(seen, -1, axis=0), np.arange(n) % 20 == 19)
    network, found = network_for([ObservedPart(name="all", features=["0", "1"])], 2, 16, "relu"), {}
    for name in ("BC", "IQL"):
        settings = OfflineConfig(name=name, gamma=0.0, temperature=10.0, hidden=16)
        learner = OfflineLearner(network, settings, logged, 0)
        for _ in range(400):
            learner.train_step()
        with torch.no_grad():
            found[name] = learner.policy(torch.from_numpy(seen)).argmax(dim=1).numpy()
    assert (found["BC"] == 0).all() and (found["IQL"] == (seen[:, 0] > 0)).mean() > 0.9


def training(folder, dataset, env=CALL, **changed):
    small = OfflineConfig(dataset=dataset, batch_size=32, hidden=8, **changed)
    return TrainConfig(env=env, algorithm=small, steps=9600, evaluate_every=1, checkpoint_every=1, evaluation_episodes=2, folder=folder)


@pytest.mark.parametrize("name", ["BC", "IQL"])
def test_a_training_that_was_interrupted_ends_with_the_same_bytes(tmp_path, monkeypatch, name):
    dataset, learn, done = made(tmp_path, CALL, "mixture"), OfflineLearner.train_step, []
    whole = train(training(tmp_path / "whole", dataset, name=name), 0)

    def learn_or_die(learner):
        if learner.updates == 250 and not done:
            done.append(True)
            raise KeyboardInterrupt
        return learn(learner)

    monkeypatch.setattr(offline.OfflineLearner, "train_step", learn_or_die)
    with pytest.raises(KeyboardInterrupt):
        train(training(tmp_path / "cut", dataset, name=name), 0)
    with pytest.raises(FileExistsError, match="resume is False"):
        train(training(tmp_path / "cut", dataset, name=name), 0)
    cut = train(training(tmp_path / "cut", dataset, name=name).model_copy(update={"resume": True}), 0)
    assert cut.validation == whole.validation and cut.steps == 9600
    assert (cut.agent / "agent.safetensors").read_bytes() == (whole.agent / "agent.safetensors").read_bytes()
    played = evaluate_agent(EvaluateConfig(agent=whole.agent, env=CALL, episodes=2))
    assert played == whole.validation and published_agent(whole.agent).env == CALL.id


def test_what_does_not_fit_is_refused_in_one_line(tmp_path, monkeypatch):
    dataset = made(tmp_path, CALL, "rule", 1)
    refused = {
        r"algorithm\.dataset is .*nowhere; allowed: the folder of a set, such as outputs/offline/vcgym/call/rule-v0": (
            tmp_path / "nowhere",
            CALL,
        ),
        r"metadata\.json: env\.id is vcgym/Call-v1; allowed: vcgym/Rate-v1": (dataset, RATE),
        r"metadata\.json: observation space is Box.* allowed: Box": (dataset, EnvConfig(id=CALL.id, options={"action": "discrete"})),
    }
    for message, (folder, env) in refused.items():
        with pytest.raises(ValueError, match=message):
            require_trainable(training(tmp_path / "no", folder, env))
    with pytest.raises(FileExistsError, match="exists already; nothing is overwritten"):
        made(tmp_path, CALL, "rule", 1)
    with pytest.raises(
        ValueError, match=r"env\.id is 'vcgym/Relay-v1' with actions Discrete\(2\); allowed: vcgym/Call-v1 or vcgym/Rate-v1"
    ):
        list(record(EnvConfig(id="vcgym/Relay-v1"), "rule", 1, 0, "train"))
    (dataset / "data" / "metadata.json").write_text("{}")
    with pytest.raises(ValueError, match=r"metadata\.json: KeyError .* allowed: id and spaces of an environment"):
        read_set(dataset, CALL)


def test_without_minari_a_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ModuleNotFoundError) as refused:
        made(tmp_path, CALL, "rule", 1)
    assert refused.value.name == "minari" and _extra_of("minari") == "offline" == _extra_of("torchrl")
