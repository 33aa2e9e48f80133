"""The network over a queue: without torch it equals torch's and a plain twin, for any length, in any order, alone or in a batch."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from vcgym.agents.networks.policy import AgentPolicy, tensor_shapes
from vcgym.agents.networks.queue_network import AGE, ALONE, AUDIO, PRESENT, TO_SPARE, QueueNet
from vcgym.agents.networks.queue_policy import ABSENT
from vcgym.envs.call.features.sender import ORDER_FEATURES, PLACE_WIDTH

HIDDEN = 12
CALL = len(ORDER_FEATURES)


def features(places, sessions=40, seed=0):
    """Made-up observations: some places hold a packet, the first ones, at least one."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(0.0, 1.0, (sessions, places * PLACE_WIDTH + CALL))
    of_places = rows[:, : places * PLACE_WIDTH].reshape(sessions, places, PLACE_WIDTH)
    present = np.arange(places) < rng.integers(1, places + 1, (sessions, 1))
    of_places *= present[:, :, None]
    of_places[:, :, PRESENT] = present
    return rows.astype(np.float32)


def net_and_policy(places, activation="tanh"):
    torch.manual_seed(places)
    width = places * PLACE_WIDTH + CALL
    net = QueueNet(width, places, HIDDEN, activation)
    tensors = {name: tensor.detach().numpy() for name, tensor in net.state_dict().items()}
    observed = spaces.Box(-20, 20, (width,), np.float32)
    return net, AgentPolicy("vcgym/SendOrder-v0", observed, spaces.Discrete(2 * places), 0, activation, tensors, places=places)


def twin(policy, row, places):
    """Logits for one observation, line by line as the network's docstring has them."""
    w = {name: tensor.astype(np.float64) for name, tensor in policy.tensors.items()}
    act = np.tanh if policy.activation == "tanh" else lambda x: np.maximum(x, 0)
    row = row.astype(np.float64)
    call = np.arcsinh(row[places * PLACE_WIDTH :])
    waiting = [x for x in row[: places * PLACE_WIDTH].reshape(places, PLACE_WIDTH) if x[PRESENT] > 0]
    e = np.array([act(w["encode.weight"] @ [*np.arcsinh(x), *call] + w["encode.bias"]) for x in waiting])
    z = np.concatenate([call, e.mean(axis=0), np.maximum(e.max(axis=0), 0.0)])
    t = act(w["trunk1.weight"] @ act(w["trunk0.weight"] @ z + w["trunk0.bias"]) + w["trunk1.bias"])
    out = np.full((2, places), ABSENT)
    for i, (x, e_i) in enumerate(zip(waiting, e, strict=True)):
        inner = act(w["score0.weight"] @ [*e_i, *t] + w["score0.bias"])
        out[:, i] = w["score1.weight"] @ inner + w["score1.bias"] + w["habit.weight"] @ x
    return out.ravel()


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("places", [1, 5, 32])
def test_queue_outputs_equal_the_network_and_the_twin(places, activation):
    net, policy = net_and_policy(places, activation)
    rows = features(places)
    got = policy.outputs(rows)
    assert got.shape == (len(rows), 2 * places)
    np.testing.assert_allclose(got, net(torch.from_numpy(rows)).detach().numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got, [twin(policy, row, places) for row in rows], rtol=1e-11, atol=1e-11)
    expected = tensor_shapes(rows.shape[1], 0, HIDDEN, 2 * places, places)
    assert {name: tensor.shape for name, tensor in policy.tensors.items()} == expected
    actions, _ = policy.predict(rows)
    assert (actions % places < rows[:, : places * PLACE_WIDTH].reshape(len(rows), places, PLACE_WIDTH)[:, :, PRESENT].sum(axis=1)).all()


def test_permuting_the_packets_permutes_the_scores():
    _, policy = net_and_policy(5)
    rows = features(5)
    rows[:, : 5 * PLACE_WIDTH].reshape(len(rows), 5, PLACE_WIDTH)[:, :, PRESENT] = 1.0
    order = np.random.default_rng(1).permutation(5)
    permuted = rows.copy()
    permuted[:, : 5 * PLACE_WIDTH] = rows[:, : 5 * PLACE_WIDTH].reshape(-1, 5, PLACE_WIDTH)[:, order].reshape(len(rows), -1)
    expected = policy.outputs(rows)[:, [*order, *(5 + order)]]
    np.testing.assert_allclose(policy.outputs(permuted), expected, rtol=1e-9, atol=1e-12)


def test_an_agent_of_5_places_acts_on_32_as_on_5():
    _, policy = net_and_policy(5)
    rows = features(5)
    longer = np.zeros((len(rows), 32 * PLACE_WIDTH + CALL), np.float32)
    longer[:, : 5 * PLACE_WIDTH], longer[:, 32 * PLACE_WIDTH :] = rows[:, : 5 * PLACE_WIDTH], rows[:, 5 * PLACE_WIDTH :]
    found = policy.outputs(longer).reshape(len(rows), 2, 32)
    assert found[:, :, :5].tobytes() == policy.outputs(rows).reshape(len(rows), 2, 5).tobytes()
    assert (found[:, :, 5:] == ABSENT).all()


def test_one_session_alone_equals_itself_in_a_batch():
    _, policy = net_and_policy(5)
    rows = features(5)
    outputs = policy.outputs(rows)
    for i, row in enumerate(rows):
        assert policy.outputs(row[None]).tobytes() == outputs[i].tobytes()


def test_places_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="places is 5; allowed: those of 8 outputs, 4, within 51 features"):
        tensor_shapes(5 * PLACE_WIDTH + CALL, 0, HIDDEN, 8, 5)


def waiting(*packets):
    """One observation of (audio, age, to_spare) each."""
    row = np.zeros((1, 5 * PLACE_WIDTH + CALL), np.float32)
    of_places = row[:, : 5 * PLACE_WIDTH].reshape(5, PLACE_WIDTH)
    for place, (audio, age, to_spare) in zip(of_places, packets, strict=False):
        place[[PRESENT, AUDIO, AGE, TO_SPARE, ALONE]] = 1.0, audio, age, to_spare, len(packets) == 1
    return row


@pytest.mark.parametrize(
    ("packets", "action"),
    [
        ([(0, 0.1, 0.8), (1, 0.1, 0.8), (1, 0.0, 0.9)], 2),  # audio first, and the newest
        ([(1, 0.7, -0.1), (0, 0.1, 0.9)], 5),  # too late: thrown away
        ([(1, 0.7, -0.1)], 0),  # but not alone
        ([(0, 0.4, 0.4), (0, 0.2, 0.6)], 5),  # video makes room with less than half of its time to spare
        ([(0, 0.2, 0.6), (0, 0.1, 0.7)], 1),
    ],
)
def test_what_it_begins_with(packets, action):
    net, policy = net_and_policy(5)
    net.start_sensibly(1.0)
    policy.tensors.update({name: tensor.detach().numpy() for name, tensor in net.state_dict().items()})
    assert policy.predict(waiting(*packets))[0] == [action]
