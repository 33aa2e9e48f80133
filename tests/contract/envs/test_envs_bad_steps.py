"""Bad actions, seeds and options are rejected before anything moves; the error names the value and the allowed values."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError

CALL, RATE, ORDER, SEND = "vcgym/Call-v1", *SENDERS


def _make(env_id, **arguments):
    length = {"seconds": 3.0} if env_id in SENDERS else {"packets": 60}
    return gymnasium.make_vec(env_id, **ABSOLUTE[env_id] | {"num_envs": 2} | length | arguments).unwrapped


def _refused(env, message, act):
    """The act is refused and leaves the state as it was."""
    before = env.get_state()
    with pytest.raises(ValueError, match=message):
        act()
    after = env.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


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


FORMS = [
    (env_id, form)
    for env_id in ABSOLUTE
    for form in ("discrete", "continuous", "exact")
    if env_id != SEND and (env_id != ORDER or form == "discrete")
]


@pytest.mark.parametrize(("env_id", "form"), FORMS)
def test_an_action_outside_the_space(env_id, form):
    env = _make(env_id, action=form)
    env.reset(seed=1)
    for action in _outside(env.single_action_space):
        _refused(env, r"(?s)action .*: allowed are values of", lambda action=action: env.step(action))


@pytest.mark.parametrize("action", [16, -1, [1, 2], 1.5, float("nan")])
def test_an_action_outside_the_space_of_one_call_names_that_space(action):
    env = gymnasium.make("vcgym/Call-v1", packets=60, disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"^action array\(.*: allowed are values of Discrete\(16\)$"):
        env.step(action)


@pytest.mark.parametrize("seed", [1.5, True, "1", -1, 1 << 64, (1 << 64) - 1, [0, 1.5], [0], [1, 2, 3], [1, -2]])
def test_a_seed_that_is_no_integer_in_range(seed):
    env = _make("vcgym/Relay-v1")
    with pytest.raises(ValueError, match=r"seed (= .*: allowed are integers from 0 to 2\*\*64 - 1|has length [13]: allowed is 2)"):
        env.reset(seed=seed)
    assert not env.has_begun


MASK = "reset_mask = .*: allowed is a bool array"


@pytest.mark.parametrize(
    ("env_id", "arguments", "options", "message"),
    [
        (CALL, {}, {"pairs": "a"}, "option of reset = 'pairs': allowed are reset_mask, pair, stratum"),
        (CALL, {}, {"pair": "a-b"}, "pair of split train = 'a-b': allowed are "),
        (CALL, {}, {"stratum": "rainy"}, "stratum = 'rainy': allowed are quiet"),
        (CALL, {"mode": "paper"}, {"stratum": "quiet"}, "stratum of mode paper = 'quiet': allowed are independent"),
        (CALL, {}, {"kind": "wifi"}, "option of reset = 'kind': allowed are reset_mask, pair, stratum"),
        (CALL, {"uplink": "rate"}, {"kind": "mars"}, "kind of scenario rate = 'mars': allowed are steps"),
        *((CALL, {}, {"reset_mask": mask}, MASK) for mask in ([True, False], np.zeros(2, bool), np.ones(3, bool))),
        *((env_id, {}, {"pair": "a-b"}, "option of reset = 'pair'") for env_id in SENDERS),
        *((env_id, {}, {"kind": "mars"}, r"kind of scenario .* = 'mars': allowed are ") for env_id in SENDERS),
    ],
)
def test_options_of_reset(env_id, arguments, options, message):
    env = _make(env_id, **arguments)
    env.reset(seed=1)
    _refused(env, message, lambda: env.reset(options=options))


@pytest.mark.parametrize("env_id", ["vcgym/Relay-v1", *(pytest.param(env_id, marks=pytest.mark.long) for env_id in SENDERS)])
def test_nothing_happens_after_close(env_id):
    env = gymnasium.make_vec(env_id, num_envs=2).unwrapped
    env.reset(seed=1)
    env.close()
    with pytest.raises(ClosedEnvironmentError, match="step after close"):
        env.step(env.action_space.sample())
    with pytest.raises(ClosedEnvironmentError, match="reset after close"):
        env.reset(seed=1)
