"""Counter-based random draws: a value is a pure function of (seed, link, slot, purpose), independent of earlier draws.

A stream is named by `stream_key(seed, link, purpose)`; its n-th draw is output n of SplitMix64 started at that key (Steele, Lea, Flood:
Fast splittable pseudorandom number generators, OOPSLA 2014; constants from their section 5 and from Stafford's variant 13).
Normals are the inverse normal distribution function by Acklam's rational approximation (2003; relative error below 1.2e-9).
"""

import math

import numpy as np

from vcgym.network.kernels.jit import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11), np.uint64(32)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53

# Purposes: one number per kind of draw. Never reuse a number.
QUEUEING = 1
LOSS = 2
BURST = 3
FEEDBACK = 4
POLICY = 5
SCENARIO = 6
SHIFT = 7
EVENT = 8
CROSS = 9
OUTAGE = 10
PACKET_LOSS = 11
SOURCE = 12
OTHER_CALL = 13
HOLD = 14
JITTER = 15


@kernel
def mix64(bits):
    """Apply SplitMix64's output function: uint64 -> uint64, a bijection."""
    bits = np.uint64(bits)
    bits = (bits ^ (bits >> _S30)) * _MIX_A
    bits = (bits ^ (bits >> _S27)) * _MIX_B
    return bits ^ (bits >> _S31)


@kernel
def stream_key(seed, link, purpose):
    """Return the key of one stream of random numbers (uint64) for non-negative integers seed, link and purpose."""
    key = mix64(np.uint64(seed) + _GOLDEN)
    key = mix64(key ^ (np.uint64(link) + np.uint64(1)) * _GOLDEN)
    return mix64(key ^ (np.uint64(purpose) + np.uint64(1)) * _MIX_B)


@kernel
def bits64(key, counter):
    """Draw number `counter` (any int64) of stream `key`: 64 random bits, a uint64."""
    return mix64(np.uint64(key) + np.uint64(np.int64(counter)) * _GOLDEN)


@kernel
def bits32(key, counter):
    """Draw number `counter` (any int64) of stream `key`: 32 random bits, an int32."""
    return np.int32(np.uint32(bits64(key, counter) >> _S32))


@kernel
def uniform(key, counter):
    """Draw number `counter` (any int64) of stream `key`: a float64 in [0, 1)."""
    bits = bits64(key, counter)
    return np.float64(bits >> _S11) * _TO_UNIT


@kernel
def normal_quantile(p):
    """Return the quantile of the standard normal distribution for 0 < p < 1 (Acklam 2003)."""
    if p < 0.02425:
        q = math.sqrt(-2.0 * math.log(p))
        return _tail(q)
    if p > 0.97575:
        q = math.sqrt(-2.0 * math.log(1.0 - p))
        return -_tail(q)
    q = p - 0.5
    r = q * q
    top = ((((-3.969683028665376e01 * r + 2.209460984245205e02) * r - 2.759285104469687e02) * r + 1.383577518672690e02) * r
           - 3.066479806614716e01) * r + 2.506628277459239e00
    bottom = ((((-5.447609879822406e01 * r + 1.615858368580409e02) * r - 1.556989798598866e02) * r + 6.680131188771972e01) * r
              - 1.328068155288572e01) * r + 1.0
    return top * q / bottom


@kernel
def _tail(q):
    top = ((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e00) * q - 2.549732539343734e00) * q
           + 4.374664141464968e00) * q + 2.938163982698783e00
    bottom = (((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e00) * q + 3.754408661907416e00) * q + 1.0
    return top / bottom


@kernel
def normal(key, counter):
    """Draw number `counter` of stream `key`: a standard normal float64, finite for every counter."""
    return normal_quantile(min(uniform(key, counter) + 0.5 * _TO_UNIT, 1.0 - _TO_UNIT))
