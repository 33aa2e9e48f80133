"""The fast path for Stable-Baselines3: its VecEnv over a native gymnasium vector environment.

Each step equals that of SB3's DummyVecEnv over scalar environments with the same seeds. The space of actions says with which arguments the
environment was made, and SB3 saves a model's spaces: so a zip carries them, and `vcgym.agents.evaluation.own_policy.OwnPolicy` reads them.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvStepReturn

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.evaluation.own_policy import MADE_WITH

_OF_THE_BATCH = {"num_envs", "vectorization_mode", "autoreset_mode", "threads", "split"}  # none of the calls that rank an agent


def make_vec_env(env_id: str, n_envs: int = 1, seed: int | None = None, env_kwargs: dict[str, Any] | None = None) -> VecMonitor:
    """Return a VecEnv of parallel calls for any algorithm of SB3 or sb3-contrib; replaces SB3's function of the same name.

    The sessions are one native batch, not separate Python environments; they are monitored as in SB3.

    Args:
        env_id: environment with a native vector version; all of vcgym's have one.
        n_envs: number of calls, >= 1.
        seed: seed of the first reset; session i plays world ``seed + i``. None: the algorithm's seed, else a random one.
        env_kwargs: arguments of the environment, see docs/envs.md.

    Raises:
        ValueError: an argument of the environment that is not allowed.
        TypeError: an unknown argument of the environment.
    """
    envs = gymnasium.make_vec(env_id, num_envs=n_envs, autoreset_mode=AutoresetMode.SAME_STEP, **(env_kwargs or {}))
    sessions = NativeVecEnv(envs)
    sessions.seed(seed)
    return VecMonitor(sessions)


class NativeVecEnv(VecEnv):
    """Adapter of `envs`, which restarts done sessions in the same step.

    Returned observations (num_envs, ...) and rewards float32 (num_envs,) are copies: the environment may reuse its buffers. They are
    C-ordered, because the rounding of a matrix product depends on the layout and a checkpoint does not save it.

    Args:
        envs: a vector environment in autoreset mode SAME_STEP with at least one session.

    Raises:
        ValueError: another autoreset mode, or no session.
    """

    def __init__(self, envs: VectorEnv):
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode of {envs} is {mode}; allowed: {AutoresetMode.SAME_STEP}")
        if envs.num_envs < 1:
            raise ValueError(f"num_envs of {envs} is {envs.num_envs}; allowed: at least 1")
        self.envs, self.steps = envs, 0
        acts = copy(envs.single_action_space)
        if envs.spec is not None:
            given = {name: value for name, value in envs.spec.kwargs.items() if name not in _OF_THE_BATCH}
            setattr(acts, MADE_WITH, {"env": envs.spec.id, "options": given})
        super().__init__(envs.num_envs, envs.single_observation_space, acts)

    def reset(self) -> np.ndarray:
        """Restart every session; the seeds of the last `seed` call and the options of the last `set_options` call are used once."""
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ValueError(f"options {self._options} differ between sessions; a native vector environment takes one for all")
        # SB3's seeds count up from the first, as a vector environment derives its seeds from a single one.
        observations, infos = self.envs.reset(seed=self._seeds[0], options=options or None)
        self.reset_infos = [_one(infos, i) for i in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        self._refuse_unfinite("observation", observations)
        return np.array(observations, order="C")

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        self.steps += 1
        self._refuse_unfinite("observation", observations)
        self._refuse_unfinite("reward", rewards)
        done = np.logical_or(terminated, truncated)
        final_observations = infos.pop("final_obs", None)
        final_infos = infos.pop("final_info", {})
        per_session = [_one(infos, i) for i in range(self.num_envs)]
        for i in np.flatnonzero(done).tolist():
            self.reset_infos[i] = per_session[i]
            per_session[i] = _one(final_infos, i) | {"terminal_observation": np.array(final_observations[i])}
        for i, info in enumerate(per_session):
            info["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return np.array(observations, order="C"), np.array(rewards, dtype=np.float32), done, per_session

    def _refuse_unfinite(self, name: str, values: np.ndarray) -> None:
        """Raise ValueError for a non-finite observation or reward: it would make the weights NaN."""
        if not np.isfinite(values).all():
            session, *where = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            field = f"{name} {_feature(self.envs, where[0])}" if where else name
            value = values[(session, *where)]
            raise ValueError(f"{field} of session {session} is {value} after {self.steps} steps of {self.envs}; allowed: a finite number")

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self.envs.unwrapped, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise NotImplementedError(f"set_attr({attr_name!r}): sessions of a native vector environment share attributes; set it on `envs`")

    def env_method(self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any) -> list[Any]:
        """Return the `action_masks` of each session for MaskablePPO; sessions have no other method."""
        if method_name != "action_masks":
            raise NotImplementedError(f"env_method({method_name!r}): sessions of a native vector environment have no methods of their own")
        unwrapped: Any = self.envs.unwrapped
        masks = unwrapped.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))

    def get_images(self) -> Sequence[np.ndarray | None]:
        raise NotImplementedError("get_images(): a native vector environment draws no pictures; use one scalar environment")


def _feature(envs: VectorEnv, at: int) -> str:
    """Return the name of an entry of a flat observation, or its index if it has no name."""
    layout = getattr(envs.unwrapped, "layout", None)
    return str(layout.features[at].name) if layout is not None and at < len(layout.features) else f"[{at}]"


def _one(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the infos of session i: the keys without a mask `_key`, and those whose mask is true for i."""
    infos_of_one: dict[str, Any] = {}
    for key, values in infos.items():
        if key.startswith("_") or not infos.get(f"_{key}", np.ones(i + 1, dtype=bool))[i]:
            continue
        infos_of_one[key] = _one(values, i) if isinstance(values, dict) else values[i]
    return infos_of_one
