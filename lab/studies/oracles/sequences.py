"""Calls that follow a path sequence, and the sequence of a router that sees every past packet on every path, but not the future.

This router, `informed`, needs neither probes nor time for reports: in slot i it knows, for each path and each earlier slot, the delay or
the loss of a packet sent in that slot. For each path it maintains exponentially weighted means of the delay and its absolute deviation
(`DELAY_SLOTS`), and of losses (`LOSS_SLOTS`). The cost of a path is

    delay + DEVIATIONS * deviation + LOSS_MS * loss share

It changes to the cheapest path if that is cheaper than the current one by more than `MARGIN_MS`. LOSS_MS is the E-model's price of
concealment below the knee, 378.5 / 0.024. The means start at the history of each path. The other constants and the receiver (WMJitter) were
chosen on training worlds of `wonderproxy` in mode correlated. It is not a bound: a better causal rule may beat it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import path_history
from vcgym.baselines.rule import Control, rule
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.slots import LOST, slot_at
from vcgym.network.playout.quality import CONCEALED_PRICE, REDUCED_SLOPE_PER_MS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

DELAY_SLOTS = 20
LOSS_SLOTS = 1000
DEVIATIONS = 2.0
MARGIN_MS = 10.0
INFORMED_RECEIVER = WMJitter()
LOSS_MS = CONCEALED_PRICE / REDUCED_SLOPE_PER_MS


@allocating_kernel
def informed_sequence(delay_us, history):
    """Return the path of each packet (packets,) from delays (paths, packets) in us or LOST, and history (paths, 3): n, mean ms, sd ms."""
    paths, packets = delay_us.shape
    path = np.empty(packets, np.int16)
    mean_ms, deviation_ms, loss = imputed_means(path_history(history)), 0.8 * history[:, 2], np.zeros(paths)
    using = -1
    for i in range(packets):
        cost = mean_ms + DEVIATIONS * deviation_ms + LOSS_MS * loss
        cheapest = int(np.argmin(cost))
        if using < 0 or cost[cheapest] < cost[using] - MARGIN_MS:
            using = cheapest
        path[i] = using
        for p in range(paths):
            if delay_us[p, i] == LOST:
                loss[p] += (1.0 - loss[p]) / LOSS_SLOTS
            else:
                loss[p] -= loss[p] / LOSS_SLOTS
                difference = delay_us[p, i] / 1000.0 - mean_ms[p]
                mean_ms[p] += difference / DELAY_SLOTS
                deviation_ms[p] += (abs(difference) - deviation_ms[p]) / DELAY_SLOTS
    return path


@rule(Control.PATH, learns=False)
class Script(NamedTuple):
    """Parameters of a router at the sender, so that its commands have no delay: path (packets,) int16."""

    path: NDArray[np.int16]

    def decide(self, now_us):
        return self.path[slot_at(now_us)]


def play_script(scenario: Scenario, draw: WorldDraw, path: NDArray[np.int16], receiver: Any) -> Played:
    """Play one call on a sampled world with a path sequence (packets,) and a receiver rule."""
    batch = CallBatch(scenario, 1, Script(path), receiver, location="sender", probe_rate=0.0, log=True)
    batch.start(0, draw)
    batch.play(np.arange(1))
    return batch.played()
