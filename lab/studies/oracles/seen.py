"""A world as an oracle sees it: the delay of every packet on every path, and the probability that it is lost.

An oracle that knew independent random losses in advance could avoid each of them, which is worth 0.2 to 1.8 points of R that no policy can
reach. Therefore such losses are hidden and only their probability is visible. Persistent states are visible:

    independent losses (loss run 1, bad hours, events that lose a share)   hidden; their probability per slot
    Gilbert-Elliott losses with runs (loss_run > 1)                        visible state: probability 0 or 1 (its bad state loses all)
    outages (events that lose everything)                                  visible: probability 1
    replay: at least OUTAGE_SLOTS missing replies in a row                 visible, an outage
    replay: shorter gaps                                                   hidden; the share of missing replies within half a second

A lost packet has the delay that it would have had; in a replay world, the last measured delay, drained first-in-first-out.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.bad_hours import LOSS_OFF, LOSS_ON, next_phase, start_bad_hours
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.model import LinkWorld, allocate_rows
from vcgym.network.worlds.replay import Replay
from vcgym.network.worlds.world import HISTORY_BLOCKS, MIN_DELAY_US, WorldDraw, blocks

OUTAGE_SLOTS = 10
AROUND_SLOTS = 50


class Seen(NamedTuple):
    """Knowledge of an oracle about one world, slots 0 to packets - 1.

    Attributes:
        delay_us: int32 (paths, packets), at least 1; LOST if the packet certainly never arrives.
        chance: float64 (paths, packets), probability 0..1 that the packet is lost; 1 if and only if the delay is LOST.
        history: (paths, 3) n, mean ms, sd ms before the call.
    """

    delay_us: NDArray[np.int32]
    chance: NDArray[np.float64]
    history: NDArray[np.float64]


def see(scenario: Scenario, draw: WorldDraw) -> Seen:
    """Return a sampled world with hidden losses."""
    world = scenario.world(1)
    lossless = draw._replace(parameters=draw.parameters | {"lossless": True})
    history = world.start(0, draw)
    if isinstance(world, LinkWorld) and isinstance(world.model, Replay):
        delay_us = np.concatenate(list(blocks(world, scenario.packets)), axis=1)[:, : scenario.packets]
        seen_us, chance = _hide_gaps(delay_us)
        return Seen(seen_us, chance, history)
    world.start(0, lossless)
    delay_us = np.concatenate(list(blocks(world, scenario.packets)), axis=1)[:, : scenario.packets]
    chance = path_chances(draw, scenario.layout.path_links, scenario.packets)
    delay_us[chance >= 1.0] = LOST
    return Seen(delay_us, chance, history)


def along(seen: Seen, path: NDArray[np.int16]) -> Seen:
    """Return a world with a single path: each packet on the path (packets,) that it took."""
    packets = np.arange(len(path))
    return Seen(seen.delay_us[path, packets][None], seen.chance[path, packets][None], seen.history[:1])


def path_chances(draw: WorldDraw, path_links: NDArray[np.int64], packets: int) -> NDArray[np.float64]:
    """Return the loss probability (paths, packets) of a packet sent in each slot of a sampled paper or correlated world."""
    given, links = draw.parameters, int(path_links.max()) + 1
    hours = allocate_rows(Correlated(), 1, links, paths=0)
    for name in ("bad_from", "bad_to", "loss", "loss_run"):
        getattr(hours, name)[0] = given.get(name, 1.0 if name == "loss_run" else 0)
    passes = np.empty((links, packets))
    _links_pass(hours, np.uint64(draw.seed), -HISTORY_BLOCKS * BLOCK_SLOTS, passes)
    for event in given.get("events", ()):
        passes[event.link, max(event.from_slot, 0) : max(event.to_slot, 0)] *= 1.0 - event.loss
    padded = np.vstack([passes, np.ones((1, packets))])  # NO_LINK, -1, is the last row
    return 1.0 - np.prod(padded[path_links], axis=1)


@allocating_kernel
def _links_pass(hours: Any, seed: np.uint64, first_slot: int, passes: NDArray[np.float64]) -> None:
    """Write the probability (links, packets) that a link passes the packet of a slot; bad hours begin at `first_slot`, before the call."""
    start_bad_hours(hours, 0, seed, first_slot)
    for link in range(passes.shape[0]):
        for slot in range(first_slot, passes.shape[1]):
            chance = _link_loses(hours, link, seed, slot)
            if slot >= 0:
                passes[link, slot] = 1.0 - chance


@kernel
def _link_loses(hours, link, seed, slot):
    """Return the probability that a link loses the packet of `slot`; slots must be visited in order."""
    losses = rng.stream_key(seed, link, rng.LOSS)
    if hours.bad_from[0, link] <= slot < hours.bad_to[0, link]:
        if slot >= hours.until[0, link]:
            next_phase(hours, 0, link, rng.stream_key(seed, link, rng.BURST), slot)
        chance = LOSS_ON if hours.on[0, link] == 1 else LOSS_OFF
        hours.lost[0, link] = 1 if rng.uniform(losses, slot) < chance else 0
        return chance
    share, run = hours.loss[0, link], hours.loss_run[0, link]
    if run <= 1.0 or share == 0.0:
        return share
    drawn = rng.uniform(losses, slot)
    if drawn < 1.0 / run:
        hours.lost[0, link] = 1 if drawn < share / run else 0
    return 1.0 if hours.lost[0, link] == 1 else 0.0


@allocating_kernel
def _hide_gaps(measured_us):
    """Return delays and loss probabilities of measured slots (paths, packets), which are LOST where a reply is missing."""
    paths, packets = measured_us.shape
    delay_us, chance = measured_us.copy(), np.zeros((paths, packets))
    for p in range(paths):
        last = np.int32(MIN_DELAY_US)
        run = 0
        for i in range(packets):
            last = max(np.int32(last - SLOT_US), np.int32(MIN_DELAY_US))
            if measured_us[p, i] == LOST:
                delay_us[p, i] = last
                run += 1
                if run >= OUTAGE_SLOTS:
                    delay_us[p, i - run + 1 : i + 1] = LOST
            else:
                last = measured_us[p, i]
                run = 0
        for i in range(packets):
            around = range(max(0, i - AROUND_SLOTS), min(packets, i + AROUND_SLOTS + 1))
            missing, counted = 0, 0
            for j in around:
                if delay_us[p, j] != LOST:
                    counted += 1
                    missing += 1 if measured_us[p, j] == LOST else 0
            chance[p, i] = 1.0 if delay_us[p, i] == LOST else missing / counted
    return delay_us, chance
