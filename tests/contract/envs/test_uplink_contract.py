"""Call with an uplink: rejected input, meaning of actions, both checkers, and documented features."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.sender.effects import ORDERS
from vcgym.network.traces.cards import DataError

pytestmark = pytest.mark.long  # starts processes, or compiles much that no other test needs

CALL = "vcgym/Call-v1"
SHORT = ABSOLUTE[CALL] | {"uplink": "rate", "packets": 150, "scenario": "table1"}


def make(**arguments):
    return gymnasium.make_vec(CALL, **{"num_envs": 2} | SHORT | arguments).unwrapped


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"uplink": "mars"}, "uplink = 'mars': allowed are order, rate, calls, rmcat, rate-measured"),
        ({"rate": Fifo()}, r"rate = Fifo\(\): allowed are .*GccDraft, GccWebrtc"),
        ({"rate": FromAgent()}, r"rate = FromAgent\(.*\): allowed are "),
        ({"order": FromAgent()}, r"order = FromAgent\(.*\): allowed are rules that control order, as "),
        ({"order": GccWebrtc()}, r"order = GccWebrtc\(.*\): allowed are rules that control order, as "),
        ({"path": WMJitter()}, r"path = WMJitter\(.*\): allowed are rules that control path, as "),
        ({"playout": Direct()}, r"playout = Direct\(\): allowed are rules that control playout, as "),
        ({"path": GccWebrtc()}, r"path = GccWebrtc\(.*\): allowed are rules that control path, as "),
        ({"pacing": -1.0}, r"pacing = -1\.0: allowed is 0 to 1000"),
        ({"uplink": None, "rate": GccWebrtc()}, r"rate = GccWebrtc\(.*\): allowed is None without an uplink"),
        ({"uplink": None, "order": Fifo()}, r"order = Fifo\(\): allowed is None without an uplink"),
        ({"uplink": None, "path": Direct(), "playout": WMJitter()}, "path, playout are all set by rules: allowed is at least one"),
        (
            {"path": Direct(), "playout": WMJitter(), "rate": GccWebrtc(), "order": Fifo()},
            "path, playout, rate, order are all set by rules",
        ),
    ],
    ids=str,
)
def test_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_measured_data_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=str(tmp_path)):
        make(uplink="rate-measured", data=str(tmp_path / "nowhere"))


def test_options_of_reset():
    env, bare = make(), make(uplink=None)
    env.reset(seed=1, options={"kind": "wifi"})
    assert [link.name for link in env.uplink.links] == ["wifi", "wifi"]
    with pytest.raises(ValueError, match=r"kind of scenario rate = 'mars': allowed are steps"):
        env.reset(options={"kind": "mars"})
    with pytest.raises(ValueError, match="option of reset = 'kind': allowed are reset_mask, pair, stratum"):
        bare.reset(seed=1, options={"kind": "wifi"})


SPACES = [
    ({}, spaces.MultiDiscrete([5, 32, 32, 3])),
    ({"path": Direct()}, spaces.MultiDiscrete([32, 32, 3])),
    ({"playout": WMJitter()}, spaces.MultiDiscrete([5, 32, 3])),
    ({"playout": WMJitter(), "rate": GccWebrtc()}, spaces.MultiDiscrete([5, 3])),
    ({"path": Direct(), "playout": WMJitter(), "order": Fifo()}, spaces.Discrete(32)),
    ({"path": Direct(), "playout": WMJitter(), "rate": GccWebrtc()}, spaces.Discrete(3)),
    ({"path": Direct(), "uplink": None}, spaces.Discrete(32)),
    ({"playout": WMJitter(), "uplink": None}, spaces.Discrete(5)),
    ({"action": "continuous"}, spaces.Box(-1.0, 1.0, (5 + 1 + 1 + 3,), np.float32)),
    ({"action": "continuous", "path": Direct(), "order": Fifo()}, spaces.Box(-1.0, 1.0, (2,), np.float32)),
    ({"action": "exact"}, spaces.Box(np.zeros(4, np.int64), np.array([4, 30_000_000, 10**9, 2]), dtype=np.int64)),
    ({"action": "exact", "playout": WMJitter(), "rate": GccWebrtc()}, spaces.MultiDiscrete([5, 3])),
]


@pytest.mark.parametrize(("arguments", "space"), SPACES, ids=str)
def test_a_lever_that_a_rule_holds_has_no_place_in_the_action(arguments, space):
    env = make(**arguments)
    assert env.single_action_space == space
    assert env.chosen_from == (None if "path" in arguments else "paths")


@pytest.mark.parametrize("action", ["discrete", "continuous", "exact"])
def test_what_an_action_means(action):
    env = make(num_envs=3, action=action, interval=2)
    env.reset(seed=1, options={"kind": "cubic"})
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
    columns = [i for i, feature in enumerate(env.layout.features) if feature.name.startswith("order_commanded")]
    seen = env.step(said[action])[0]
    np.testing.assert_array_equal(seen[:, columns], [[0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(seen[:, columns[0] - 1], [-1.0, 1.0, 2 * 16 / 31 - 1.0], atol=1e-5)


def test_a_rate_of_zero_leaves_it_as_it_is():
    env = make(action="exact", interval=1, location="sender")
    env.reset(seed=1)
    for said, expected in ((0, 300_000), (700_000, 700_000), (0, 700_000)):
        env.step(np.array([[0, 60_000, said, 0]] * 2))
        assert env.uplink.inside.senders["target_bps"].tolist() == [expected] * 2


FORMS = [
    {},
    {"action": "continuous"},
    {"uplink": "order", "reward": "event"},
    {"path": Greedy(), "playout": WMJitter(), "rate": GccWebrtc(), "mode": "paper"},
    {"observation": "records", "path": Greedy(), "playout": WMJitter()},
]


@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_both_checkers_pass(arguments):
    env = gymnasium.make(CALL, **SHORT | arguments).unwrapped
    check_env(env)
    if arguments.get("observation") != "records":
        check_env_sb3(env)


def test_scalar_matches_the_native_env_of_one():
    spec = importlib.util.spec_from_file_location("envs_check", Path(__file__).with_name("test_envs_check.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check_environments_match(gymnasium.make(CALL, **SHORT), module.OneOfNative(CALL, **SHORT), num_steps=60, seed=3)


@pytest.mark.parametrize("uplink", ["rate", "order", "calls"])
@pytest.mark.parametrize("observation", ["features", "records"])
def test_observations_lie_in_their_space(uplink, observation):
    env = make(uplink=uplink, observation=observation, mode="paper", feedback_loss=0.1)
    for kind in env.uplink.scenario.kinds:
        seen, _ = env.reset(seed=4, options={"kind": kind})
        env.action_space.seed(1)
        for _ in range(15):
            assert env.observation_space.contains(seen)
            seen, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)


def test_every_feature_has_its_name():
    env = make()
    names = [feature.name for feature in env.layout.features]
    assert len(names) == len(set(names)) == env.single_observation_space.shape[0]
    assert names[-2:] == [f"order_commanded[{name}]" for name in ORDERS[1:]]


SCRIPT = """
import hashlib
import gymnasium, numpy as np
import vcgym.envs

form = {"action": "discrete", "interval": 10, "reward": "emodel"}
env = gymnasium.make_vec("vcgym/Call-v1", num_envs=2, packets=60, scenario="table1", uplink="rate", **form).unwrapped
observations, _ = env.reset(seed=3)
env.action_space.seed(1)
digest = hashlib.sha256(observations.tobytes())
for _ in range(7):
    observations, rewards, *_ = env.step(env.action_space.sample())
    digest.update(np.round(observations, 5).tobytes() + np.round(rewards, 9).tobytes())
print(digest.hexdigest())
"""


def test_plain_python_does_the_same():
    digests = set()
    for disabled in ("0", "1"):
        command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", SCRIPT]  # numpy's wrapping of uint64 is meant
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        digests.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(digests) == 1
