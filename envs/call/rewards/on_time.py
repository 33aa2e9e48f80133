"""Reward of packets that arrive by their expiry: 1 per audio packet, 0.25 per video packet; and the same counted from a perfect call.

Source: the measure of the seed paper on SBPN. The weights are declared: the paper only gives audio priority. Packets captured before the
call's `counts_from_s` have no reward.
"""

from typing import NamedTuple

from vcgym.envs.call.rewards.reward import SENDER, earned, reward
from vcgym.envs.call.sender.events import settled
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
