"""Rewards of packets on time: 1 per audio packet, 0.25 per video packet; the same counted from a perfect call; and a utility of their rate.

Source: the measure of the seed paper on SBPN. The weights are declared: the paper only gives audio priority. Packets captured before the
call's `counts_from_s` have no reward.
"""

import math
from typing import NamedTuple

from vcgym.envs.call.rewards.reward import SENDER, earned, reward
from vcgym.envs.call.sender.events import is_done, settled
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO


@reward(SENDER, video=0, audio=0)
class OnTime(NamedTuple):
    """Reward per packet on time, by media."""

    video: float = 0.25
    audio: float = 1.0


@earned.register(OnTime)
def _earned(reward, state, accounts, s):
    counts, before = accounts.senders[s].counts, state[s]
    video, audio = counts[VIDEO].on_time, counts[AUDIO].on_time
    value = reward.video * (video - before.video) + reward.audio * (audio - before.audio)
    before.video, before.audio = video, audio
    return value


@reward(SENDER, video=0, audio=0)
class Missed(NamedTuple):
    """Price of each packet that is not on time, given when that is known; 0 for a perfect call, and of order one per 100 ms.

    Its sum over a call is a tenth of that of `OnTime`, less a constant of the world.
    """

    video: float = 0.025
    audio: float = 0.1


@earned.register(Missed)
def _earned_missed(reward, state, accounts, s):
    sender, before = accounts.senders[s], state[s]
    video = settled(sender, sender.counts[VIDEO]) - sender.counts[VIDEO].on_time
    audio = settled(sender, sender.counts[AUDIO]) - sender.counts[AUDIO].on_time
    value = -reward.video * (video - before.video) - reward.audio * (audio - before.audio)
    before.video, before.audio = video, audio
    return value


@reward(SENDER, until_us=0, bytes=0, audio=0, audio_on_time=0)
class Timely(NamedTuple):
    """Utility of the bits on time: that of R3Net (`vcgym.envs.call.rewards.utility`), whose delay counts only where it is too long.

    Per decision, with s the seconds that its reports cover, r the Mbit/s of packets on time, m the share of audio packets that are not:

        s (0.6 ln(4 r + 1) - 10 m)
    """

    rate_weight: float = 0.6
    rate_scale_per_mbps: float = 4.0
    audio_price: float = 10.0


@earned.register(Timely)
def _earned_timely(reward, state, accounts, s):
    sender, before = accounts.senders[s], state[s]
    until_us = sender.ends_us if is_done(sender) else sender.stats.report_us
    span_us = until_us - before.until_us
    if span_us <= 0:
        return 0.0
    audio = sender.counts[AUDIO]
    bytes_, known = sender.counts[VIDEO].bytes_on_time + audio.bytes_on_time, settled(sender, audio)
    packets, in_time = known - before.audio, audio.on_time - before.audio_on_time
    value = reward.rate_weight * math.log1p(reward.rate_scale_per_mbps * 8.0 * (bytes_ - before.bytes) / span_us)
    if packets > 0:
        value -= reward.audio_price * (packets - in_time) / packets
    before.until_us, before.bytes, before.audio, before.audio_on_time = until_us, bytes_, known, audio.on_time
    return span_us * 1e-6 * value
