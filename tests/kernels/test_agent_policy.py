"""The agent's ordered kernels equal torch's network and a plain twin, for any number of paths, in any order, alone or in a batch."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from vcgym.agents.networks.path_network import COMMANDED, PathNet
from vcgym.agents.networks.policy import PEAK, WIDTH, AgentPolicy, output_count, tensor_shapes
from vcgym.envs.call.features.path import CALL_WIDTH, PATH_WIDTH
from vcgym.envs.faces.actions import LEVELS

HIDDEN = 12
PATHS = [0, 1, 5, 17]
FORMS = ["discrete", "both", "continuous"]


def action_space(form, paths):
    """As of Relay, Call, and either with scores; without paths as of Playout, but two choices for `both`."""
    if form == "discrete":
        return spaces.Discrete(paths or LEVELS)
    if form == "both":
        return spaces.MultiDiscrete([paths, LEVELS] if paths else [3, 4])
    return spaces.Box(-1, 1, (paths + 1,), np.float32)


def features(paths, sessions=40, seed=0):
    """Made-up observations: heavy-tailed delays, one path commanded."""
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.lognormal(-1.0, 1.5, (sessions, paths * PATH_WIDTH + CALL_WIDTH)), 20.0)
    if paths:
        of_paths = rows[:, : paths * PATH_WIDTH].reshape(sessions, paths, PATH_WIDTH)
        of_paths[:, :, COMMANDED] = np.eye(paths)[rng.integers(paths, size=sessions)]
    return rows.astype(np.float32)


def net_and_policy(form, paths, activation="tanh"):
    torch.manual_seed(paths)
    space = action_space(form, paths)
    width = paths * PATH_WIDTH + CALL_WIDTH
    net = PathNet(width, paths, output_count(space) - paths, HIDDEN, activation)
    tensors = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    return net, AgentPolicy("some/Env-v0", spaces.Box(0, 20, (width,), np.float32), space, paths, activation, tensors)


def twin(policy, row, levels):
    """Outputs for one observation, line by line as the network's docstring has them."""
    w = {name: tensor.astype(np.float64) for name, tensor in policy.tensors.items()}
    act = np.tanh if policy.activation == "tanh" else lambda x: np.maximum(x, 0)
    row = row.astype(np.float64)
    paths = [row[i : i + PATH_WIDTH] for i in range(0, len(row) - CALL_WIDTH, PATH_WIDTH)]
    call = np.arcsinh(row[-CALL_WIDTH:])
    z = call
    if paths:
        e = np.array([act(w["encode.weight"] @ [*np.arcsinh(x), *call] + w["encode.bias"]) for x in paths])
        commanded = sum(e_p * x[COMMANDED] for e_p, x in zip(e, paths, strict=True))
        z = np.concatenate([call, e.mean(axis=0), e.max(axis=0), commanded])
    t = act(w["trunk1.weight"] @ act(w["trunk0.weight"] @ z + w["trunk0.bias"]) + w["trunk1.bias"])
    outputs = []
    for x, e_p in zip(paths, e if paths else [], strict=True):
        score = w["score1.weight"] @ act(w["score0.weight"] @ [*e_p, *t] + w["score0.bias"]) + w["score1.bias"]
        outputs.append((score + w["habit.weight"] @ x)[0])
    if "rest.weight" in w:
        rest = w["rest.weight"] @ t + w["rest.bias"]
        if levels:
            place = np.log10(max(10 * row[-CALL_WIDTH:][PEAK], 1)) - 1 + rest[0]
            rest = -0.5 * ((np.linspace(-1, 1, LEVELS) - place) / (WIDTH * np.exp(rest[1]))) ** 2
        outputs.extend(rest)
    return np.array(outputs)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("paths", PATHS)
def test_outputs_equal_the_network_and_the_twin(form, paths, activation):
    net, policy = net_and_policy(form, paths, activation)
    rows = features(paths)
    got = policy.outputs(rows)
    assert got.shape == (len(rows), output_count(policy.action_space))
    np.testing.assert_allclose(got, net(torch.from_numpy(rows)).detach().numpy(), rtol=1e-4, atol=1e-4)
    levels = form == ("both" if paths else "discrete")
    np.testing.assert_allclose(got, [twin(policy, row, levels) for row in rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("paths", PATHS)
def test_shapes_are_those_of_the_network(form, paths):
    _, policy = net_and_policy(form, paths)
    expected = tensor_shapes(policy.observation_space.shape[0], paths, HIDDEN, output_count(policy.action_space))
    assert {name: tensor.shape for name, tensor in policy.tensors.items()} == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("paths", [5, 17])
def test_permuting_the_paths_permutes_the_scores(form, paths):
    _, policy = net_and_policy(form, paths)
    rows = features(paths)
    order = np.random.default_rng(1).permutation(paths)
    permuted = rows.copy()
    permuted[:, : paths * PATH_WIDTH] = rows[:, : paths * PATH_WIDTH].reshape(-1, paths, PATH_WIDTH)[:, order].reshape(len(rows), -1)
    expected = policy.outputs(rows)
    expected[:, :paths] = expected[:, order]
    np.testing.assert_allclose(policy.outputs(permuted), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("paths", PATHS)
def test_one_session_alone_equals_itself_in_a_batch(form, paths):
    _, policy = net_and_policy(form, paths)
    rows = features(paths)
    outputs, (actions, state) = policy.outputs(rows), policy.predict(rows, state="kept")
    assert state == "kept"
    assert actions.shape == (len(rows), *policy.action_space.shape)
    for i, row in enumerate(rows):
        assert policy.outputs(row[None]).tobytes() == outputs[i].tobytes()
        alone, _ = policy.predict(row)
        assert alone in policy.action_space
        assert np.asarray(alone).tobytes() == actions[i].tobytes()
    backwards, _ = policy.predict(rows[::-1])
    assert backwards[::-1].tobytes() == actions.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_an_agent_of_17_paths_acts_on_5(form):
    _, policy = net_and_policy(form, 17)
    rows = features(5)
    levels = form == "both"
    np.testing.assert_allclose(policy.outputs(rows), [twin(policy, row, levels) for row in rows], rtol=1e-12, atol=1e-12)
    actions, _ = policy.predict(rows)
    assert all(action in action_space(form, 5) for action in actions)


def test_a_continuous_action_is_cut_to_its_own_bounds():
    _, policy = net_and_policy("continuous", 0)
    space = spaces.Box(np.array([-9, 2], np.float32), np.array([-8, 3], np.float32))
    cut = AgentPolicy("some/Env-v0", policy.observation_space, space, 0, "tanh", policy.tensors | {
        "rest.weight": np.zeros((2, HIDDEN), np.float32), "rest.bias": np.array([-20.0, 2.5], np.float32),
    })  # fmt: skip
    np.testing.assert_array_equal(cut.predict(features(0, 3))[0], [[-9.0, 2.5]] * 3)


@pytest.mark.parametrize("space", [spaces.Box(0, 9, (2,), np.int64), spaces.Box(-1, 1, (2, 2), np.float32), spaces.Text(3)], ids=str)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(ValueError, match=r"action space is .*; an agent's may be Discrete, MultiDiscrete, or a Box of floats"):
        output_count(space)


@pytest.mark.parametrize(("width", "outputs", "most"), [(3 * PATH_WIDTH - 1, 9, 2), (9 * PATH_WIDTH, 2, 2)])
def test_more_paths_than_fit_are_refused(width, outputs, most):
    with pytest.raises(ValueError, match=rf"paths is 3; allowed: at most {most}, with {width} features and {outputs} outputs"):
        tensor_shapes(width, 3, HIDDEN, outputs)
