"""Bad input is rejected before work starts; the error names the field, the value and the allowed values."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.network.traces.cards import DataError

REFUSED = [
    ({"num_envs": 0}, "num_envs = 0: allowed are integers from 1"),
    ({"num_envs": 2.0}, r"num_envs = 2\.0: allowed are integers from 1"),
    ({"packets": 0}, "packets = 0: allowed are integers from 1 to 1000000"),
    ({"packets": "600"}, "packets = '600': allowed are integers"),
    ({"packets": True}, "packets = True: allowed are integers"),
    ({"threads": 0}, "threads = 0: allowed are integers from 1 to 256"),
    ({"scenario": "mars"}, "scenario = 'mars': allowed are wonderproxy, world, "),
    ({"mode": "replay"}, "mode of scenario wonderproxy = 'replay': allowed are correlated, paper"),
    ({"scenario": "replay"}, "scenario replay: traces is None; allowed: a folder of traces"),
    ({"scenario": "leo"}, "mode of scenario leo = 'correlated': allowed are replay"),
    ({"split": "holdout"}, "split = 'holdout': allowed are train, validation, test"),
    ({"split": "test"}, "split = 'test': allowed are train, validation; worlds of the test split are for the leaderboard alone"),
    ({"reward": "delay"}, "reward = 'delay': allowed are emodel, event"),
    ({"observation": "pixels"}, "observation = 'pixels': allowed are features, dict, records"),
    ({"action": "box"}, "action = 'box': allowed are discrete, continuous, exact"),
    ({"location": "moon"}, "location = 'moon': allowed are sender, central, receiver"),
    ({"feedback_loss": 1}, "feedback_loss = 1: allowed is 0 <= share < 1"),
    ({"feedback_loss": float("nan")}, "feedback_loss = nan: allowed is 0 <= share < 1"),
    ({"feedback_loss": "0.1"}, r"feedback_loss = '0\.1': allowed are numbers, 0 <= share < 1"),
    ({"probe_rate": -1.0}, r"probe_rate = -1\.0: allowed is 0 to 100"),
    ({"probe_rate": None}, "probe_rate = None: allowed are numbers, 0 to 100"),
    ({"render_mode": "human"}, "render_mode = 'human': allowed is None"),
    ({"autoreset_mode": "sometimes"}, "sometimes"),
]


def _make(env_id, **arguments):
    return gymnasium.make_vec(env_id, **{"num_envs": 2, "packets": 60} | arguments).unwrapped


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=str)
def test_arguments(path_env_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        _make(path_env_id, **arguments)


@pytest.mark.parametrize("interval", [0, -3, 1.5])
@pytest.mark.parametrize("path_env_id", ["vcgym/Relay-v1", "vcgym/Call-v1"])
def test_interval(path_env_id, interval):
    with pytest.raises(ValueError, match=f"interval = {interval}: allowed are integers from 1"):
        _make(path_env_id, interval=interval)


@pytest.mark.parametrize(
    ("path_env_id", "arguments", "message"),
    [
        ("vcgym/Relay-v1", {"playout": Direct()}, r"playout = Direct\(\): allowed are rules that control playout"),
        ("vcgym/Call-v1", {"uplink": "rat"}, "uplink = 'rat': allowed are order, rate, calls"),
        ("vcgym/Call-v1", {"scenario": "leo", "mode": "replay", "data": "/gone"}, r"data folder: data \(/gone\) is '/gone'"),
        ("vcgym/Relay-v1", {"playout": "wmjitter"}, "playout = 'wmjitter': allowed are rules that control playout"),
        ("vcgym/Relay-v1", {"playout": FromAgent()}, r"playout = FromAgent\(.*\): allowed are rules that control playout"),
        ("vcgym/Playout-v1", {"path": WMJitter()}, r"path = WMJitter\(.*\): allowed are rules that control path"),
        ("vcgym/Playout-v1", {"path": None}, "path = None: allowed are rules that control path"),
    ],
)
def test_holders_of_the_other_lever(path_env_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        _make(path_env_id, **arguments)


def test_the_scalar_face_draws_in_one_mode(path_env_id):
    scalar = gymnasium.make(path_env_id, packets=60).unwrapped
    with pytest.raises(ValueError, match="render_mode = 'ansi': allowed are rgb_array"):
        type(scalar)(render_mode="ansi")


def test_an_unknown_argument(path_env_id):
    with pytest.raises(TypeError, match="pakets"):
        _make(path_env_id, pakets=60)


def test_measured_data_that_is_not_there(path_env_id, tmp_path, monkeypatch):
    missing = tmp_path / "nowhere"
    with pytest.raises(DataError, match=str(missing)):
        _make(path_env_id, scenario="leo", mode="replay", data=str(missing))
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(DataError, match="VCGYM_DATA"):
        _make(path_env_id, scenario="leo", mode="replay")


def _outside(space):
    """Batches of two actions, one of them outside `space`: too large, too small, in each entry; no number; of other shapes."""
    inside = np.zeros((2, *space.shape), space.dtype)
    high = np.broadcast_to(space.high if isinstance(space, spaces.Box) else getattr(space, "nvec", getattr(space, "n", 0)) - 1, space.shape)
    low = space.low if isinstance(space, spaces.Box) else np.zeros_like(high)
    step = 0.01 if space.dtype == np.float32 else 1
    for entry in np.ndindex(space.shape):
        for value in (high[entry] + step, low[entry] - step, np.nan):
            outside = inside.astype(np.float64) if np.isnan(value) else inside.copy()
            outside[(1, *entry)] = value
            yield outside
    yield inside[:1]
    yield np.zeros((3, *space.shape), space.dtype)
    if space.dtype != np.float32:
        yield inside + 0.5


@pytest.mark.parametrize("form", ["discrete", "continuous", "exact"])
def test_an_action_outside_the_space_moves_nothing(path_env_id, form):
    env = _make(path_env_id, action=form)
    env.reset(seed=1)
    before = env.get_state()
    for action in _outside(env.single_action_space):
        with pytest.raises(ValueError, match=r"(?s)action .*: allowed are values of"):
            env.step(action)
    after = env.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@pytest.mark.parametrize("action", [16, [1, 2], 1.5])
def test_an_action_outside_the_space_of_one_call_names_that_space(action):
    env = gymnasium.make("vcgym/Call-v1", packets=60, disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"^action array\(.*: allowed are values of Discrete\(16\)$"):
        env.step(action)


@pytest.mark.parametrize("seed", [1.5, True, "1", -1, 1 << 64, (1 << 64) - 1, [0, 1.5], [0]])
def test_a_seed_that_is_no_integer_in_range_moves_nothing(seed):
    env = _make("vcgym/Relay-v1")
    with pytest.raises(ValueError, match=r"seed (= .*: allowed are integers from 0 to 2\*\*64 - 1|has length 1)"):
        env.reset(seed=seed)
    assert not env.has_begun


@pytest.mark.parametrize(
    "env_id", ["vcgym/Relay-v1", *(pytest.param(f"vcgym/{name}-v1", marks=pytest.mark.long) for name in ("Rate", "SendOrder"))]
)
def test_nothing_happens_after_close(env_id):
    env = gymnasium.make_vec(env_id, num_envs=2).unwrapped
    env.reset(seed=1)
    env.close()
    with pytest.raises(ClosedEnvironmentError, match="step after close"):
        env.step(env.action_space.sample())
    with pytest.raises(ClosedEnvironmentError, match="reset after close"):
        env.reset(seed=1)


def test_the_scalar_face_refuses_the_same_actions():
    env = gymnasium.make("vcgym/Relay-v1", packets=60).unwrapped
    env.reset(seed=1)
    for action in (2, -1, 0.5, float("nan")):
        with pytest.raises(ValueError, match=r"action .*: allowed are values of"):
            env.step(action)


@pytest.mark.parametrize(
    ("mode", "arguments", "message"),
    [
        ("correlated", {"options": {"pairs": "a"}}, "option of reset = 'pairs': allowed are reset_mask, pair, stratum"),
        ("correlated", {"options": {"pair": "a-b"}}, "pair of split train = 'a-b': allowed are "),
        ("correlated", {"options": {"stratum": "rainy"}}, "stratum = 'rainy': allowed are quiet"),
        ("paper", {"options": {"stratum": "quiet"}}, "stratum of mode paper = 'quiet': allowed are independent"),
        ("correlated", {"options": {"reset_mask": [True, False]}}, "reset_mask = .*: allowed is a bool array"),
        ("correlated", {"options": {"reset_mask": np.zeros(2, bool)}}, "reset_mask = .*: allowed is a bool array"),
        ("correlated", {"options": {"reset_mask": np.ones(3, bool)}}, "reset_mask = .*: allowed is a bool array"),
        ("correlated", {"seed": [1, 2, 3]}, "seed has length 3: allowed is 2"),
        ("correlated", {"seed": [1, -2]}, "seed = -2: allowed are integers from 0"),
        ("correlated", {"seed": -1}, "seed = -1: allowed are integers from 0"),
    ],
)
def test_reset_refuses_before_anything_moves(mode, arguments, message):
    env = _make("vcgym/Call-v1", mode=mode)
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(ValueError, match=message):
        env.reset(**arguments)
    after = env.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
