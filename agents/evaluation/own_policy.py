"""User-defined policies: an object with SB3's `predict`, a zip saved by SB3, or a function of observations."""

import importlib
import json
import os
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.network.traces.plain_file import read_plain

MADE_WITH = "vcgym_made_with"
"""Attribute of a space of actions: id and arguments of the environment that it is of, written by `vcgym.agents.sb3`."""
_MAX_ZIP_BYTES = 1 << 30
_SHARED = {  # policy modules not named after an algorithm; A2C and TRPO use PPO's
    "stable_baselines3.common": "PPO",
    "sb3_contrib.common.maskable": "MaskablePPO",
    "sb3_contrib.common.recurrent": "RecurrentPPO",
}


class OwnPolicy:
    """Adapter that makes a policy for batches of sessions from a user's object or function.

    Attributes:
        reads: the observation it takes: from its attribute of this name, else from its `observation_space`, else features.
        made_with: id and arguments (`env`, `options`) of the environment it was trained in, as its action space carries; None: not known.

    Args:
        acts: an object with `predict(observation, state, episode_start, deterministic)`, which returns actions and a state, or a function
            that returns actions (sessions, ...) for observations (sessions, ...).

    Raises:
        ValueError: `acts` is neither.
    """

    def __init__(self, acts: Any) -> None:
        if not callable(getattr(acts, "predict", acts)):
            raise ValueError(f"agent is a {type(acts).__name__}; allowed: an object with predict, or a function of observations")
        self._acts = acts
        self.observation_space: spaces.Space[Any] | None = getattr(acts, "observation_space", None)
        self.action_space: spaces.Space[Any] | None = getattr(acts, "action_space", None)
        self.made_with: dict[str, Any] | None = getattr(self.action_space, MADE_WITH, None)
        self.reads: str = getattr(acts, "reads", "dict" if isinstance(self.observation_space, spaces.Dict) else "features")

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = True
    ) -> tuple[NDArray[Any], Any]:
        """Return the actions and the policy's state; a function has no state."""
        if not hasattr(self._acts, "predict"):
            return np.asarray(self._acts(observation)), None
        actions, state = self._acts.predict(observation, state, episode_start, deterministic=deterministic)
        return np.asarray(actions), state


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
