"""Each row of the table of algorithms: it trains, goes on with the same bytes, its zip acts as it did, and misfits are told."""

import shutil

import numpy as np
import pytest
import torch
from gymnasium import spaces

from vcgym.agents.config.algorithms import LibraryConfig, MaskablePPOConfig, SACConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import episode_returns
from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own
from vcgym.agents.training.learners import TABLE, fitting, name_of
from vcgym.agents.training.training import require_trainable, train

ON_POLICY = {"n_steps": 32}
REPLAYED = {"learning_starts": 40, "buffer_size": 100, "batch_size": 16}
SMALL = {
    "PPO": {**ON_POLICY, "batch_size": 32, "n_epochs": 2},
    "A2C": {"n_steps": 8},
    "TRPO": {**ON_POLICY, "batch_size": 32},
    "RecurrentPPO": {**ON_POLICY, "batch_size": 32, "n_epochs": 2},
    "DQN": REPLAYED,
    "QRDQN": REPLAYED,
    "SAC": REPLAYED,
    "TD3": REPLAYED,
    "TQC": REPLAYED,
    "ARS": {"n_delta": 2},
}
QUICK = ("PPO", "DQN", "TD3", "ARS")  # of each kind one; the others by `long`
FORM = r"env\.options\.action=relative_"
IDS = ("Relay", "Playout", "Call", "Rate", "SendOrder")


def config_of(name, folder, **changes):
    env = EnvConfig(id="vcgym/Playout-v1", options={"packets": 400})
    env = EnvConfig(id=env.id, options=env.options | {"action": fitting(name, env)})
    of_library = LibraryConfig(name=name, arguments=SMALL[name], rollout=32)
    found = {"algorithm": of_library, "num_envs": 1, "steps": 256, "evaluation_episodes": 2, "evaluate_every": 4, "checkpoint_every": 1}
    return TrainConfig(env=env, device="cpu", folder=folder, resume=True, **found | changes)


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in SMALL])
def test_one_that_was_stopped_ends_as_one_that_was_not_and_its_zip_acts_alike(tmp_path, name):
    config = config_of(name, tmp_path)
    trained = train(config, seed=3)
    assert trained.steps >= 256
    last, before = sorted((tmp_path / "seed-3" / "checkpoints").iterdir(), reverse=True)
    whole = {path.name: path.read_bytes() for path in last.iterdir()}
    weights, earlier = (torch.load(folder / "state.pt")["parameters"]["policy"] for folder in (last, before))
    assert any(not torch.equal(tensor, earlier[name]) for name, tensor in weights.items())
    shutil.rmtree(trained.agent)
    shutil.rmtree(last)
    again = train(config, seed=3)
    assert {path.name: path.read_bytes() for path in last.iterdir()} == whole
    assert again.validation == trained.validation
    agent = OwnPolicy(load_own(str(again.agent / "agent.zip")))
    assert agent.made_with["options"]["action"] == config.env.options["action"]
    envs = make_envs(config.env, 2, "validation")
    assert episode_returns(agent, envs, seed=0).mean() == pytest.approx(trained.validation.return_mean)
    envs.close()


def test_a_recurrent_agent_keeps_its_memory_within_a_call_and_not_beyond(tmp_path):
    agent = OwnPolicy(load_own(str(train(config_of("RecurrentPPO", tmp_path), seed=1).agent / "agent.zip")))
    seen = np.random.default_rng(0).normal(size=(2, *agent.observation_space.shape)).astype(np.float32)
    _, state = agent.predict(seen, None, np.ones(2, bool))
    _, going_on = agent.predict(seen, state, np.zeros(2, bool))
    _, anew = agent.predict(seen, state, np.ones(2, bool))
    assert not np.array_equal(going_on[0], state[0])
    np.testing.assert_array_equal(anew[0], state[0])


@pytest.mark.parametrize("name", TABLE)
def test_every_row_fits_every_id_in_one_form(name):
    for env_id in IDS:
        env = EnvConfig(id=f"vcgym/{env_id}-v1")
        form = fitting(name, env)
        envs = make_envs(EnvConfig(id=env.id, options={"action": form}), 1, "train")
        assert isinstance(envs.single_action_space, TABLE[name].takes)
        assert form == ("relative_discrete" if spaces.Discrete in TABLE[name].takes else "relative_continuous")
        envs.close()


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        (LibraryConfig(name="TD3"), {}, rf"algorithm is TD3 and action space is Discrete\(16\); allowed: Box \({FORM}continuous\)"),
        (SACConfig(), {}, rf"algorithm is SAC and action space is Discrete\(16\); allowed: Box \({FORM}continuous\)"),
        (LibraryConfig(name="QRDQN"), {"action": "relative_continuous"}, rf"algorithm is QRDQN .* allowed: Discrete \({FORM}discrete\)"),
        (MaskablePPOConfig(), {}, r"algorithm is MaskablePPO and .* has no action_masks; allowed: algorithm=ppo"),
        (LibraryConfig(name="DQN", arguments={"n_step": 4, "gamma": 0.9}), {}, r"algorithm\.arguments has n_step; DQN has batch_size, "),
    ],
)  # fmt: skip
def test_a_misfit_is_told_in_one_line_with_what_fits(tmp_path, algorithm, options, message):
    with pytest.raises(ValueError, match=message) as refused:
        require_trainable(TrainConfig(env=EnvConfig(id="vcgym/Call-v1", options=options), algorithm=algorithm, folder=tmp_path))
    assert "\n" not in str(refused.value)


def test_cards_tell_those_of_the_library_from_ours():
    assert [name_of(one) for one in (LibraryConfig(name="SAC"), SACConfig())] == ["SB3-SAC", "SAC"]
