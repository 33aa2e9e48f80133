"""Gymnasium environments of calls. Importing this room registers the ids `vcgym/Relay-v0`, `vcgym/Playout-v0` and `vcgym/Call-v0`."""

import gymnasium

for _name in ("Relay", "Playout", "Call"):
    _id = f"vcgym/{_name}-v0"
    if _id not in gymnasium.registry:
        _room = f"vcgym.envs.{_name.lower()}"
        gymnasium.register(_id, entry_point=f"{_room}:{_name}Env", vector_entry_point=f"{_room}:{_name}VectorEnv")
