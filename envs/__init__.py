"""Gymnasium environments of calls: Relay, Playout, Call, Rate, SendOrder. Importing this room registers their ids.

``help(vcgym.envs.Call)`` shows observation, action, reward and every argument with type and default; docs/envs.md explains the arguments.
"""

import importlib
from typing import Any

import gymnasium

_MODULES = {"Relay": "relay", "Playout": "playout", "Call": "call", "Rate": "rate", "SendOrder": "send_order"}

for _name, _file in _MODULES.items():
    _id = f"vcgym/{_name}-v0"
    if _id not in gymnasium.registry:
        _module = f"vcgym.envs.faces.{_file}"
        gymnasium.register(_id, entry_point=f"{_module}:{_name}Env", vector_entry_point=f"{_module}:{_name}VectorEnv")


def __getattr__(name: str) -> Any:
    """Return the class of an environment: `vcgym.envs.Call` is the class of vcgym/Call-v0."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; environments: {', '.join(_MODULES)}")
    return getattr(importlib.import_module(f"vcgym.envs.faces.{_MODULES[name]}"), f"{name}Env")
