"""The one place where a config becomes environments, and where they are asked what agents need to know of them."""

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from vcgym.agents.config import EnvConfig
from vcgym.envs.faces.sender_vector import card
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.sending_scenarios import SENDING_SCENARIOS, SendingScenario


def make_envs(config: EnvConfig, num_envs: int, split: str) -> VectorEnv:
    """Build the native vector environment of `num_envs` sessions over the worlds of `split`, ended sessions restarting in the same step."""
    return gymnasium.make_vec(config.id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, split=split, **config.options)


def paths_observed(envs: VectorEnv) -> int:
    """How many paths an observation describes; 0 for an environment that knows of none."""
    return int(getattr(envs.unwrapped, "paths_observed", 0))


def places_observed(envs: VectorEnv) -> int:
    """How many places of a queue an observation describes; 0 for an environment without one."""
    return int(getattr(envs.unwrapped, "places", 0))


def feature_names(envs: VectorEnv) -> list[str]:
    """Names of the entries of an observation, in order; empty for an environment that names none."""
    return [feature.name for feature in getattr(envs.unwrapped, "layout", ())]


def data_hash(config: EnvConfig) -> str:
    """SHA-256 of the card of the data that the worlds are drawn from; "" for an environment without a scenario.

    Raises:
        ValueError: no such scenario, or not in that mode.
        DataError: data that is missing or broken.
    """
    if "scenario" not in config.options:
        return ""
    if config.options["scenario"] in SENDING_SCENARIOS:
        return card(SendingScenario(config.options["scenario"]))
    return Scenario(config.options["scenario"], config.options["mode"], config.options["packets"]).layout.card
