"""An untrained network in place of the published one."""

import math

import numpy as np

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
