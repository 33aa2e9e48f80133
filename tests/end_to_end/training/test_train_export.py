"""A published agent acts like the trained one and is loaded without torch; a bad folder is rejected."""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import load_file, save_file
from typed import output_of

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig, TrainConfig, TrainedEnv
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.evaluate import env_of, evaluate_agent, require_fit
from vcgym.agents.networks.observation import ObservedPart, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.published.export import load_agent, publish
from vcgym.agents.training.training import build_model, snapshot, train
from vcgym.envs.call.features.call import CALL_FEATURES, CALL_WIDTH
from vcgym.envs.call.features.path import PATH_FEATURES, PATH_WIDTH

HERE = Path(__file__).parent
CART = "cart:test/Cart-v0"
WIDTH = 3 * PATH_WIDTH + CALL_WIDTH  # an observation of three paths
ACTION_SPACES = [spaces.Discrete(3), spaces.MultiDiscrete([3, 4]), spaces.Box(-1, 1, (4,), np.float32)]


@pytest.fixture(autouse=True)
def cart(monkeypatch):
    monkeypatch.syspath_prepend(HERE)


def small(folder=Path(), activation="tanh"):
    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=8, activation=activation)
    return TrainConfig(env=EnvConfig(id=CART), algorithm=ppo, num_envs=4, steps=128, evaluation_episodes=3, device="cpu", folder=folder)


def agent(action_space=ACTION_SPACES[1], paths=3, hidden=16):
    rng = np.random.default_rng(0)
    observed = spaces.Box(-np.inf, np.inf, (paths * PATH_WIDTH + CALL_WIDTH,), np.float32)
    of_path, of_call = ([feature.name for feature in features] for features in (PATH_FEATURES, CALL_FEATURES))
    parts = [*([ObservedPart(name="paths", items=paths, features=of_path)] if paths else []), ObservedPart(name="call", features=of_call)]
    network = network_for(parts, output_count(action_space), hidden, "tanh")
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in network.tensor_shapes().items()}
    return AgentPolicy(CART, tuple(parts), observed, action_space, network, tensors)


def published(folder, policy):
    publish(folder, policy, algorithm="PPO", steps=1, seed=0, config_hash="0")
    return folder


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_snapshot_acts_as_the_model_it_was_taken_from(activation):
    config = small(activation=activation)
    model = build_model(config, seed=1)
    model.learn(128)
    observations = np.random.default_rng(1).normal(size=(500, 4)).astype(np.float32)
    expected, _ = model.predict(observations, deterministic=True)
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


@pytest.mark.parametrize("paths", [0, 3])
@pytest.mark.parametrize("action_space", ACTION_SPACES, ids=str)
def test_saved_agent_is_the_same(tmp_path, action_space, paths):
    policy = agent(action_space, paths)
    loaded = load_agent(published(tmp_path / "agent", policy))
    assert (loaded.observation_space, loaded.action_space, loaded.parts) == (policy.observation_space, action_space, policy.parts)
    observations = np.random.default_rng(3).normal(scale=3, size=(129, policy.observation_space.shape[0])).astype(np.float32)
    assert loaded.outputs(observations).tobytes() == policy.outputs(observations).tobytes()
    assert loaded.predict(observations)[0].tobytes() == policy.predict(observations)[0].tobytes()


def test_no_torch_is_needed_to_load_and_act(tmp_path):
    folder = published(tmp_path / "agent", agent())
    code = f"""
import sys
import numpy as np
from vcgym.agents.published.export import load_agent
load_agent({str(folder)!r}).predict(np.zeros((2, {WIDTH}), np.float32))
print(*sorted({{"torch", "stable_baselines3", "mlflow", "ray", "hydra"}} & sys.modules.keys()))
"""
    assert output_of(code) == "\n"


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros((2, 5), np.float32), rf"shape \(2, 5\); .* \(sessions, {PATH_WIDTH} \* paths \+ {CALL_WIDTH}\)"),
        (np.zeros((2, CALL_WIDTH), np.float32), rf"shape \(2, {CALL_WIDTH}\)"),
        (np.zeros((1, 2, CALL_WIDTH), np.float32), rf"shape \(1, 2, {CALL_WIDTH}\)"),
        (np.full((2, PATH_WIDTH + CALL_WIDTH), np.nan, np.float32), r"observation holds nan; allowed: finite"),
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
    with pytest.raises(ValueError, match=rf"card.json: env_id is '{CART}'; allowed: 'vcgym/Call-v1'"):
        load_agent(published(tmp_path / "agent", agent()), env_id="vcgym/Call-v1")


def calls(**options):
    return EnvConfig(id="vcgym/Call-v1", options={"packets": 60, "action": "discrete", "interval": 10} | options)


def agent_of(config, folder, rename=lambda features: features):
    """A folder with an untrained agent for the environment; `rename` is applied to the features of each part."""
    envs = make_envs(config, 1, "validation")
    observed, acted, parts = envs.single_observation_space, envs.single_action_space, observation_parts(envs)
    network = network_for(parts, output_count(acted), 4, "tanh")
    tensors = {name: np.zeros(shape, np.float32) for name, shape in network.tensor_shapes().items()}
    parts = tuple(part.model_copy(update={"features": rename(part.features)}) for part in parts)
    return published(folder, AgentPolicy(config.id, parts, observed, acted, network, tensors))


@pytest.mark.parametrize("action", ["discrete", "continuous"])
@pytest.mark.parametrize("env_id", ["vcgym/Relay-v1", "vcgym/Playout-v1", "vcgym/Call-v1"])
def test_an_agent_fits_its_environment_with_any_number_of_paths(tmp_path, env_id, action):
    options = {"packets": 60, "action": action, "interval": 10}
    folder = agent_of(EnvConfig(id=env_id, options=options), tmp_path / "agent")
    for scenario in ("wonderproxy", "table1"):
        other = EnvConfig(id=env_id, options=options | {"scenario": scenario})
        require_fit(folder, make_envs(other, 1, "validation"))
        assert np.isfinite(evaluate_agent(EvaluateConfig(agent=folder, env=other, episodes=2)).return_mean)


def test_an_agent_plays_what_its_study_says_but_for_what_is_typed(tmp_path):
    trained = calls(action="continuous", interval=20)
    folder = agent_of(trained, tmp_path / "seed-0" / "agent")
    alone = agent_of(trained, tmp_path / "alone" / "agent")
    (tmp_path / "config.json").write_text(TrainConfig(env=trained).model_dump_json())
    assert env_of(EvaluateConfig(agent=folder)) == trained
    assert env_of(EvaluateConfig(agent=folder, env=TrainedEnv(options={"interval": 50}))) == calls(action="continuous", interval=50)
    assert env_of(EvaluateConfig(agent=folder, env=calls())) == calls()
    assert env_of(EvaluateConfig(agent=alone)) == EnvConfig(id="vcgym/Call-v1")
    assert np.isfinite(evaluate_agent(EvaluateConfig(agent=folder, episodes=2)).return_mean)
    with pytest.raises(ValueError, match=r"card\.json: action_space"):
        evaluate_agent(EvaluateConfig(agent=folder, env=calls(), episodes=2))
    with pytest.raises(ValueError, match=r"env\.id is 'vcgym/Relay-v1'; allowed: vcgym/Call-v1, that of .*card\.json"):
        env_of(EvaluateConfig(agent=folder, env=TrainedEnv(id="vcgym/Relay-v1")))
    (tmp_path / "config.json").write_text(TrainConfig(env=EnvConfig(id="vcgym/Relay-v1")).model_dump_json())
    with pytest.raises(ValueError, match=r"config\.json: env\.id is 'vcgym/Relay-v1'; allowed: vcgym/Call-v1, .*; or type env\.id=ID"):
        env_of(EvaluateConfig(agent=folder))


PLAYOUT = EnvConfig(id="vcgym/Playout-v1", options={"packets": 60})


@pytest.mark.parametrize(
    ("trained", "played", "message"),
    [
        (calls(), calls(action="continuous"), r"action_space over 17 items is MultiDiscrete\(\[17 32\]\), expected Box"),
        (calls(action="continuous"), calls(), r"action_space over 17 items is Box.*, expected MultiDiscrete"),
        (calls(), calls(action="exact"), r"action_space over 17 items is MultiDiscrete.*, expected Box"),
        (PLAYOUT, calls(), r"features of the observation are \[\('call', "),
    ],
)
def test_an_agent_of_another_environment_or_action_is_refused(tmp_path, trained, played, message):
    with pytest.raises(ValueError, match=rf"card\.json: {message}"):
        require_fit(agent_of(trained, tmp_path / "agent"), make_envs(played, 1, "validation"))


@pytest.mark.parametrize(
    "rename",
    [
        lambda features: [*features[:-2], features[-1], features[-2]],
        lambda features: [name.replace("newest_delay", "oldest_delay") for name in features],
    ],
    ids=["order", "path"],
)
def test_an_agent_of_other_features_is_refused(tmp_path, rename):
    folder = agent_of(calls(), tmp_path / "agent", rename)
    with pytest.raises(ValueError, match=r"card\.json: features of the observation are .*, expected .*newest_delay"):
        evaluate_agent(EvaluateConfig(agent=folder, env=calls(), episodes=2))


def test_truncated_weights_are_refused(tmp_path):
    weights = published(tmp_path / "agent", agent()) / "agent.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"agent\.safetensors cannot be read"):
        load_agent(tmp_path / "agent")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("trunk.1.weight", lambda t: t[:, :-1].copy(), r"trunk\.1\.weight is float32 \(16, 15\); allowed: float32 \(16, 16\)"),
        ("trunk.0.bias", lambda t: np.full_like(t, np.nan), r"trunk\.0\.bias holds nan; allowed: finite"),
        ("skip.0.weight", lambda t: t.astype(np.float64), rf"skip\.0\.weight is float64 \(1, {PATH_WIDTH}\); allowed: float32"),
        ("rest.0.bias", None, r"tensors \['rest\.0\.bias'\] are missing or unknown"),
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
    ("field", "value", "message"),
    [
        ("format", 1, r"card\.json: format is 1; allowed: 2; train the agent again"),
        ("network", {"items": None, "context": 3, "trunk": []}, r"card\.json: .*network\.trunk"),
        ("observation", [], r"observation has 0 features, expected 39 as observation_space has"),
        ("observation", [{"name": "call", "features": ["x"] * 39}], r"has \(0, 39\) features of an item .*, expected \(9, 12\)"),
        ("action_space", {"kind": "Discrete", "n": 9}, "network has 7 outputs, expected 9 as action_space needs"),
        ("steps", None, r"card\.json: steps is None"),
        ("unheard_of", 1, r"card\.json: unheard_of is 1"),
        ("observation_space", {"kind": "Text"}, "Text"),
        ("observation_space", {"kind": "Discrete", "n": 9}, r"observation_space is .Discrete\(9\).*; allowed: a Box"),
        ("action_space", {"kind": "Box", "shape": [], "dtype": "int64", "low": ["0"], "high": ["9"]}, "an agent's may be Discrete"),
    ],
)
def test_bad_card_is_refused(tmp_path, field, value, message):
    path = published(tmp_path / "agent", agent()) / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(ValueError, match=message):
        load_agent(tmp_path / "agent")


def test_a_second_training_in_the_same_folder_is_refused(tmp_path):
    train(small(tmp_path), seed=0)
    with pytest.raises(FileExistsError, match="resume is False"):
        train(small(tmp_path), seed=0)


def test_ids_of_gymnasium_without_a_vector_face_are_refused():
    gymnasium.register("test/Scalar-v0", entry_point=gymnasium.Env)
    with pytest.raises(ValueError, match=r"test/Scalar-v0.* has no native vector environment"):
        EnvConfig(id="test/Scalar-v0")
