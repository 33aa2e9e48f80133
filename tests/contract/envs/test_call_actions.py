"""Call, with and without an uplink: a column of the action for each control of the agent, and what a value means."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium import spaces

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.sender.effects import ORDERS

CALL = "vcgym/Call-v1"


def make(**arguments):
    defaults = {"num_envs": 2, "packets": 150, "scenario": "table1"}
    return gymnasium.make_vec(CALL, **ABSOLUTE[CALL] | defaults | arguments).unwrapped


def test_the_level_is_read_off_a_log_scale():
    env = make(num_envs=3, action="discrete")
    env.reset(seed=1)
    env.step(np.array([[0, 0], [1, 16], [4, 31]]))
    assert env.batch.calls["to_receiver"]["latest"].tolist() == [10_000, round(10_000 * 100 ** (16 / 31)), 1_000_000]
    assert env.batch.calls["to_sender"]["latest"].tolist() == [0, 1, 4]


def test_the_largest_score_wins_and_a_tie_goes_to_the_first():
    env = make(num_envs=3, action="continuous")
    env.reset(seed=1)
    env.step(np.array([[0.0, 0.5, 0.5, 0.0, 0.0, -1.0], [-1.0, -1.0, -1.0, -1.0, -0.5, 0.0], [0.0] * 5 + [1.0]], np.float32))
    assert env.batch.calls["to_sender"]["latest"].tolist() == [1, 4, 0]
    assert env.batch.calls["to_receiver"]["latest"].tolist() == [10_000, 100_000, 1_000_000]


UPLINK = {"uplink": "rate"}
SPACES = [
    (UPLINK, spaces.MultiDiscrete([5, 32, 32, 3])),
    (UPLINK | {"path": Direct()}, spaces.MultiDiscrete([32, 32, 3])),
    (UPLINK | {"playout": WMJitter()}, spaces.MultiDiscrete([5, 32, 3])),
    (UPLINK | {"playout": WMJitter(), "rate": GccWebrtc()}, spaces.MultiDiscrete([5, 3])),
    (UPLINK | {"path": Direct(), "playout": WMJitter(), "order": Fifo()}, spaces.Discrete(32)),
    (UPLINK | {"path": Direct(), "playout": WMJitter(), "rate": GccWebrtc()}, spaces.Discrete(3)),
    ({"path": Direct()}, spaces.Discrete(32)),
    ({"playout": WMJitter()}, spaces.Discrete(5)),
    (UPLINK | {"action": "continuous"}, spaces.Box(-1.0, 1.0, (5 + 1 + 1 + 3,), np.float32)),
    (UPLINK | {"action": "continuous", "path": Direct(), "order": Fifo()}, spaces.Box(-1.0, 1.0, (2,), np.float32)),
    (UPLINK | {"action": "exact"}, spaces.Box(np.zeros(4, np.int64), np.array([4, 30_000_000, 10**9, 2]), dtype=np.int64)),
    (UPLINK | {"action": "exact", "playout": WMJitter(), "rate": GccWebrtc()}, spaces.MultiDiscrete([5, 3])),
]


@pytest.mark.long  # compiles much that no other test needs
@pytest.mark.parametrize(("arguments", "space"), SPACES, ids=str)
def test_a_control_that_a_rule_sets_is_not_in_the_action(arguments, space):
    env = make(**arguments)
    assert env.single_action_space == space
    assert env.chosen_from == (None if "path" in arguments else "paths")


@pytest.mark.long
@pytest.mark.parametrize("action", ["discrete", "continuous", "exact"])
def test_what_an_action_means_behind_an_uplink(action):
    env = make(**UPLINK, num_envs=3, action=action, interval=2)
    env.reset(seed=1, options={"kind": "cubic"})
    assert [link.name for link in env.uplink.links] == ["cubic"] * 3
    said = {
        "discrete": np.array([[0, 0, 0, 0], [2, 31, 31, 1], [4, 0, 16, 2]]),
        "continuous": np.array(
            [[0, 0, 0, 0, 0, -1, -1, 0, 0, 0], [0, 0, 1, 0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 1, -1, 1 / 31, 0, 0, 1]], np.float32
        ),
        "exact": np.array([[0, 10_000, 50_000, 0], [2, 1_000_000, 4_000_000, 1], [4, 10_000, round(50e3 * 80 ** (16 / 31)), 2]]),
    }
    env.step(said[action])
    own, senders = env.uplink.inside.remote, env.uplink.inside.senders
    assert env.batch.calls["to_sender"]["latest"].tolist() == [0, 2, 4]
    assert env.batch.calls["to_receiver"]["latest"].tolist() == [10_000, 1_000_000, 10_000]
    np.testing.assert_allclose(own["rate"]["latest"], [50e3, 4e6, 50e3 * 80 ** (16 / 31)], atol=0.6)
    np.testing.assert_array_equal(senders["target_bps"], own["rate"]["latest"])  # the first command holds at once
    assert own["order"]["latest"].tolist() == senders["queue"]["governs"].tolist() == [0, 1, 2]
    names = [feature.name for feature in env.layout.features]
    assert len(names) == len(set(names))
    columns = [names.index(f"order_commanded[{name}]") for name in ORDERS[1:]]
    seen = env.step(said[action])[0]
    np.testing.assert_array_equal(seen[:, columns], [[0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(seen[:, columns[0] - 1], [-1.0, 1.0, 2 * 16 / 31 - 1.0], atol=1e-5)


@pytest.mark.long
def test_a_rate_of_zero_leaves_it_as_it_is():
    env = make(**UPLINK, action="exact", interval=1, location="sender")
    env.reset(seed=1)
    for said, expected in ((0, 300_000), (700_000, 700_000), (0, 700_000)):
        env.step(np.array([[0, 60_000, said, 0]] * 2))
        assert env.uplink.inside.senders["target_bps"].tolist() == [expected] * 2
