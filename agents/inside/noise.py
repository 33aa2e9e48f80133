"""Exploration of a policy: draws from the output of its network, and the logarithm of their probability or density.

    Bernoulli    the action is 1 with probability sigmoid(output), else 0
    Normal       action = output + noise,    noise = memory x last noise + sqrt(1 - memory^2) x sd x normal draw

A controlled system averages independent noise out, so exploration must last: normal noise is correlated from decision to decision. It has
two densities:

    of each noise                 normal with sd. An action then gets the credit of all that its noise leads to, so a network cannot tell
                                  decisions apart that follow each other closely; its gradient varies less.
    of each innovation            normal with sqrt(1 - memory^2) sd, of the noise less memory times the last noise. The
                                  density of a whole call is the product of these, so its gradient has no such bias, and varies more.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from vcgym.network.kernels import rng
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel

_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_HALF_LOG_TAU_32 = np.float32(_HALF_LOG_TAU)


class Bernoulli(NamedTuple):
    """A choice of two."""

    def log_prob(self, out: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log probabilities (decisions,) of actions 1 and 0 for outputs of calls of these lengths."""
        return torch.nn.functional.logsigmoid((2.0 * action - 1.0) * out)


class Normal(NamedTuple):
    """Normal noise."""

    sd: float  # > 0
    memory: float = 0.0  # correlation from decision to decision, 0 <= memory < 1
    innovations: bool = False  # densities are those of innovations, else those of each noise
    mirrored: bool = False  # every second session has the noise of the one before, with the other sign

    def log_prob(self, out: torch.Tensor, action: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the log densities (decisions,) of actions for outputs of calls of these lengths."""
        noise = action - out
        if not self.innovations:
            return _log_density(noise, self.sd)
        first = torch.zeros(len(noise), dtype=torch.bool)
        first[np.cumsum([0, *(n for n in lengths if n > 0)])[:-1]] = True
        innovation = noise - self.memory * torch.nn.functional.pad(noise[:-1], (1, 0))
        sd = torch.where(first, self.sd, self.sd * math.sqrt(1.0 - self.memory**2))
        return _log_density(torch.where(first, noise, innovation), sd)


Noise = Bernoulli | Normal


def _log_density(off: torch.Tensor, sd: float | torch.Tensor) -> torch.Tensor:
    off = off / sd
    return -0.5 * off * off - torch.log(torch.as_tensor(sd)) - _HALF_LOG_TAU


@generic()
def require_noise(noise: Any) -> None:
    """Raise ValueError unless the noise has a density and does not stand still."""


@require_noise.register(Normal)
def _require_noise(noise):
    if not (noise.sd > 0.0 and 0.0 <= noise.memory < 1.0):
        raise ValueError(f"sd = {noise.sd}, memory = {noise.memory}: allowed are above 0, and 0 <= memory < 1")


@generic()
def twin(noise: Any, s: int) -> int:
    """Return the number of the draws of row `s`, by default its own; rows of one number have the same draws."""
    return s


@twin.register(Normal)
def _twin(noise, s):
    return s // 2 if noise.mirrored else s


@generic(abstract=True, inlined=True)
def explore(noise: Any, last_noise: Any, recorder: Any, s: int, out: Any) -> Any:
    """Return the action of the next decision and the logarithm of its probability or density, both float32.

    Args:
        noise: parameters of the noise.
        last_noise: float64 (sessions,), noise of the last decision; row `s` is updated.
        recorder: Recorder; read only.
        s: int64, row.
        out: float32, output of the network.
    """


@explore.register(Bernoulli)
def _explore_two(noise, last_noise, recorder, s, out):
    one = rng.uniform(recorder.key[s], recorder.decided[s]) < 1.0 / (1.0 + math.exp(-out))
    return np.float32(one), np.float32(-math.log1p(math.exp(-out if one else out)))


@explore.register(Normal)
def _explore_normal(noise, last_noise, recorder, s, out):
    drawn = noise.sd * rng.normal(recorder.key[s], recorder.decided[s])
    value = -drawn if noise.mirrored and s % 2 else drawn
    shrink = math.sqrt(1.0 - noise.memory * noise.memory)
    if recorder.decided[s] > 0:
        value = noise.memory * last_noise[s] + shrink * value
    action = np.float32(out + value)
    if noise.innovations and recorder.decided[s] > 0:
        log_prob = density(value - noise.memory * last_noise[s], noise.sd * shrink)
    else:
        log_prob = density(value if noise.innovations else action - out, noise.sd)
    last_noise[s] = value
    return action, log_prob


@kernel
def density(noise, sd):
    """Return the logarithm of the normal density of a noise, float32."""
    off = np.float32(noise) / np.float32(sd)
    return -np.float32(0.5) * off * off - np.float32(math.log(sd)) - _HALF_LOG_TAU_32
