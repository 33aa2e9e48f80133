"""Path sequences of oracles, and calls that follow them.

Best in hindsight, routing only: the minimum sum of one-way delay and priced expected loss with at most k path changes.

A packet costs its delay plus one second (`vcgym.network.playout.quality.LOSS_PRICE`) times its loss probability; a packet that certainly
never arrives costs one second. Without changes the result is the best fixed path. The clairvoyant knows every loss: for each packet it
takes the path with the earliest arrival. It minimises delay, not R; it is shown but never an anchor.

`informed` is a router that sees every past packet on every path without delay and without probes, but not the future.

In slot i it knows, for each path and each earlier slot, the delay or the loss of a packet sent in that slot. For each path it maintains
exponentially weighted means of the delay and its absolute deviation (`DELAY_SLOTS`), and of losses (`LOSS_SLOTS`). The cost of a path is

    delay + DEVIATIONS * deviation + LOSS_MS * loss share

It changes to the cheapest path if that is cheaper than the current one by more than `MARGIN_MS`. LOSS_MS is the E-model's price of
concealment below the knee, 378.5 / 0.024. The means start at the history of each path. The other constants and the receiver (WMJitter) were
chosen on training worlds of `wonderproxy` in mode correlated. It is not a bound: a better causal rule may beat it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.studies.oracles.seen import Seen
from vcgym.baselines.path.history import imputed_means
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import path_history
from vcgym.baselines.rule import Control, rule
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.network.kernels.jit import allocating_kernel
from vcgym.network.kernels.slots import LOST, slot_at
from vcgym.network.playout.quality import CONCEALED_PRICE, LOSS_PRICE, REDUCED_SLOPE_PER_MS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

LOSS_US = LOSS_PRICE * 100_000.0
DELAY_SLOTS = 20
LOSS_SLOTS = 1000
DEVIATIONS = 2.0
MARGIN_MS = 10.0
INFORMED_RECEIVER = WMJitter()
LOSS_MS = CONCEALED_PRICE / REDUCED_SLOPE_PER_MS


def costs(seen: Seen) -> NDArray[np.float64]:
    """Return the cost (paths, packets) of each packet in us."""
    arrives = 1.0 - seen.chance
    return np.where(seen.delay_us == LOST, 0.0, seen.delay_us) * arrives + LOSS_US * seen.chance


def best_sequence(cost: NDArray[np.float64], changes: int | None) -> NDArray[np.int16]:
    """Return the path of each packet (packets,) with minimum total `cost` (paths, packets) and at most `changes` changes (None: any)."""
    if changes is None:
        return np.argmin(cost, axis=0).astype(np.int16)
    if changes < 0:
        raise ValueError(f"changes = {changes}: allowed is 0 or more, or None")
    return _best_sequence(cost, changes)


def clairvoyant(delay_us: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return the path (packets,) with the earliest arrival of each packet; if it arrives on none, the previous packet's path."""
    path = np.argmin(np.where(delay_us == LOST, np.iinfo(np.int32).max, delay_us), axis=0)
    arrives = (delay_us != LOST).any(axis=0)
    last = np.maximum.accumulate(np.where(arrives, np.arange(len(path)), 0))
    return path[last].astype(np.int16)


@allocating_kernel
def _best_sequence(cost, changes):
    paths, packets = cost.shape
    best = np.empty((changes + 1, paths))  # minimum cost up to this packet with at most k changes, ending on path p
    changed = np.zeros((packets, changes + 1, paths), np.bool_)
    source = np.zeros((packets, changes + 1), np.int16)  # previous path of a change at this packet
    best[:, :] = cost[:, 0]
    for i in range(1, packets):
        for k in range(changes, -1, -1):
            if k > 0:
                source[i, k] = np.argmin(best[k - 1])
            for p in range(paths):
                if k > 0 and best[k - 1, source[i, k]] < best[k, p]:
                    best[k, p] = best[k - 1, source[i, k]]
                    changed[i, k, p] = True
                best[k, p] += cost[p, i]
    path = np.empty(packets, np.int16)
    k, p = changes, int(np.argmin(best[changes]))
    for i in range(packets - 1, -1, -1):
        path[i] = p
        if changed[i, k, p]:
            p = int(source[i, k])
            k -= 1
    return path


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
