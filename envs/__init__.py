"""Gymnasium environments of calls, one per control and one for two of them. Importing this room registers their ids."""

import gymnasium

_MODULES = {"Relay": "relay", "Playout": "playout", "Call": "call", "Rate": "rate", "SendOrder": "send_order"}

for _name, _file in _MODULES.items():
    _id = f"vcgym/{_name}-v0"
    if _id not in gymnasium.registry:
        _module = f"vcgym.envs.faces.{_file}"
        gymnasium.register(_id, entry_point=f"{_module}:{_name}Env", vector_entry_point=f"{_module}:{_name}VectorEnv")
