"""User-defined policies: an object with SB3's `predict`, a zip saved by SB3, or a function of observations."""

import importlib
import inspect
import json
import os
import sys
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.between import Between, around, scalar
from vcgym.agents.evaluation.saved_model import Normaliser, completed
from vcgym.envs.environments.made_with import MADE_WITH
from vcgym.network.traces.plain_file import read_plain
from vcgym.network.traces.refusal import one_line

_MAX_ZIP_BYTES = 1 << 30
_SHARED = {  # policy modules not named after an algorithm; A2C and TRPO use PPO's
    "stable_baselines3.common": "PPO",
    "sb3_contrib.common.maskable": "MaskablePPO",
    "sb3_contrib.common.recurrent": "RecurrentPPO",
}


class OwnPolicy:
    """Adapter that makes a policy for batches of sessions from a user's object or function.

    A model of Stable-Baselines3 sees and acts through the wrappers of its training (`vcgym.agents.evaluation.between`).

    Attributes:
        reads: the observation it takes: from its attribute of this name, else from its `observation_space`, else features.
        made_with: id and arguments (`env`, `options`) of the environment it was trained in, as its action space carries; None: not known.
        masked: its `predict` takes masks of the valid actions.
        observation_space: of its environment; None: not known.
        action_space: of its environment; None: not known.

    Args:
        acts: an object with `predict(observation)`, which returns actions or actions and a state, and gets by their names `state`,
            `episode_start`, `deterministic` and `action_masks` if it takes them; or a function that returns actions (sessions, ...) for
            observations (sessions, ...).

    Raises:
        ValueError: `acts` is neither, or was trained behind a wrapper that cannot be replayed.
    """

    def __init__(self, acts: Any) -> None:
        if not callable(getattr(acts, "predict", acts)):
            raise ValueError(f"agent is a {type(acts).__name__}; allowed: an object with predict, or a function of observations")
        self._acts = acts
        seen, done = getattr(acts, "observation_space", None), getattr(acts, "action_space", None)
        self.between, self.made_with = Between((), seen, done, seen), getattr(done, MADE_WITH, None)
        if self.is_model and acts.get_env() is not None:
            self.between = around(acts.get_env())
        elif self.made_with and "wrapper" in self.made_with:
            self.between = _rebuilt(self.made_with)
        self.observation_space, self.action_space = self.between.observation_space, self.between.action_space
        self.made_with = self.made_with or getattr(self.action_space, MADE_WITH, None)
        self._named = _named_arguments(acts.predict) if hasattr(acts, "predict") else set()
        self.masked = "action_masks" in self._named
        of_training = (self.made_with or {}).get("options", {}).get("observation")
        reads = "dict" if isinstance(self.observation_space, spaces.Dict) else "features"
        self.reads: str = getattr(acts, "reads", of_training or reads)

    @property
    def is_model(self) -> bool:
        """Return True for a model of Stable-Baselines3."""
        return hasattr(self._acts, "get_vec_normalize_env")

    def complete(self, space: spaces.Space[Any], file: Normaliser | None) -> None:
        """Find out what stood between a saved model and its environment, whose observations are of `space`.

        Raises:
            ValueError: see `completed`; or a normaliser is given to a policy that is not a saved model.
        """
        if not self.is_model or self._acts.get_env() is not None:
            if file is not None and file.is_named:
                raise ValueError(f"normalize is {file.file}; allowed: with a model that Stable-Baselines3 has saved")
            return
        known = self.between if self.between.layers else self.between._replace(seen_space=space)
        if (found := completed(known, self._acts, file)) is not None:
            self.between, self.observation_space = found, space

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True,
        action_masks: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[Any], Any]:  # fmt: skip
        """Return the actions and the policy's state; a function has no state."""
        if not hasattr(self._acts, "predict"):
            return np.asarray(self._acts(observation)), None
        layers = self.between.layers
        memories, state = state if layers and state is not None else ([None] * len(layers), state)
        memory_after = []
        for layer, memory in zip(layers, memories, strict=True):
            observation, remembered = layer.see(observation, memory)
            memory_after.append(remembered)
        given = {"state": state, "episode_start": episode_start, "deterministic": deterministic}
        given |= {} if action_masks is None else {"action_masks": action_masks}
        answer = self._acts.predict(observation, **{name: value for name, value in given.items() if name in self._named})
        actions, state = answer if isinstance(answer, tuple) else (answer, None)
        for layer in reversed(layers):
            actions = layer.do(np.asarray(actions))
        return np.asarray(actions), (memory_after, state) if layers else state


def _named_arguments(predict: Callable[..., Any]) -> set[str]:
    """Return which of the arguments of SB3's `predict` a policy takes by their names; the masks only if it names them."""
    taken = inspect.signature(predict).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    names = {"state", "episode_start", "deterministic"} if takes_all else set()
    return names | ({"state", "episode_start", "deterministic", "action_masks"} & taken.keys())


def _rebuilt(made_with: Mapping[str, Any]) -> Between:
    """Return what stands between a model and its environment, from the wrapper that `make_vec_env` wrote down.

    Raises:
        ValueError: it could not be saved, or not be made again.
    """
    if made_with["wrapper"] is None:
        raise ValueError("agent was trained behind a wrapper_class that cannot be saved; rank a function that does the same: module:name")
    try:
        wrapper, arguments = cloudpickle.loads(made_with["wrapper"])  # trusted as the zip is
        env = wrapper(gymnasium.make(made_with["env"], **EnvConfig(id=made_with["env"], options=made_with["options"]).options), **arguments)
    except Exception as error:  # a user's wrapper may raise anything
        raise ValueError(f"wrapper_class of the agent cannot be made again: {type(error).__name__} {one_line(str(error), 160)}") from error
    return scalar(env, 0)


def load_own(named: str) -> Any:
    """Load the policy `named`: "module:name" (the working folder is searched first) or a file "NAME.zip" saved by SB3.

    Both execute code: load only policies that you trust.

    Raises:
        ValueError: it does not exist or cannot be loaded.
    """
    if named.endswith(".zip"):
        return _load_zip(Path(named))
    module, _, name = named.partition(":")
    if not module or not name:
        raise ValueError(f"agent is {named!r}; allowed: module:name, or a .zip that Stable-Baselines3 has saved")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # imported code may raise anything
        raise ValueError(f"agent {named} cannot be imported: {type(error).__name__} {error}") from error


def _load_zip(path: Path) -> Any:
    try:
        with zipfile.ZipFile(BytesIO(read_plain(path, _MAX_ZIP_BYTES))) as archive:
            policy = json.loads(archive.read("data"))["policy_class"]["__module__"]
        import sb3_contrib  # imported here because it needs torch
        import stable_baselines3

        library, _, kind = policy.removesuffix(".policies").partition(".")
        name = _SHARED.get(f"{library}.{kind}", kind)
        found = {one.lower(): vars(module)[one] for module in (stable_baselines3, sb3_contrib) for one in module.__all__}
        if name.lower() not in found:
            raise ValueError(f"its policy is of {policy}, which names no algorithm")
        return found[name.lower()].load(path, device="cpu")
    except Exception as error:  # a broken zip may raise anything
        raise ValueError(
            f"agent {path} cannot be loaded: {type(error).__name__} {error}; allowed: a zip that model.save() wrote, or module:name"
        ) from error
