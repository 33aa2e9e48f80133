"""The environments satisfy Gymnasium's and Stable-Baselines3's contracts; pytest turns every warning of the checkers into an error."""

import multiprocessing
from functools import partial

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, BY_PARTS, SENDERS
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from vcgym.agents.config.env import EnvConfig
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs import DIFFICULTIES, IDS, without_difficulty
from vcgym.envs.environments.made_with import MADE_WITH
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

CALL, RATE, ORDER, _ = "vcgym/Call-v1", *SENDERS
PATHS = [env_id for env_id in IDS.values() if env_id not in SENDERS]
UPLINK = {"uplink": "rate", "scenario": "table1"}
RULES = {"path": Greedy(), "playout": WMJitter()}
LOSSY = {"scenario": "table1", "loss_run_slots": 3.0, "protection": None, "packets": 1650}


def form(env_id, *marks, **arguments):
    """A case: absolute actions unless the form is relative, and a call of 15 decisions or more."""
    base = {} if str(arguments.get("action")).startswith("relative_") else ABSOLUTE[env_id]
    packets = 150 if base else 1650
    length = {"seconds": packets / 220} if env_id in SENDERS else {"packets": packets}
    return pytest.param(env_id, base | length | arguments, marks=marks, id=" ".join(map(str, (env_id, arguments))))


AS_ONE = [
    *(form(env_id, **observed) for env_id in IDS.values() for observed in ({}, {"observation": BY_PARTS[env_id]})),
    *(form(env_id, action="continuous", reward="event", mode="paper") for env_id in PATHS),
    form(CALL, action="relative_discrete", **LOSSY),
    form(CALL, pytest.mark.long, **UPLINK),
]
FORMS = [
    *AS_ONE,
    *(form(env_id, action=action) for env_id in IDS.values() for action in ("relative_discrete", "relative_continuous")),
    *(form(env_id, action="relative", **observed) for env_id in PATHS for observed in ({}, {"observation": "dict"})),
    *(form(env_id, reward="emodel") for env_id in SENDERS),
    form(RATE, action="discrete"),
    form(CALL, action="relative_continuous", **LOSSY),
    *(
        form(CALL, pytest.mark.long, **UPLINK | arguments)
        for arguments in (
            {"action": "continuous"},
            {"uplink": "order", "reward": "event"},
            {"rate": GccWebrtc(), "mode": "paper", **RULES},
            {"observation": "records", **RULES},
        )
    ),
]


@pytest.mark.parametrize(("env_id", "arguments"), FORMS)
def test_both_checkers_pass(env_id, arguments):
    env = gymnasium.make(env_id, **arguments).unwrapped
    check_env(env)
    if "observation" not in arguments:
        check_env_sb3(env)


class OneOfNative(gymnasium.Env):
    """The native environment of one session without its batch axis."""

    def __init__(self, env_id, **arguments):
        self.native = gymnasium.make_vec(env_id, num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **arguments).unwrapped
        self.observation_space = self.native.single_observation_space
        self.action_space = self.native.single_action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._of_one(*self.native.reset(seed=seed, options=options))

    def step(self, action):
        observations, rewards, terminated, truncated, infos = self.native.step(np.asarray(action)[None])
        observation, info = self._of_one(observations, infos)
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    @staticmethod
    def _of_one(observations, infos):
        own = {name: value[0] for name, value in infos.items() if not name.startswith("_")}
        if isinstance(observations, dict):
            return {name: np.asarray(value[0]) for name, value in observations.items()}, own
        return observations[0], own


@pytest.mark.parametrize(("env_id", "arguments"), AS_ONE)
def test_scalar_matches_the_native_env_of_one(env_id, arguments):
    steps = 60 if "uplink" in arguments else 450
    check_environments_match(gymnasium.make(env_id, **arguments), OneOfNative(env_id, **arguments), num_steps=steps, seed=3)


WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        *(
            form(env_id, scenario=scenario, mode=mode, observation=observation, packets=600, feedback_loss=0.1)
            for env_id in PATHS for scenario, mode in WORLDS for observation in ("features", "records")
        ),
        *(form(env_id, observation=observation, seconds=3.0) for env_id in SENDERS for observation in ("features", "dict")),
        *(
            form(CALL, pytest.mark.long, scenario="table1", uplink=uplink, observation=observation, mode="paper", feedback_loss=0.1)
            for uplink in ("rate", "order", "calls") for observation in ("features", "records")
        ),
    ],
)  # fmt: skip
def test_observations_lie_in_their_space(env_id, arguments):
    scenario = arguments.get("uplink") or {RATE: "rate", ORDER: "order"}.get(env_id)
    env = gymnasium.make_vec(env_id, num_envs=2, **arguments)
    for kind in SendingScenario(scenario).kinds if scenario else (None,):
        seen, _ = env.reset(seed=4, options={"kind": kind} if kind else {})
        env.action_space.seed(1)
        for _ in range(20 if scenario else 650):
            assert env.observation_space.contains(seen)
            seen, *_ = env.step(env.action_space.sample())


def test_observations_are_of_order_one_and_as_many_for_any_number_of_paths_or_packets(env_id):
    other = {"send_queue": 9} if env_id in SENDERS else {"scenario": "table1"}
    envs, others = (gymnasium.make_vec(env_id, num_envs=3, **arguments) for arguments in ({}, other))
    assert envs.single_observation_space == others.single_observation_space
    envs.reset(seed=4)
    envs.action_space.seed(4)
    seen = np.stack([envs.step(envs.action_space.sample())[0] for _ in range(60)])
    assert np.abs(seen).max() < 6.0
    assert np.quantile(np.abs(seen), 0.95) <= 2.0


def test_async_workers_fork_after_kernels_have_run():
    """A fork after kernels have run is safe, since the scalar environment never enters a parallel kernel."""
    assert "fork" in multiprocessing.get_all_start_methods()
    make = partial(gymnasium.make, "vcgym/Call-v1", packets=100, **ABSOLUTE["vcgym/Call-v1"])
    alone = make()
    first, _ = alone.reset(seed=8)
    second = alone.step([0, 12])
    workers = AsyncVectorEnv([make, make], context="fork")
    try:
        observations, _ = workers.reset(seed=8)
        np.testing.assert_array_equal(observations[0], first)
        observations, rewards, *_ = workers.step(np.array([[0, 12], [3, 20]]))
        np.testing.assert_array_equal(observations[0], second[0])
        assert rewards[0] == second[1]
    finally:
        workers.close()


@pytest.mark.parametrize("make_one", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")
def test_an_earlier_version_is_refused_and_the_error_names_the_id(env_id, make_one):
    with pytest.raises(gymnasium.error.DeprecatedEnv, match=f"Please use `{env_id}` instead"):
        make_one(env_id.replace("-v1", "-v0"))


@pytest.mark.parametrize("env_id", DIFFICULTIES)
def test_an_id_with_a_difficulty_is_the_one_without_with_its_arguments(env_id):
    plain_id, arguments = without_difficulty(env_id)
    length = {"seconds": 12.0} if plain_id in SENDERS else {"packets": 900}
    named, plain = gymnasium.make(env_id, **length), gymnasium.make(plain_id, **arguments, **length)
    assert named.spec.id == env_id and named.action_space == plain.action_space
    np.testing.assert_array_equal(named.reset(seed=7)[0], plain.reset(seed=7)[0])
    for _ in range(2):
        action = plain.action_space.sample()
        for one, other in zip(named.step(action), plain.step(action), strict=True):
            np.testing.assert_equal(one, other)
    assert EnvConfig(id=env_id, options=length) == EnvConfig(id=plain_id, options=arguments | length)
    assert EnvConfig(id=env_id, options={"interval": 7}).options["interval"] == 7
    carried = getattr(named.unwrapped.action_space, MADE_WITH)
    assert carried["env"] == plain_id and carried["options"].items() >= arguments.items()
