"""A published agent acts as the trained one did, whatever the batch, and a bad folder is refused."""

import json
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import load_file, save_file
from stable_baselines3.common.vec_env import VecNormalize

from vcgym.agents.config import EnvConfig, PPOConfig, TrainConfig
from vcgym.agents.export import load_agent, publish
from vcgym.agents.policy import AgentPolicy, output_count
from vcgym.agents.training import build_model, snapshot, train

HERE = Path(__file__).parent
CART = "cart:test/Cart-v0"
ACTION_SPACES = [spaces.Discrete(3), spaces.MultiDiscrete([3, 4]), spaces.Box(-1, 1, (2,), np.float32)]


@pytest.fixture(autouse=True)
def cart(monkeypatch):
    monkeypatch.syspath_prepend(HERE)


def small(folder=Path(), activation="tanh"):
    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=[8, 5], activation=activation)
    return TrainConfig(env=EnvConfig(id=CART), algorithm=ppo, num_envs=4, steps=128, evaluation_episodes=3, device="cpu", folder=folder)


def agent(action_space=ACTION_SPACES[1], features=6):
    rng = np.random.default_rng(0)
    widths = [features, 16, 16, output_count(action_space)]
    layers = tuple(
        (rng.normal(size=(b, a)).astype(np.float32), rng.normal(size=b).astype(np.float32))
        for a, b in pairwise(widths)
    )
    observed = spaces.Box(-np.inf, np.inf, (features,), np.float32)
    return AgentPolicy(CART, observed, action_space, "tanh", rng.normal(size=features), rng.uniform(0.1, 2, size=features), layers)


def published(folder, policy):
    publish(folder, policy, features=[], algorithm="PPO", steps=1, seed=0, config_hash="0")
    return folder


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_snapshot_acts_as_the_model_it_was_taken_from(activation):
    config = small(activation=activation)
    model = build_model(config, seed=1)
    model.learn(128)
    assert isinstance(model.env, VecNormalize)
    observations = np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32)
    expected, _ = model.predict(model.env.normalize_obs(observations), deterministic=True)
    got, _ = snapshot(model, config).predict(observations)
    np.testing.assert_array_equal(got, expected)
    assert set(got) == {0, 1}


def test_trained_and_loaded_agent_acts_identically(tmp_path):
    config = small(tmp_path)
    trained = train(config, seed=3)
    model = build_model(config, seed=3)
    model.learn(128)
    loaded, live = load_agent(trained.agent, env_id=CART), snapshot(model, config)
    observations = np.random.default_rng(2).normal(size=(200, 4)).astype(np.float32)
    assert loaded.outputs(observations).tobytes() == live.outputs(observations).tobytes()
    assert trained.steps == json.loads((trained.agent / "card.json").read_text())["steps"] == 128


@pytest.mark.parametrize("action_space", ACTION_SPACES, ids=str)
def test_saved_agent_is_the_same_and_no_batch_changes_an_action(tmp_path, action_space):
    policy = agent(action_space)
    loaded = load_agent(published(tmp_path / "agent", policy))
    observations = np.random.default_rng(3).normal(scale=3, size=(129, 6)).astype(np.float32)
    assert loaded.outputs(observations).tobytes() == policy.outputs(observations).tobytes()
    actions, state = loaded.predict(observations, state="kept")
    assert state == "kept"
    assert actions.shape == (129, *action_space.shape)
    for i in (0, 1, 64, 128):
        alone, _ = loaded.predict(observations[i])
        assert alone in action_space
        assert np.asarray(alone).tobytes() == actions[i].tobytes()
    backwards, _ = loaded.predict(observations[::-1])
    assert backwards[::-1].tobytes() == actions.tobytes()


def test_outputs_equal_the_plain_matrix_product():
    policy = agent()
    rows = np.random.default_rng(4).normal(size=(20, 6))
    values = np.clip((rows - policy.mean) / np.sqrt(policy.variance + 1e-8), -10, 10).astype(np.float32).astype(np.float64)
    for depth, (weight, bias) in enumerate(policy.layers):
        values = values @ weight.T.astype(np.float64) + bias
        if depth < 2:
            values = np.tanh(values)
    np.testing.assert_allclose(policy.outputs(rows), values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros((2, 5), np.float32), r"shape \(2, 5\); .* \(sessions, 6\)"),
        (np.full((2, 6), np.nan, np.float32), r"observation holds nan; allowed: finite"),
    ],
)
def test_bad_observation_is_refused(observation, message):
    with pytest.raises(ValueError, match=message):
        agent().predict(observation)


def test_nothing_is_overwritten(tmp_path):
    folder = published(tmp_path / "agent", agent())
    with pytest.raises(FileExistsError, match="exists already"):
        published(folder, agent())


def test_agent_of_another_environment_is_refused(tmp_path):
    with pytest.raises(ValueError, match=rf"card.json: env_id is '{CART}', expected 'vcgym/Call-v0'"):
        load_agent(published(tmp_path / "agent", agent()), env_id="vcgym/Call-v0")


def test_truncated_weights_are_refused(tmp_path):
    weights = published(tmp_path / "agent", agent()) / "agent.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"agent\.safetensors cannot be read"):
        load_agent(tmp_path / "agent")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("1.weight", lambda t: t[:, :-1].copy(), r"1\.weight is float32 \(16, 15\), expected float32 \(16, 16\)"),
        ("0.bias", lambda t: np.full_like(t, np.nan), r"0\.bias holds nan, expected finite"),
        ("mean", lambda t: t.astype(np.float32), r"mean is float32 \(6,\), expected float64"),
        ("variance", lambda t: -t, r"variance holds -.*, expected at least 0"),
        ("2.bias", None, r"holds .* expected .*'2\.bias'"),
    ],
)
def test_bad_tensor_is_refused(tmp_path, name, change, message):
    weights = published(tmp_path / "agent", agent()) / "agent.safetensors"
    tensors = load_file(weights)
    tensor = tensors.pop(name)
    if change is not None:
        tensors[name] = change(tensor)
    save_file(tensors, weights)
    with pytest.raises(ValueError, match=message):
        load_agent(tmp_path / "agent")


@pytest.mark.parametrize(
    ("field", "value"), [("format", 2), ("hidden", "many"), ("unheard_of", 1), ("observation_space", {"kind": "Text"}), ("steps", None)]
)
def test_bad_card_is_refused(tmp_path, field, value):
    path = published(tmp_path / "agent", agent()) / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(ValueError, match=r"card\.json is no agent's card(.|\n)*" + field if field != "observation_space" else "Text"):
        load_agent(tmp_path / "agent")


def test_a_second_training_in_the_same_folder_is_refused(tmp_path):
    train(small(tmp_path), seed=0)
    with pytest.raises(FileExistsError, match="resume is False"):
        train(small(tmp_path), seed=0)


def test_training_improves_the_agent(tmp_path):
    ppo = PPOConfig(n_steps=32, batch_size=128, n_epochs=4, learning_rate=3e-3)
    config = small(tmp_path).model_copy(update={"algorithm": ppo, "num_envs": 16, "steps": 8192, "evaluate_every": 16})
    returns = []
    trained = train(config, 0, lambda metrics, steps: returns.append(metrics.get("rollout/ep_rew_mean", np.nan)))
    assert np.nanmin(returns) < 30
    assert trained.validation.return_mean > 50


def test_ids_of_gymnasium_without_a_vector_face_are_refused():
    gymnasium.register("test/Scalar-v0", entry_point=gymnasium.Env)
    with pytest.raises(ValueError, match=r"test/Scalar-v0.* has no native vector environment"):
        EnvConfig(id="test/Scalar-v0")
