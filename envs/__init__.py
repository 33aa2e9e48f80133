"""Gymnasium environments of calls: Relay, Playout, Call, Rate, SendOrder.

Importing this room registers their ids; an installation does it behind gymnasium (`vcgym.gymnasium_ids`).

``help(vcgym.envs.Call)`` shows observation, action, reward and every argument with type and default; docs/envs.md explains the arguments.
"""

import importlib
import warnings
from typing import Any

import gymnasium

_MODULES = {"Relay": "relay", "Playout": "playout", "Call": "call", "Rate": "rate", "SendOrder": "send_order"}

_PATHS: dict[str, Any] = {"action": "relative_discrete", "reward": "impairment"}
VERSIONS: dict[str, dict[str, Any]] = {
    **{f"vcgym/{name}-v0": {} for name in _MODULES},
    "vcgym/Relay-v1": {**_PATHS, "interval": 100},
    "vcgym/Playout-v1": {**_PATHS, "interval": 10},
    "vcgym/Call-v1": {**_PATHS, "interval": 50},
    "vcgym/Rate-v1": {"action": "relative_discrete", "interval": 5},
    "vcgym/SendOrder-v1": {"action": "relative_discrete", "reward": "missed", "interval": 10, "send_queue": None, "overflow": None},
}
"""Ids, with the arguments in which each differs from the defaults of its class; lab/notes/defaults.md says why."""


def name_of(env_id: str) -> str:
    """Return the name of an id without namespace and version: Call for vcgym/Call-v1."""
    return env_id.rpartition("/")[2].partition("-")[0]


def ids_of(*names: str) -> tuple[str, ...]:
    """Return the ids of the environments of these names, older versions first, then in the order of `names`."""
    versions = sorted({one.rpartition("-")[2] for one in VERSIONS})
    return tuple(one for version in versions for name in names if (one := f"vcgym/{name}-{version}") in VERSIONS)


# Gymnasium calls an id out of date once a newer version exists; here both stay, and the boards rank agents of both.
warnings.filterwarnings("ignore", r".*The environment vcgym/\w+-v0 is out of date", DeprecationWarning)
for _id, _arguments in VERSIONS.items():
    if _id not in gymnasium.registry:
        _name = name_of(_id)
        _module = f"vcgym.envs.faces.{_MODULES[_name]}"
        gymnasium.register(
            _id, entry_point=f"{_module}:{_name}Env", vector_entry_point=f"{_module}:{_name}VectorEnv", kwargs=_arguments
        )  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return the class of an environment: `vcgym.envs.Call` is the class of vcgym/Call-v0."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; environments: {', '.join(_MODULES)}")
    return getattr(importlib.import_module(f"vcgym.envs.faces.{_MODULES[name]}"), f"{name}Env")
