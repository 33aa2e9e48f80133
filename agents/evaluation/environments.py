"""Environments built from a config, and the facts about them that agents need."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.networks.observation import ObservedPart
from vcgym.network.scenarios.bottleneck.recipe import data_hash as bottleneck_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import scenario_of
from vcgym.network.scenarios.scenario import scenarios_of
from vcgym.network.scenarios.settings import WorldSettings


def make_envs(config: EnvConfig, num_envs: int, split: str) -> VectorEnv:
    """Build the native vector environment of `num_envs` sessions over the worlds of `split`; done sessions restart in the same step."""
    return gymnasium.make_vec(config.id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, split=split, **config.options)


def observation_parts(envs: VectorEnv, flat: bool = False) -> list[ObservedPart]:
    """Return the parts of an observation, none as a set if `flat`; a single part of numbered features if the environment names none."""
    layout = getattr(envs.unwrapped, "layout", None)
    if layout is None:
        shape = envs.single_observation_space.shape or ()
        return [ObservedPart(name="features", features=[str(i) for i in range(int(np.prod(shape)))])]
    chosen = getattr(envs.unwrapped, "chosen_from", None)
    return [
        ObservedPart(name=part.name, items=len(part.items), features=[feature.name for feature in part.features])
        if part.name == chosen and not flat
        else ObservedPart(name=part.name, features=[feature.name for feature in part.flat])
        for part in layout.parts.values()
    ]


def data_hashes(config: EnvConfig) -> dict[str, str]:
    """Return the SHA-256 of the card of the data of each kind of worlds, by its name; none for an environment without a scenario.

    Raises:
        ValueError: no such scenario, or not in that mode.
        DataError: data is missing or broken.
    """
    if "scenario" not in config.options:
        return {}
    options = config.options
    if "mode" not in options:
        scenario = scenario_of(options["scenario"], traces=options["traces"])
        return {scenario.name: bottleneck_hash(scenario)}
    return {f"{one.name} {one.mode}": one.layout.card for one in scenarios_of(WorldSettings.among(options))}
