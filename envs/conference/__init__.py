"""Environments of conferences. Importing this room registers the central one with gymnasium; `parallel.py` has one agent per source."""

import gymnasium

if "vcgym/Conference-v0" not in gymnasium.registry:
    gymnasium.register("vcgym/Conference-v0", entry_point="vcgym.envs.conference.central:ConferenceEnv")
