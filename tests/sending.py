"""Calls over bottlenecks, played to their end."""

import numpy as np

from vcgym.baselines.controls.control import PACING
from vcgym.baselines.order.fifo import Fifo
from vcgym.envs.call.sender.batch import SendingBatch, Worlds


def play(link, rate, order=None, pacing=PACING, sessions=1, log_packets=50_000):
    """Play a world, in session n with the seed n above its own."""
    batch = SendingBatch(sessions, rate, order or Fifo(), Worlds.of(link), pacing=pacing, log_packets=log_packets)
    for row in range(sessions):
        batch.start(row, link._replace(seed=link.seed + row))
    batch.play(np.arange(sessions))
    return batch


def logs_of(batch, row=0):
    """Logs of all calls of a session, the first one first."""
    return [batch.log(row), *(batch.log_of_other(row, call) for call in range(batch.worlds.calls))]
