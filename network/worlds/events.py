"""Declared events: changes that a stress world makes to a link between two slots, on top of the link's own behaviour.

They can express route flaps (steps, `add_ms`), growing congestion (`slope_ms_per_s`), day and night (slopes), a step of 30 s, an outage
that loses packets (`loss` 1) or holds them and releases them together (`hold`), and a relay failure (`loss` 1 on each of its links).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.worlds.world import FAR_SLOT, LOST_BIT, MAX_LINK_US, checked

MAX_ADD_MS = MAX_LINK_US / 1000.0


class Event(NamedTuple):
    """Change to packets sent over one link in slots from_slot <= slot < to_slot.

    Attributes:
        link: index of the link.
        from_slot: first slot; negative slots belong to the history.
        to_slot: last slot + 1.
        add_ms: added to the delay in the first slot; may be negative. The delay is clipped to 0..60 s.
        slope_ms_per_s: rate of change of the added delay until the event ends.
        loss: probability, 0 to 1, of a loss in addition to the link's own losses; independent between slots.
        hold: True: the link holds all packets until the event ends and then releases them together.
    """

    link: int
    from_slot: int
    to_slot: int
    add_ms: float = 0.0
    slope_ms_per_s: float = 0.0
    loss: float = 0.0
    hold: bool = False


EVENT = np.dtype((np.record, [(name, "i8" if name in ("link", "from_slot", "to_slot", "hold") else "f8") for name in Event._fields]))


def allocate_events(sessions: int, capacity: int) -> NDArray[np.void]:
    """Allocate (sessions, capacity) of EVENT; an event with zero slots has no effect."""
    return np.zeros((sessions, capacity), EVENT)


def put_events(rows: NDArray[np.void], events: Sequence[Event], links: int) -> None:
    """Write a world's events, in order of application, into its row (capacity,) of `allocate_events`.

    Raises:
        ValueError: more events than the capacity, or a field out of range.
    """
    if len(events) > len(rows):
        raise ValueError(f"{len(events)} events: allowed are 0 to {len(rows)}, the capacity of the world")
    rows[...] = np.zeros((), EVENT)
    for number, event in enumerate(events):
        where = f"events[{number}]"
        checked(f"{where}.link", event.link, 0, links - 1)
        checked(f"{where}.from_slot", event.from_slot, -FAR_SLOT, FAR_SLOT)
        checked(
            f"{where}.to_slot", event.to_slot, event.from_slot + 1, event.from_slot + MAX_LINK_US // SLOT_US if event.hold else FAR_SLOT
        )
        checked(f"{where}.add_ms", event.add_ms, -MAX_ADD_MS, MAX_ADD_MS)
        checked(f"{where}.slope_ms_per_s", event.slope_ms_per_s, -MAX_ADD_MS, MAX_ADD_MS)
        checked(f"{where}.loss", event.loss, 0.0, 1.0)
        rows[number] = tuple(event)


@kernel
def apply_events(events, s, seed, first_slot, link_us):
    """Apply the events of a session, in order, to the rows of its links in one block.

    `link_us`, int32 (links, BLOCK_SLOTS), are delays, 0 to MAX_LINK_US, with lost bits, changed in place.
    """
    for e in range(events.shape[1]):
        event = events[s, e]
        losses = rng.stream_key(seed, event.link, rng.EVENT)
        for slot in range(max(event.from_slot, first_slot), min(event.to_slot, first_slot + BLOCK_SLOTS)):
            before = link_us[event.link, slot - first_slot]
            lost = before >= LOST_BIT or rng.uniform(losses, slot) < event.loss
            added_ms = event.add_ms + event.slope_ms_per_s * ((slot - event.from_slot) * (SLOT_US * 1e-6))
            # A slope over years overflows an integer, so clip the float first.
            added_us = math.floor(min(max(added_ms, -MAX_ADD_MS), MAX_ADD_MS) * 1000.0 + 0.5)
            delay_us = max(int(before & (LOST_BIT - 1)) + int(added_us), 0)
            # A held packet arrives when the event ends, or later if its own delay is longer.
            if event.hold:
                delay_us = max(delay_us, (event.to_slot - slot) * SLOT_US)
            link_us[event.link, slot - first_slot] = min(delay_us, MAX_LINK_US) + (LOST_BIT if lost else 0)
