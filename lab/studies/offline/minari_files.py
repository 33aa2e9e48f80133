"""Logged calls as a Minari data set: one episode per call, with the infos `propensity` and `rating`."""

import copy
import warnings
from typing import Any

import gymnasium
import minari
import numpy as np
from minari.data_collector.episode_buffer import EpisodeBuffer

from lab.studies.offline.calls import Logged, choices_of


def write_calls(name: str, logged: Logged, env_id: str = "vcgym/Call-v0", **options: Any) -> None:
    """Write calls as the new data set `name`, "vcgym/call/NAME-v0", in the folder MINARI_DATASETS_PATH (by default Minari's own).

    Args:
        name: the data set's id.
        logged: the calls.
        env_id: environment in which they were played.
        options: its arguments, from which `recover_environment` makes it again.

    Raises:
        ValueError: there is such a data set.
    """
    spec = copy.deepcopy(gymnasium.spec(env_id))
    spec.kwargs = spec.kwargs | options
    sizes = choices_of(gymnasium.make(spec).action_space)
    decisions = logged.actions.shape[1]
    ends = np.arange(decisions) == decisions - 1
    episodes = [
        EpisodeBuffer(
            id=i,
            observations=logged.observations[i],
            actions=np.stack(np.unravel_index(logged.actions[i], sizes), axis=1) if len(sizes) > 1 else logged.actions[i],
            rewards=logged.rewards[i],
            terminations=np.zeros(decisions, bool),
            truncations=ends,
            infos={  # one row per observation, the first of the reset
                "propensity": np.append(1.0, logged.propensities[i])[:, None],
                "rating": np.full((decisions + 1, 1), logged.ratings[i]),
            },
        )
        for i in range(len(logged.actions))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of each field of the card that is left empty
        minari.create_dataset_from_buffers(name, episodes, env=spec, data_format="arrow")


def read_calls(name: str) -> Logged:
    """Return the calls of the data set `name`.

    Raises:
        ValueError: the actions are not discrete, or the episodes are not of equal length.
    """
    data = minari.load_dataset(name)
    sizes, episodes = choices_of(data.action_space), list(data.iterate_episodes())
    lengths = {len(episode) for episode in episodes}
    if len(lengths) != 1:
        raise ValueError(f"{name}: lengths of episodes are {sorted(lengths)[:5]}; allowed: one length")
    actions = np.array([episode.actions for episode in episodes]).reshape(len(episodes), lengths.pop(), len(sizes))
    return Logged(
        np.array([episode.observations for episode in episodes]),
        np.ravel_multi_index(tuple(np.moveaxis(actions, 2, 0)), sizes),
        np.array([episode.rewards for episode in episodes]),
        np.array([episode.infos["propensity"][1:, 0] for episode in episodes]),
        np.array([episode.infos["rating"][-1, 0] for episode in episodes]),
    )
