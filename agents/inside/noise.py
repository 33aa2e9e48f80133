"""Noise on the output of a network, correlated from decision to decision, and its density.

    noise = memory x noise before + sqrt(1 - memory^2) x sd x normal draw

A controlled system averages independent noise out, so exploration must last. Two densities of a decision's noise:

    density         normal with sd, of each noise alone. An action then gets the credit of all that its noise leads to, so a network cannot
                    tell decisions apart that follow each other closely; its gradient varies less.
    density_after   normal with sqrt(1 - memory^2) sd, of the noise less memory times the noise before, the innovation. The density of a
                    whole call is the product of these, so its gradient has no such bias, and varies more.
"""

import math

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel

_HALF_LOG_TAU = np.float32(0.5 * math.log(2.0 * math.pi))


def require_noise(sd: float, memory: float) -> None:
    """Raise ValueError unless the noise has a density and does not stand still."""
    if not (sd > 0.0 and 0.0 <= memory < 1.0):
        raise ValueError(f"sd = {sd}, memory = {memory}: allowed are above 0, and 0 <= memory < 1")


@kernel
def following(params, before, recorder, s):
    """Return the noise of the next decision, float64.

    Args:
        params: parameters with `sd`, `memory` and `mirrored`: every second session has the noise of the one before, with the other sign.
        before: float64, noise of the decision before.
        recorder: Recorder; read only.
        s: int64, row.
    """
    count = recorder.decided[s]
    drawn = params.sd * rng.normal(recorder.key[s], count)
    drawn = -drawn if params.mirrored and s % 2 else drawn
    return drawn if count == 0 else params.memory * before + math.sqrt(1.0 - params.memory * params.memory) * drawn


@kernel
def density(noise, sd):
    """Return the logarithm of the density of a noise alone, float32."""
    off = np.float32(noise) / np.float32(sd)
    return -np.float32(0.5) * off * off - np.float32(math.log(sd)) - _HALF_LOG_TAU


@kernel
def density_after(params, noise, before, recorder, s):
    """Return the logarithm of the density of the next decision's noise after the one before, float32.

    Args:
        params: parameters with `sd` and `memory`.
        noise: float64, of the next decision.
        before: float64, of the decision before.
        recorder: Recorder; read only.
        s: int64, row.
    """
    if recorder.decided[s] == 0:
        return density(noise, params.sd)
    return density(noise - params.memory * before, params.sd * math.sqrt(1.0 - params.memory * params.memory))
