"""Environments of conferences. Importing this room registers the central one with gymnasium; `parallel.py` has one agent per source."""

import gymnasium

if "vcgym/Conference-v0" not in gymnasium.registry:
    _module = "vcgym.conference.env.central"
    gymnasium.register("vcgym/Conference-v0", entry_point=f"{_module}:ConferenceEnv", vector_entry_point=f"{_module}:ConferenceVectorEnv")
