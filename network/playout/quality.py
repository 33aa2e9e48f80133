"""Call quality by the E-model, as a score of whole calls and as an additive reward per 10-ms tick.

    R = max(0, 93.2 - Id(Ta) - Ie_eff(p))

Ta is the mouth-to-ear delay (here the playout offset of the clocked player), p the concealed share. Sources:
ITU-T G.107 (R, Ie_eff in 7.5, MOS in Annex B), ITU-T G.113 Appendix I (Ie = 0 and Bpl = 25.1 of G.711 with packet loss
concealment), Cole and Rosenbluth, "Voice over IP performance monitoring", 2001 (the reduced form of Id).

The reduced form is a fit for delays up to 350 ms: there it is within 1.1 of the whole Id of G.107 7.4. Beyond, it is too large, and R too
low: by 3.0 at 400 ms, 8.9 at 500, 17 at 600 and ever more, while the whole Id is 54 at 1,000 ms. `rating_whole` is R with the whole Id.

Left out: codec delay (add it to Ta); noise and echo terms that differ from their defaults; the advantage factor; classes of delay
sensitivity other than the default (G.107 7.4.3, mT 100 ms and sT 1).
Every function but the two with the whole Id accepts floats or numpy arrays, in Python and inside kernels.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vcgym.network.kernels.jit import allocating_kernel

R_DEFAULT = 93.2  # G.107: R with all parameters at their defaults, before delay and loss
REDUCED_SLOPE_PER_MS = 0.024  # Cole and Rosenbluth 2001
REDUCED_KNEE_SLOPE_PER_MS = 0.11
REDUCED_KNEE_MS = 177.3
REDUCED_RANGE_MS = 350.0  # beyond it the reduced Id is more than 1.1 above the whole one
NOISE_DBM0P = -61.179214  # G.107 7.2, No of the default circuit and room noise, loudness ratings and sidetone
LOUDNESS_DB = 8.0, 2.0  # G.107 table 2: SLR, RLR
ECHO_LOSS_DB = 65.0, 110.0  # G.107 table 2: TELR, WEPL
IE_MAX = 95.0  # G.107 7.5
IE_G711 = 0.0  # G.113 Appendix I
BPL_G711_CONCEALED = 25.1
CONCEALED_PRICE = 378.5  # slope of Ie_eff at p = 0, per unit of share: 100 * 95 / 25.1
LOSS_PRICE = 10.0  # event reward of a lost packet, in units of 100 ms: as much as one second of delay


@allocating_kernel
def delay_impairment_reduced(ta_ms):
    """Return Id of the reduced form (default echo path included), in points of R: 0.024 Ta + 0.11 max(0, Ta - 177.3).

    Ta >= 0 in ms; meant for up to 350 ms (`REDUCED_RANGE_MS`).
    """
    return REDUCED_SLOPE_PER_MS * ta_ms + REDUCED_KNEE_SLOPE_PER_MS * np.maximum(0.0, ta_ms - REDUCED_KNEE_MS)


@allocating_kernel
def loss_impairment(p_percent, ie=IE_G711, bpl=BPL_G711_CONCEALED, burst_r=1.0):
    """Return Ie_eff of G.107, in points of R: Ie + (95 - Ie) p / (p / BurstR + Bpl), for p of 0 to 100 percent concealed.

    `p_percent` is p; `ie` and `bpl` are the codec's; `burst_r` is the mean run of concealment over that under random loss of the same
    share, 1 if it is random.
    """
    return ie + (IE_MAX - ie) * p_percent / (p_percent / burst_r + bpl)


@allocating_kernel
def rating(ta_ms, concealed_share):
    """Return R of G.107 with the reduced Id and G.711 with concealment under random loss: 0..93.2, for Ta >= 0 in ms and a share 0..1.

    Too low above 350 ms, see the module.
    """
    return np.maximum(0.0, R_DEFAULT - delay_impairment_reduced(ta_ms) - loss_impairment(100.0 * concealed_share))


def delay_impairment_whole(ta_ms: ArrayLike) -> NDArray[np.float64]:
    """Return Id of G.107 7.4 in points of R: talker echo Idte, listener echo Idle and Idd of delay without echo, all at default parameters.

    Args:
        ta_ms: delay of a symmetrical connection, so that Ta = T = Tr / 2, at least 0 ms; any shape, NaN stays NaN.
    """
    t = np.asarray(ta_ms, np.float64)
    (slr, rlr), (telr, wepl) = LOUDNESS_DB, ECHO_LOSS_DB
    ro, roe = 15.0 - 1.5 * (slr + NOISE_DBM0P), -1.5 * (NOISE_DBM0P - rlr)
    terv = telr - 40.0 * np.log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * np.exp(-0.3 * t**2)
    talker = 0.5 * (roe - 80.0 - 2.5 * (terv - 14.0))
    idte = np.where(t < 1.0, 0.0, (talker + np.sqrt(talker**2 + 100.0) - 1.0) * (1.0 - np.exp(-t)))
    listener = 0.5 * (ro - 10.5 * (wepl + 7.0) * (2.0 * t + 1.0) ** -0.25)
    idle = listener + np.sqrt(listener**2 + 169.0)
    x = np.log2(np.maximum(t, 100.0) / 100.0)
    idd = 25.0 * ((1.0 + x**6) ** (1.0 / 6.0) - 3.0 * (1.0 + (x / 3.0) ** 6) ** (1.0 / 6.0) + 2.0)
    return np.asarray(idte + idle + idd)


def rating_whole(ta_ms: ArrayLike, concealed_share: ArrayLike) -> NDArray[np.float64]:
    """Return R as `rating` does, but with the whole Id less that at zero delay (0.15), which is inside 93.2."""
    id_whole = delay_impairment_whole(ta_ms) - delay_impairment_whole(0.0)
    return np.asarray(np.maximum(0.0, R_DEFAULT - id_whole - loss_impairment(100.0 * np.asarray(concealed_share, np.float64))))


@allocating_kernel
def mos(r):
    """Return the mean opinion score (1..4.5) of a rating: 1 + 0.035 R + 7e-6 R (R - 60)(100 - R), R limited to 0..100 (G.107 Annex B).

    The cubic falls below 1 for 0 < R < 6.5; the result is clipped at 1, the lowest opinion score.
    """
    r = np.minimum(np.maximum(r, 0.0), 100.0)
    return np.maximum(1.0, 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r))


@allocating_kernel
def impairment_sum(offset_us_sum, excess_us_sum):
    """Return the sum of the reduced Id over ticks, given the sum of their offsets P and the sum of max(0, P - 177.3 ms), both in us."""
    return (REDUCED_SLOPE_PER_MS * offset_us_sum + REDUCED_KNEE_SLOPE_PER_MS * excess_us_sum) / 1000.0


@allocating_kernel
def emodel_return(ticks, impairment, concealed):
    """Return the sum of reward `emodel` over ticks that are not silent: (93.2 - Id(P) - 378.5 if concealed) / 100 each.

    Unlike R it is linear in the concealed share, so the rewards of steps of any length add up to the return of the call. `impairment` is
    the sum of Id over the ticks (`impairment_sum`), `concealed` the number of them that were concealed.
    """
    return (R_DEFAULT * ticks - impairment - CONCEALED_PRICE * concealed) / 100.0


@allocating_kernel
def emission_reward(end_to_end_us):
    """Return reward `event` of an emitted packet: its negative end-to-end delay in units of 100 ms. A lost or late packet: -LOSS_PRICE."""
    return -end_to_end_us / 100_000.0
