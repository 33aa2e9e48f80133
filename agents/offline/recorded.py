"""Offline sets: calls of a behaviour policy, written and read in the format of Minari.

A set is a folder ID/data under the folder of all sets, which Minari takes as MINARI_DATASETS_PATH. Call i of a set plays the world
``seed + i`` and draws from a generator of its own, so the bytes depend on the seed alone. Minari is imported where it is needed: training
online does not need it.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.env_arguments import env_defaults
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.offline.behaviour import Behaviour, behaviour_of
from vcgym.agents.published.new_folder import new_folder
from vcgym.envs import name_of
from vcgym.network.traces.plain_file import read_json
from vcgym.network.traces.refusal import one_line

TOGETHER = 50  # calls of one batch
DATA = "data"  # Minari's name of the folder in that of a set


class Recorded(NamedTuple):
    """A call: T decisions, and one observation more."""

    observations: NDArray[np.float32]  # (T + 1, features)
    actions: NDArray[np.int64]  # (T,)
    rewards: NDArray[np.float64]  # (T,)


class Transitions(NamedTuple):
    """The decisions of all calls of a set, in order."""

    observations: NDArray[np.float32]  # (n, features)
    actions: NDArray[np.int64]  # (n,)
    rewards: NDArray[np.float32]  # (n,)
    next_observations: NDArray[np.float32]  # (n, features)
    last: NDArray[np.bool_]  # (n,), the last decision of its call


def set_id(env_id: str, behaviour: str) -> str:
    """Return Minari's id of a set, such as vcgym/call/rule-v0."""
    return f"vcgym/{name_of(env_id).lower()}/{behaviour}-v0"


def record(env: EnvConfig, name: str, calls: int, seed: int, split: str) -> Iterator[Recorded]:
    """Play the behaviour policy `name` in `calls` worlds from `seed` on, and yield one call after the other.

    Raises:
        ValueError: the environment has no such policy.
    """
    for first in range(0, calls, TOGETHER):
        several = min(TOGETHER, calls - first)
        envs = gymnasium.make_vec(env.id, num_envs=several, split=split, autoreset_mode=AutoresetMode.NEXT_STEP, **env.options)
        yield from _played(envs, behaviour_of(name, envs, seed + first), seed + first)
        envs.close()


def _played(envs: Any, behaviour: Behaviour, seed: int) -> list[Recorded]:
    """Play one call in each session, from the world `seed` on."""
    observation, _ = envs.reset(seed=seed)
    kept: tuple[list[Any], ...] = [observation.copy()], [], []
    running, state = [np.ones(envs.num_envs, bool)], None
    while running[-1].any():
        actions, state = behaviour.predict(observation, state)
        observation, rewards, terminated, truncated, _ = envs.step(actions)
        for column, new in zip(kept, (observation, actions, rewards), strict=True):
            column.append(new.copy())
        running.append(running[-1] & ~(terminated | truncated))
    seen, done, gained = (np.stack(column, axis=1) for column in kept)
    return [Recorded(seen[i, : n + 1], done[i, :n], gained[i, :n]) for i, n in enumerate(np.sum(running, axis=0))]


def write_set(home: Path, env: EnvConfig, behaviour: str, recorded: list[Recorded]) -> Path:
    """Write calls as the new set of a behaviour policy under `home`; return its folder.

    Raises:
        FileExistsError: there is such a set.
    """
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    envs, spec = make_envs(env, 1, "train"), copy.deepcopy(gymnasium.spec(env.id))  # a copy: that of the registry holds for all
    defaults, written = env_defaults(env.id), env.model_dump(mode="json")["options"]
    spec.kwargs = spec.kwargs | {key: written[key] for key, value in env.options.items() if value != defaults[key]}
    folder = home / set_id(env.id, behaviour)
    with new_folder(folder) as draft:
        storage = MinariStorage.new(draft / DATA, envs.single_observation_space, envs.single_action_space, spec)
        about: dict[str, Any] = {"dataset_id": set_id(env.id, behaviour), "minari_version": minari.__version__, "algorithm_name": behaviour}
        storage.update_metadata(about)
        storage.update_episodes(
            EpisodeBuffer(
                id=number,
                observations=one.observations,
                actions=one.actions,
                rewards=one.rewards,
                terminations=np.zeros(len(one.actions), bool),
                truncations=np.arange(len(one.actions)) == len(one.actions) - 1,
            )
            for number, one in enumerate(recorded)
        )
    envs.close()
    return folder


def require_set(folder: Path, env: EnvConfig) -> None:
    """Raise ValueError unless `folder` holds a set of an environment with its spaces; nothing that the set names is imported.

    Raises:
        ValueError: it is no set, of another id, or of other spaces.
    """
    from minari.serialization import deserialize_space

    path = folder / DATA / "metadata.json"
    if not path.is_file():
        raise ValueError(f"algorithm.dataset is {folder}; allowed: the folder of a set, such as outputs/offline/{set_id(env.id, 'rule')}")
    card = read_json(path)
    try:
        found = json.loads(card["env_spec"])["id"], *(deserialize_space(card[f"{of}_space"]) for of in ("observation", "action"))
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"{path}: {type(error).__name__} {one_line(str(error), 120)}; allowed: id and spaces of an environment") from error
    envs = make_envs(env, 1, "train")
    wanted = env.id, envs.single_observation_space, envs.single_action_space
    envs.close()
    for of, has, needs in zip(("env.id", "observation space", "action space"), found, wanted, strict=True):
        if has != needs:
            raise ValueError(f"{path}: {of} is {one_line(str(has), 80)}; allowed: {one_line(str(needs), 80)}")
    if not isinstance(wanted[2], spaces.Discrete):
        raise ValueError(f"action space of {env.id} is {wanted[2]}; allowed: Discrete (env.options.action=relative_discrete)")


def read_set(folder: Path, env: EnvConfig) -> Transitions:
    """Return the decisions of the set in `folder`; for errors see `require_set`."""
    import minari

    require_set(folder, env)
    episodes = list(minari.MinariDataset(folder / DATA).iterate_episodes())
    return Transitions(
        np.concatenate([one.observations[:-1] for one in episodes]),
        np.concatenate([one.actions for one in episodes]).astype(np.int64),
        np.concatenate([one.rewards for one in episodes]).astype(np.float32),
        np.concatenate([one.observations[1:] for one in episodes]),
        np.concatenate([one.truncations for one in episodes]),
    )
