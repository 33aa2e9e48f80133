"""Gymnasium environments of calls: Relay, Playout, Call, Rate, Send, SendOrder; and SharedRate, of many agents, in PettingZoo's form.

Importing this room registers their ids; an installation does it behind gymnasium (`vcgym.gymnasium_ids`).

``help(vcgym.envs.Call)`` shows observation, action, reward and every argument with type and default; docs/envs.md explains the arguments.
"""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import gymnasium

_MODULES = {"Relay": "call", "Playout": "call", "Call": "call", "Rate": "rate", "Send": "send", "SendOrder": "send_order"}
IDS = {name: f"vcgym/{name}-v1" for name in _MODULES}
"""Name of an environment -> its id."""
DIFFICULTIES = {
    "vcgym/Relay-hard-v1": {"interval": 10},
    "vcgym/Playout-easy-v1": {"interval": 50},
    "vcgym/Playout-hard-v1": {"interval": 1},
    "vcgym/Call-hard-v1": {"interval": 10},
    "vcgym/Rate-hard-v1": {"interval": 20},
    "vcgym/Send-hard-v1": {"interval": 20},
}
"""Id of an environment whose decisions hold longer (easy) or shorter (hard) -> its arguments; all else is as without the word."""


def name_of(env_id: str) -> str:
    """Return the name of an id without namespace and version: Call for vcgym/Call-v1."""
    return env_id.rpartition("/")[2].partition("-")[0]


def without_difficulty(env_id: str, options: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, dict[str, Any]]:
    """Return vcgym/Call-v1 and its arguments for vcgym/Call-hard-v1; another id as it is. `options` precede what the difficulty sets."""
    plain = IDS[name_of(env_id)] if env_id in DIFFICULTIES else env_id
    return plain, DIFFICULTIES.get(env_id, {}) | dict(options)


for _id in (*IDS.values(), *DIFFICULTIES):
    if _id not in gymnasium.registry:
        _class = f"vcgym.envs.environments.{_MODULES[name_of(_id)]}:{name_of(_id)}"
        gymnasium.register(_id, f"{_class}Env", vector_entry_point=f"{_class}VectorEnv", kwargs=dict(DIFFICULTIES.get(_id, {})))


def __getattr__(name: str) -> Any:
    """Return the class of an environment: `vcgym.envs.Call` is the class of vcgym/Call-v1; `SharedRate` is one of PettingZoo."""
    if name == "SharedRate":  # loaded only here: the package pettingzoo is optional
        return importlib.import_module("vcgym.envs.environments.parallel").SharedRate
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; environments: {', '.join(_MODULES)}")
    return getattr(importlib.import_module(f"vcgym.envs.environments.{_MODULES[name]}"), f"{name}Env")
