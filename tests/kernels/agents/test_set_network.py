"""The set network: its compiled pass equals plain Python bit for bit, and a twin and torch, for any items in any order."""

import dataclasses

import numpy as np
import pytest
import torch
from gymnasium import spaces
from pydantic import ValidationError

from vcgym.agents.networks import forward as compiled
from vcgym.agents.networks.description import ABSENT, LAG_WIDTH, Items, SetNetwork, set_network
from vcgym.agents.networks.forward import allocate_scratch, forward
from vcgym.agents.networks.observation import ObservedPart, count_items, item_part, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.networks.set_net import SetNet
from vcgym.envs.environments.vector.actions import LEVELS

HIDDEN = 12
PATH = ["history_mean", "history_missing", "smoothed_delay", "excess_over_best", "commanded"]
CALL = ["elapsed", "excess", "excess_peak_2s", "late_share"]
PLACE = ["present", "audio", "age", "time_left", "to_spare", "size", "alone"]
SENDER = ["target", "lost", "rtt"]
COMMANDED, PEAK = PATH.index("commanded"), CALL.index("excess_peak_2s")
PRESENT = PLACE.index("present")


def parts_of(kind, items):
    if kind == "queue":
        return [ObservedPart(name="queue", items=items, features=PLACE), ObservedPart(name="sender", features=SENDER)]
    call = ObservedPart(name="call", features=CALL)
    return [ObservedPart(name="paths", items=items, features=PATH), call] if items else [call]


def action_space(kind, items):
    """As of SendOrder, Relay, Call, and Call with scores; without paths as of Playout, but two choices for `both`."""
    if kind == "queue":
        return spaces.Discrete(2 * items)
    if kind == "discrete":
        return spaces.Discrete(items or LEVELS)
    if kind == "both":
        return spaces.MultiDiscrete([items, LEVELS] if items else [3, 4])
    return spaces.Box(-1, 1, (items + 1,), np.float32)


def observations(kind, items, sessions=40, seed=0):
    """Made-up observations: heavy-tailed; one path commanded; the first places of a queue hold a packet, at least one."""
    rng = np.random.default_rng(seed)
    context = SENDER if kind == "queue" else CALL
    width = len(PLACE if kind == "queue" else PATH)
    rows = np.minimum(rng.lognormal(-1.0, 1.5, (sessions, items * width + len(context))), 20.0)
    of_items = rows[:, : items * width].reshape(sessions, items, width)
    if kind == "queue":
        present = np.arange(items) < rng.integers(1, items + 1, (sessions, 1))
        of_items *= present[:, :, None]
        of_items[:, :, PRESENT] = present
    elif items:
        of_items[:, :, COMMANDED] = np.eye(items)[rng.integers(items, size=sessions)]
    return rows.astype(np.float32)


def net_and_policy(kind, items, activation="tanh"):
    torch.manual_seed(items)
    parts, space = parts_of(kind, items), action_space(kind, items)
    network = network_for(parts, output_count(space), HIDDEN, activation)
    net = SetNet(network, items)
    tensors = {name: tensor.detach().numpy() for name, tensor in net.state_dict().items()}
    observed = spaces.Box(0, 20, (sum(part.size for part in parts),), np.float32)
    return net, AgentPolicy("some/Env-v0", tuple(parts), observed, space, network, tensors)


def twin(policy, row):
    """Outputs for one observation, line by line as the description has them; every stage but trunk and score is one layer."""
    w = {name: tensor.astype(np.float64) for name, tensor in policy.tensors.items()}
    act = np.tanh if policy.network.trunk[0].activation == "tanh" else lambda x: np.maximum(x, 0)
    row, of_items, context = row.astype(np.float64), item_part(policy.parts), policy.network.context
    width = len(of_items.features) if of_items else 1
    rows = row[: len(row) - context].reshape(-1, width)
    queue = bool(of_items) and of_items.name == "queue"
    shown = [x for x in rows if not queue or x[PRESENT] > 0]
    x_c = z = np.arcsinh(row[len(row) - context :])
    if of_items:
        e = np.array([act(w["encode.0.weight"] @ [*np.arcsinh(x), *x_c] + w["encode.0.bias"]) for x in shown])
        z = np.concatenate([x_c, e.mean(axis=0), np.maximum(e.max(axis=0), 0.0) if queue else e.max(axis=0)])
        if not queue:
            z = np.concatenate([z, sum(e_p * x[COMMANDED] for e_p, x in zip(e, shown, strict=True))])
    t = act(w["trunk.1.weight"] @ act(w["trunk.0.weight"] @ z + w["trunk.0.bias"]) + w["trunk.1.bias"])
    scores = np.full((len(rows), 2 if queue else 1), ABSENT)
    for i, x in enumerate(shown if of_items else []):
        inner = act(w["score.0.weight"] @ [*e[i], *t] + w["score.0.bias"])
        scores[i] = w["score.1.weight"] @ inner + w["score.1.bias"] + w["skip.0.weight"] @ x
    outputs = list(scores.T.ravel()) if of_items else []
    if "rest.0.weight" in w:
        rest = w["rest.0.weight"] @ t + w["rest.0.bias"]
        if policy.network.lag_peak is not None:
            position = np.log10(max(10 * row[len(row) - context + PEAK], 1)) - 1 + rest[0]
            rest = -0.5 * ((np.linspace(-1, 1, LEVELS) - position) / (LAG_WIDTH * np.exp(rest[1]))) ** 2
        outputs.extend(rest)
    return np.array(outputs)


CASES = [*((kind, items) for kind in ("discrete", "both", "continuous") for items in (0, 1, 5, 17)), *(("queue", n) for n in (1, 5, 32))]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("kind", "items"), CASES)
def test_outputs_equal_torch_and_the_twin(kind, items, activation):
    net, policy = net_and_policy(kind, items, activation)
    rows = observations(kind, items)
    got = policy.outputs(rows)
    assert got.shape == (len(rows), output_count(policy.action_space))
    np.testing.assert_allclose(got, net(torch.from_numpy(rows)).detach().numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got, [twin(policy, row) for row in rows], rtol=1e-11, atol=1e-11)
    assert {name: tensor.shape for name, tensor in policy.tensors.items()} == policy.network.tensor_shapes()
    if kind != "queue":
        ranked = items == 0 if kind == "discrete" else kind == "both" and items > 0
        assert (policy.network.lag_peak == PEAK) is ranked


def test_a_raw_network_takes_features_without_their_arcsinh():
    net, policy = net_and_policy("both", 0)
    network, rows = policy.network.model_copy(update={"raw": True}), observations("both", 0)
    raw, raw_net = dataclasses.replace(policy, network=network), SetNet(network, 0)
    raw_net.load_state_dict(net.state_dict())
    got = raw.outputs(rows)
    np.testing.assert_allclose(got, policy.outputs(np.sinh(rows.astype(np.float64))), rtol=1e-9)
    np.testing.assert_allclose(got, raw_net(torch.from_numpy(rows)).detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("kind", "items"), [("both", 0), ("both", 3), ("discrete", 0), ("queue", 4)])
def test_the_compiled_pass_equals_plain_python_bit_for_bit(kind, items, monkeypatch):
    _, policy = net_and_policy(kind, items)
    rows = observations(kind, items, sessions=5)
    got = policy.outputs(rows)
    for name in ("_outputs", "_run", "_encode", "_present", "_pool", "_score", "_write_rest"):
        step = getattr(compiled, name)
        monkeypatch.setattr(compiled, name, getattr(step, "py_func", step))
    plain, scratch = getattr(forward, "py_func", forward), allocate_scratch(policy.weights, items)
    for row, expected in zip(rows, got, strict=True):
        out = np.empty(len(expected))
        plain(policy.weights, row.astype(np.float64), items, scratch, out)
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("kind", "items"), [("discrete", 5), ("both", 17), ("continuous", 5), ("queue", 5)])
def test_permuting_the_items_permutes_the_scores(kind, items):
    _, policy = net_and_policy(kind, items)
    rows = observations(kind, items)
    width = policy.network.items.width
    if kind == "queue":
        rows[:, : items * width].reshape(len(rows), items, width)[:, :, PRESENT] = 1.0
    order = np.random.default_rng(1).permutation(items)
    permuted = rows.copy()
    permuted[:, : items * width] = rows[:, : items * width].reshape(-1, items, width)[:, order].reshape(len(rows), -1)
    expected = policy.outputs(rows)
    for score in range(policy.network.items.scores):
        of_items = slice(score * items, (score + 1) * items)
        expected[:, of_items] = expected[:, of_items][:, order]
    np.testing.assert_allclose(policy.outputs(permuted), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("kind", "items"), CASES)
def test_one_session_alone_equals_itself_in_a_batch(kind, items):
    _, policy = net_and_policy(kind, items)
    rows = observations(kind, items)
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


@pytest.mark.parametrize("kind", ["discrete", "both", "continuous"])
def test_an_agent_of_17_paths_acts_on_5(kind):
    _, policy = net_and_policy(kind, 17)
    rows = observations(kind, 5)
    np.testing.assert_allclose(policy.outputs(rows), [twin(policy, row) for row in rows], rtol=1e-12, atol=1e-12)
    actions, _ = policy.predict(rows)
    assert all(action in action_space(kind, 5) for action in actions)


def test_an_agent_of_5_places_acts_on_32_as_on_5():
    _, policy = net_and_policy("queue", 5)
    rows, width = observations("queue", 5), len(PLACE)
    longer = np.zeros((len(rows), 32 * width + len(SENDER)), np.float32)
    longer[:, : 5 * width], longer[:, 32 * width :] = rows[:, : 5 * width], rows[:, 5 * width :]
    found = policy.outputs(longer).reshape(len(rows), 2, 32)
    assert found[:, :, :5].tobytes() == policy.outputs(rows).reshape(len(rows), 2, 5).tobytes()
    assert (found[:, :, 5:] == ABSENT).all()
    actions, _ = policy.predict(rows)
    assert (actions % 5 < rows[:, : 5 * width].reshape(len(rows), 5, width)[:, :, PRESENT].sum(axis=1)).all()


def test_a_continuous_action_is_cut_to_its_own_bounds():
    _, policy = net_and_policy("continuous", 0)
    space = spaces.Box(np.array([-9, 2], np.float32), np.array([-8, 3], np.float32))
    network = network_for(policy.parts, 2, HIDDEN, "tanh")
    rest = {"rest.0.weight": np.zeros((2, HIDDEN), np.float32), "rest.0.bias": np.array([-20.0, 2.5], np.float32)}
    cut = AgentPolicy("some/Env-v0", policy.parts, policy.observation_space, space, network, policy.tensors | rest)
    np.testing.assert_array_equal(cut.predict(observations("continuous", 0, 3))[0], [[-9.0, 2.5]] * 3)


@pytest.mark.parametrize("space", [spaces.Box(0, 9, (2,), np.int64), spaces.Box(-1, 1, (2, 2), np.float32), spaces.Text(3)], ids=str)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(ValueError, match=r"action space is .*; an agent's may be Discrete, MultiDiscrete, or a Box of floats"):
        output_count(space)


def test_more_scores_than_outputs_are_refused():
    with pytest.raises(ValueError, match="5 queue have 2 scores each; allowed: 8 outputs in all"):
        network_for(parts_of("queue", 5), 8, HIDDEN, "tanh")


def test_items_of_another_environment_are_scored_without_an_initial_rule():
    parts = [ObservedPart(name="relays", items=3, features=["load", "delay"]), ObservedPart(name="call", features=CALL)]
    network = network_for(parts, 3, HIDDEN, "relu")
    assert network.items == Items(width=2)
    net = SetNet(network, 3)
    net.init_to_heuristic(parts[0], 1.0)
    assert not net.skip[0].weight.any()


def test_two_sets_in_one_observation_are_refused():
    both = [*parts_of("discrete", 3), *parts_of("queue", 2)]
    with pytest.raises(ValueError, match=r"parts \[0, 2\] of the observation are sets of items; allowed: the first part alone"):
        count_items(both)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card["trunk"][0].update(inputs=7), "trunk.0 has 7 inputs; allowed: 39"),
        (lambda card: card["trunk"][1].update(inputs=7), "trunk.1 has 7 inputs; allowed: 12"),
        (lambda card: card["score"][1].update(outputs=2), "score and skip must end in 1 outputs"),
        (lambda card: card.update(skip=[]), "encode, score and skip must have layers with items"),
        (lambda card: card.update(items=None), "trunk.0 has 39 inputs; allowed: 3"),
        (lambda card: card["items"].update(selected=5), "selected is 5; allowed: below the 5 features"),
        (lambda card: card.update(lag_peak=3), "lag_peak is 3; allowed: a feature of the context"),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(change, message):
    card = set_network(Items(width=5, selected=4), 3, 2, HIDDEN, "tanh").model_dump()
    assert SetNetwork.model_validate(card).model_dump() == card
    change(card)
    with pytest.raises(ValidationError, match=message):
        SetNetwork.model_validate(card)


def begun(kind):
    """A policy with its initial weights."""
    net, policy = net_and_policy(kind, 5)
    net.init_to_heuristic(item_part(policy.parts), 1.0)
    policy.tensors.update({name: tensor.detach().numpy() for name, tensor in net.state_dict().items()})
    return policy


def waiting(*packets):
    """One observation of (audio, age, to_spare) each."""
    row = np.zeros((1, 5 * len(PLACE) + len(SENDER)), np.float32)
    of_places = row[:, : 5 * len(PLACE)].reshape(5, len(PLACE))
    shown = [PLACE.index(name) for name in ("present", "audio", "age", "to_spare", "alone")]
    for place, (audio, age, to_spare) in zip(of_places, packets, strict=False):
        place[shown] = 1.0, audio, age, to_spare, len(packets) == 1
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
def test_a_queue_begins_near_its_heuristic(packets, action):
    assert begun("queue").predict(waiting(*packets))[0] == [action]


def test_paths_begin_near_their_heuristic():
    policy = begun("discrete")
    row = np.zeros((1, 5 * len(PATH) + len(CALL)), np.float32)
    paths = row[:, : 5 * len(PATH)].reshape(5, len(PATH))
    paths[3, COMMANDED] = 1.0
    assert policy.predict(row)[0] == [3]
    paths[:, PATH.index("excess_over_best")] = [2.0, 2.0, 0.0, 0.4, 2.0]
    assert policy.predict(row)[0] == [3]
    paths[3, PATH.index("excess_over_best")] = 0.7
    assert policy.predict(row)[0] == [2]
