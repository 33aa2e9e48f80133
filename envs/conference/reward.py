"""Reward of a conference: the change of aggregate utility with a price on delay beyond the bound and on loss."""

from typing import NamedTuple

from vcgym.envs.call.rewards.reward import earned, reward

CONFERENCE = "conference"  # in place of the stages of a call: a reward reads `vcgym.envs.conference.decisions.EARNED`, (sessions,)


@reward(CONFERENCE)
class AggregateUtility(NamedTuple):
    """Change of the sum of ln(rate + 10 kbps) since the last decision, minus each session's shares of late and of lost packets.

    Attributes:
        delay_price: price of a session's share of packets later than 200 ms.
        loss_price: price of its share of lost packets.
    """

    delay_price: float = 1.0
    loss_price: float = 1.0


@earned.register(AggregateUtility)
def _earned(reward, state, accounts, s):
    counted = accounts[s]
    return counted.gain - reward.delay_price * counted.late - reward.loss_price * counted.lost
