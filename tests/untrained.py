"""An untrained network in place of the published one, and agents of random weights."""

import math

import gymnasium
import numpy as np

from vcgym.agents.evaluation.environments import observation_parts
from vcgym.agents.networks.observation import network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.published.export import publish
from vcgym.predictors.mlp import LAYERS, RANGES_MS, make_network


def random_network(seed):
    """Return an untrained network: He's normal weights (ICCV 2015, section 2.2), biases 0, scaled for `RANGES_MS`.

    Inputs are standardised as if uniform on their ranges, the output as if it were the sum of the inputs.
    """
    draws = np.random.default_rng(seed)
    layers = [
        (draws.normal(0.0, math.sqrt(2.0 / weights[0]), weights).astype(np.float32), np.zeros(biases, np.float32))
        for weights, biases in LAYERS
    ]
    (low, high), (low_jitter, high_jitter) = RANGES_MS
    means_ms = (low + high) / 2.0, (low_jitter + high_jitter) / 2.0
    sds_ms = (high - low) / math.sqrt(12.0), (high_jitter - low_jitter) / math.sqrt(12.0)
    return make_network(layers, means_ms, sds_ms, sum(means_ms), math.hypot(*sds_ms))


def publish_random_agent(folder, env_id="vcgym/Call-v1", hidden=8, activation="tanh", scale=1.0, seed=3, **options):
    """Publish an agent of random weights, 0 with `scale` 0, for an environment with options."""
    envs, draws = gymnasium.make_vec(env_id, num_envs=1, **options).unwrapped, np.random.default_rng(seed)
    parts, space = observation_parts(envs), envs.single_action_space
    network = network_for(parts, output_count(space), hidden, activation)
    tensors = {name: draws.normal(scale=scale, size=shape).astype(np.float32) for name, shape in network.tensor_shapes().items()}
    agent = AgentPolicy(env_id, tuple(parts), envs.single_observation_space, space, network, tensors)
    publish(folder, agent, algorithm="none", steps=0, seed=seed, config_hash="0" * 16)
