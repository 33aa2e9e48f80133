"""The fast path for Stable-Baselines3: its VecEnv over a native gymnasium vector environment.

Each step equals that of SB3's DummyVecEnv over scalar environments with the same seeds. The space of actions says with which arguments the
environment was made, and SB3 saves a model's spaces: so a zip carries them, and `vcgym.agents.evaluation.own_policy.OwnPolicy` reads them.
"""

import os
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common import env_util
from stable_baselines3.common.vec_env import VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvStepReturn

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.envs.environments.made_with import MADE_WITH, made_with


def make_vec_env(
    env_id: str | Callable[..., gymnasium.Env[Any, Any]],
    n_envs: int = 1,
    seed: int | None = None,
    start_index: int = 0,
    monitor_dir: str | None = None,
    wrapper_class: Callable[..., gymnasium.Env[Any, Any]] | None = None,
    env_kwargs: dict[str, Any] | None = None,
    vec_env_cls: type[VecEnv] | None = None,
    vec_env_kwargs: dict[str, Any] | None = None,
    monitor_kwargs: dict[str, Any] | None = None,
    wrapper_kwargs: dict[str, Any] | None = None,
) -> VecEnv:
    """Return a VecEnv of parallel calls for any algorithm of SB3 or sb3-contrib; replaces SB3's function of the same name.

    The sessions are one native batch, not separate Python environments; they are monitored as in SB3. With a wrapper of one environment, a
    class of VecEnv or a setting of its `Monitor` other than `info_keywords`, they are separate environments, made by SB3's own function.

    Args:
        env_id: environment with a native vector version; all of vcgym's have one. Also a function that makes one environment.
        n_envs: number of calls, >= 1.
        seed: seed of the first reset; session i plays world ``seed + i``. None: the algorithm's seed, else a random one.
        start_index: number of the first call in the names of the monitor's files; its only effect, as in SB3, but for the seed with which
            actions are sampled at random, ``seed + start_index``.
        monitor_dir: folder of a file of the episodes, which SB3's `load_results` reads; None: no file.
        wrapper_class: wrapper of each environment; a zip carries it, if it can be pickled.
        env_kwargs: arguments of the environment, see docs/envs.md.
        vec_env_cls: class such as SB3's SubprocVecEnv.
        vec_env_kwargs: its arguments.
        monitor_kwargs: arguments of SB3's `Monitor`.
        wrapper_kwargs: arguments of `wrapper_class`.

    Raises:
        ValueError: an argument of the environment that is not allowed.
        TypeError: an unknown argument of the environment.
    """
    watched = dict(monitor_kwargs or {})
    if not isinstance(env_id, str) or wrapper_class or vec_env_cls or vec_env_kwargs or watched.keys() - {"info_keywords"}:
        separate = env_util.make_vec_env(
            env_id, n_envs, seed, start_index, monitor_dir, wrapper_class, env_kwargs, vec_env_cls, vec_env_kwargs,  # type: ignore[arg-type]
            monitor_kwargs, wrapper_kwargs,
        )  # fmt: skip
        return separate if wrapper_class is None else _carrying(separate, env_id, env_kwargs or {}, wrapper_class, wrapper_kwargs or {})
    envs = gymnasium.make_vec(env_id, num_envs=n_envs, autoreset_mode=AutoresetMode.SAME_STEP, **(env_kwargs or {}))
    sessions = NativeVecEnv(envs)
    sessions.seed(seed)
    if seed is not None:
        sessions.action_space.seed(seed + start_index)
    if monitor_dir is not None:
        os.makedirs(monitor_dir, exist_ok=True)
        watched["filename"] = os.path.join(monitor_dir, str(start_index))
    return VecMonitor(sessions, **watched)


def _carrying(envs: VecEnv, env_id: Any, env_kwargs: dict[str, Any], wrapper: Any, wrapper_kwargs: dict[str, Any]) -> VecEnv:
    """Let the space of actions say behind which wrapper the environments stand; None: one that cannot be pickled."""
    try:
        saved = cloudpickle.dumps((wrapper, wrapper_kwargs))
    except Exception:  # a user's wrapper may raise anything
        saved = None
    if isinstance(env_id, str):
        envs.action_space = copy(envs.action_space)
        carried = made_with(env_id, gymnasium.spec(env_id).kwargs | env_kwargs) | {"wrapper": saved}
        setattr(envs.action_space, MADE_WITH, carried)
    return envs


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
        super().__init__(envs.num_envs, envs.single_observation_space, copy(envs.single_action_space))

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
        return _copied(observations)

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
            per_session[i] = _one(final_infos, i) | {"terminal_observation": _copied(final_observations[i])}
        for i, info in enumerate(per_session):
            info["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return _copied(observations), np.array(rewards, dtype=np.float32), done, per_session

    def _refuse_unfinite(self, name: str, values: Any) -> None:
        """Raise ValueError for a non-finite observation or reward: it would make the weights NaN."""
        if isinstance(values, dict):
            for part, of_part in values.items():
                self._refuse_unfinite(f"{name} {part}", of_part)
            return
        if not np.isfinite(values).all():
            session, *where = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            field = f"{name} {_feature(self.envs, where)}" if where else name
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


def _copied(observations: Any) -> Any:
    """Return a copy of observations, of each part of them in order."""
    if isinstance(observations, dict):
        return {name: np.array(part, order="C") for name, part in observations.items()}
    return np.array(observations, order="C")


def _feature(envs: VectorEnv, where: list[int]) -> str:
    """Return the name of an entry of a flat observation, or its index if it has no name."""
    layout: Any = getattr(envs.unwrapped, "layout", None)
    is_flat = layout is not None and len(where) == 1 and where[0] < len(layout.features) == (envs.single_observation_space.shape or (0,))[0]
    return str(layout.features[where[0]].name) if is_flat else str(where)


def _one(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the infos of session i: the keys without a mask `_key`, and those whose mask is true for i."""
    infos_of_one: dict[str, Any] = {}
    for key, values in infos.items():
        if key.startswith("_") or not infos.get(f"_{key}", np.ones(i + 1, dtype=bool))[i]:
            continue
        infos_of_one[key] = _one(values, i) if isinstance(values, dict) else values[i]
    return infos_of_one
