"""What a sender has earned since its last decision. A packet is paid for when a report has told of it, the rest in the last step.

    utility   per report, s being the seconds it covers, r the rate delivered in Mbit/s, d the mean delay from capture to arrival less
              propagation in seconds, l the share of packets lost, rejected or discarded:
              s (0.6 ln(4 r + 1) - d - 10 l), less 0.1 |ln(target / target before)| per decision
    emodel    per 10 ms of audio: (93.2 - Id(P) - 378.5 concealed) / 100, the playout offset P fixed at the expiry time; a packet that is
              not there by then is concealed
    on_time   1 per audio packet on time, 0.25 per video packet on time

Sources: `utility` is the reward of R3Net (Fang et al. 2019, arXiv 1912.02222) per second instead of per 50 ms, its delay with the sender's
own queue in it, and a price on change as OnRL has one (Zhang et al. 2020, MobiCom; weight declared). `emodel`:
vcgym.network.playout.quality.
`on_time`: the measure of the seed paper on SBPN; the weights are declared, since the paper says no more than that audio goes first.

What is captured before the call's `counts_from_s` earns nothing.
"""

import math

import numpy as np

from vcgym.envs.call.sender.loop import DONE
from vcgym.network.bottleneck.send_queue import AUDIO, KINDS
from vcgym.network.kernels.jit import kernel
from vcgym.network.playout.quality import (
    CONCEALED_PRICE,
    R_DEFAULT,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
)

RATE_WEIGHT, RATE_SCALE_PER_MBPS = 0.6, 4.0
DELAY_PRICE_PER_S = 1.0
LOST_PRICE = 10.0
CHANGE_PRICE = 0.1
ON_TIME_WORTH = (0.25, 1.0)  # by kind: video, audio

PARTS = ("rate", "delay", "loss", "change")  # of `utility`

PAID = np.dtype(
    (
        np.record,
        [
            ("until_us", "i8"),  # the newest report paid for
            ("target_bps", "f8"),
            ("bytes", "i8"),
            ("delay_us", "i8"),
            ("delivered", "i8"),
            ("missing", "i8"),
            ("settled", "i8"),
            ("on_time", "i8", (KINDS,)),
            ("parts", "f8", (len(PARTS),)),  # of `utility`, since the call began
        ],
    )
)


@kernel
def start_paying(senders, paid, s):
    """A new call has begun."""
    of = paid[s]
    of.until_us = of.bytes = of.delay_us = of.delivered = of.missing = of.settled = 0
    of.target_bps = senders[s].target_bps
    of.on_time[:] = 0
    of.parts[:] = 0.0


@kernel
def earn_utility(senders, which, paid, out):
    """Write what each session of `which` has earned into `out` (sessions,), and what that is for into `paid` (sessions,) of PAID."""
    for s in which:
        sender, of = senders[s], paid[s]
        bytes_, delay_us, delivered, missing = of.bytes, of.delay_us, of.delivered, of.missing
        _take_in(sender, of)
        until_us = sender.ends_us if sender.why == DONE else sender.senses.report_us
        span_us = until_us - of.until_us
        of.until_us = until_us
        before = of.parts[0] + of.parts[1] + of.parts[2] + of.parts[3]
        if span_us > 0:
            arrived, gone = of.delivered - delivered, of.missing - missing
            of.parts[0] += span_us * 1e-6 * RATE_WEIGHT * math.log1p(RATE_SCALE_PER_MBPS * 8.0 * (of.bytes - bytes_) / span_us)
            if arrived > 0:
                mean_us = (of.delay_us - delay_us) / arrived - sender.forward_us
                of.parts[1] -= span_us * 1e-6 * DELAY_PRICE_PER_S * mean_us * 1e-6
            if arrived + gone > 0:
                of.parts[2] -= span_us * 1e-6 * LOST_PRICE * gone / (arrived + gone)
        of.parts[3] -= CHANGE_PRICE * abs(math.log(sender.target_bps / of.target_bps))
        of.target_bps = sender.target_bps
        out[s] = of.parts[0] + of.parts[1] + of.parts[2] + of.parts[3] - before


@kernel
def _take_in(sender, of):
    """What has become of all packets so far; at the end, also of those that wait."""
    of.bytes = of.delay_us = of.delivered = of.missing = 0
    for kind in range(KINDS):
        counts = sender.counts[kind]
        of.bytes += counts.bytes_delivered
        of.delay_us += counts.delay_us
        of.delivered += counts.delivered
        of.missing += _settled(sender, counts) - counts.delivered


@kernel
def _settled(sender, counts):
    return counts.created if sender.why == DONE else counts.rejected + counts.discarded + counts.delivered + counts.lost


@kernel
def earn_emodel(senders, which, paid, out):
    """As `earn_utility`, by the E-model of the audio."""
    for s in which:
        sender, of = senders[s], paid[s]
        counts = sender.counts[AUDIO]
        settled, on_time = _settled(sender, counts), counts.on_time
        packets, heard = settled - of.settled, on_time - of.on_time[AUDIO]
        of.settled, of.on_time[AUDIO] = settled, on_time
        out[s] = audio_return(sender.audio_every_us, sender.expiry_us, packets, packets - heard)


@kernel
def audio_return(every_us, expiry_us, packets, concealed):
    """Reward `emodel` of so many audio packets, so many of them concealed."""
    offset_ms = expiry_us / 1000.0
    delay = REDUCED_SLOPE_PER_MS * offset_ms + REDUCED_KNEE_SLOPE_PER_MS * max(0.0, offset_ms - REDUCED_KNEE_MS)
    return every_us / 10_000.0 * ((R_DEFAULT - delay) * packets - CONCEALED_PRICE * concealed) / 100.0


@kernel
def earn_on_time(senders, which, paid, out):
    """As `earn_utility`, by what is on time."""
    for s in which:
        of, earned = paid[s], 0.0
        for kind in range(KINDS):
            on_time = senders[s].counts[kind].on_time
            earned += ON_TIME_WORTH[kind] * (on_time - of.on_time[kind])
            of.on_time[kind] = on_time
        out[s] = earned
