"""The one place where a config becomes environments."""

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from vcgym.agents.config import EnvConfig


def make_envs(config: EnvConfig, num_envs: int, split: str) -> VectorEnv:
    """Build the native vector environment of `num_envs` sessions over the worlds of `split`, ended sessions restarting in the same step."""
    return gymnasium.make_vec(config.id, num_envs=num_envs, autoreset_mode=AutoresetMode.SAME_STEP, split=split, **config.options)
