"""Offline playback of a whole stream through the clocked player: from packet times to the heard audio.

Unlike inside a call, packets may have any media length, overlap, and leave silence between them. A unit is available when all packets that
overlap it have arrived; a packet counts as played when the first of its units is played.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.playout.player import (
    ENDED,
    FAST,
    NEVER_US,
    NO_MEDIA,
    PLAYED,
    UNIT_US,
    Player,
    allocate_player,
    set_target,
    start_player,
    tick,
    unit_there,
)

Instants = npt.NDArray[np.int64]
WINDOW_US = 2_000_000


@dataclass(frozen=True, eq=False)
class Playback:
    """Outcome of N packets in T ticks of 10 ms. T is 0 if nothing ever arrived.

    Attributes:
        played_us: (N,) tick at which the first of the packet's units was played, -1 if none was.
        end_to_end_us: (N,) that tick minus the media time of that unit, -1 if none was played.
        late: (N,) true if the packet reached the player but none of its units was played.
        tick_us: (T,) time of each tick.
        tick_kind: (T,) PLAYED, FAST, STRETCHED, CONCEALED or SILENT of `vcgym.network.playout.player`.
        tick_offset_us: (T,) playout offset P at each tick.
    """

    played_us: Instants
    end_to_end_us: Instants
    late: npt.NDArray[np.bool_]
    tick_us: Instants
    tick_kind: npt.NDArray[np.int64]
    tick_offset_us: Instants

    def ticks(self, *kinds: int) -> int:
        """Return the number of ticks of the given kinds."""
        return int(np.isin(self.tick_kind, kinds).sum())


def play_arrivals(
    sent_us: Instants,
    arrived_us: Instants,
    level_us: Instants,
    discarded: npt.NDArray[np.bool_] | None = None,
    media_us: Instants | None = None,
) -> Playback:
    """Play a stream from its arrivals; the receiver's level is the player's target (`clocked_input = arrival`).

    All are (N,) in any order of sending: `arrived_us` -1 for a lost packet; `level_us` the receiver's lag or target after an arrival;
    `discarded` by the receiver itself; `media_us` the media in each packet, None: 10 ms. Of equal times the lower index arrived first.
    """
    discarded = np.zeros(len(sent_us), np.bool_) if discarded is None else discarded
    return _play_out(sent_us, media_us, arrived_us, level_us, discarded, by_arrival=True)


def play_emissions(sent_us: Instants, emitted_us: Instants, media_us: Instants | None = None) -> Playback:
    """Play a stream from the receiver's emissions, -1 for a packet never emitted, with unknown level (`clocked_input = emission`)."""
    nothing = np.zeros(len(sent_us), np.int64)
    return _play_out(sent_us, media_us, emitted_us, nothing, nothing.astype(np.bool_), by_arrival=False)


def _play_out(
    sent_us: Instants,
    media_us: Instants | None,
    came_us: Instants,
    level_us: Instants,
    discarded: npt.NDArray[np.bool_],
    by_arrival: bool,
) -> Playback:
    media_us = np.full(len(sent_us), UNIT_US, np.int64) if media_us is None else media_us
    player = _player_for(sent_us, media_us)
    order = np.argsort(came_us, kind="stable")
    order = order[came_us[order] >= 0]
    unit_played_us, *ticks = _run(player, order, sent_us, media_us, came_us, discarded, level_us, by_arrival)
    played_us, end_to_end_us = _packets_played(player.clock[0].origin_us, unit_played_us, sent_us, media_us)
    late = (came_us >= 0) & ~discarded & (played_us < 0)
    return Playback(played_us, end_to_end_us, late, *ticks)


def _player_for(sent_us: Instants, media_us: Instants) -> Player:
    origin_us = int(sent_us.min())
    units = int((sent_us + media_us).max() - origin_us - 1) // UNIT_US + 1
    player = allocate_player(1, units)
    start_player(player, 0, origin_us, units)
    _expect(player, sent_us, media_us, units)
    return player


@kernel
def _units_of(origin_us, sent_us, media_us):
    return range((sent_us - origin_us) // UNIT_US, (sent_us + media_us - 1 - origin_us) // UNIT_US + 1)


@kernel
def _expect(player, sent_us, media_us, units):
    awaited = player.awaited
    awaited[0, :] = 0
    for k in range(len(sent_us)):
        for unit in _units_of(player.clock[0].origin_us, sent_us[k], media_us[k]):
            awaited[0, unit] += 1
    for unit in range(units):
        if awaited[0, unit] == 0:
            awaited[0, unit] = NO_MEDIA


@kernel
def _take_in(player, sent_us, media_us, now_us):
    for unit in _units_of(player.clock[0].origin_us, sent_us, media_us):
        player.awaited[0, unit] -= 1
        if player.awaited[0, unit] == 0:
            unit_there(player, 0, unit, now_us)


@allocating_kernel
def _extreme_us(sent_us, came_us, came, by_arrival):
    """Return the smallest delay, or from emissions the largest, of those packets in `came` sent within 2000 ms of the newest of them."""
    newest_us, sign = sent_us[came].max(), 1 if by_arrival else -1
    found_us = np.int64(NEVER_US)
    for k in came:
        if sent_us[k] >= newest_us - WINDOW_US:
            found_us = min(found_us, sign * (came_us[k] - sent_us[k]))
    return sign * found_us


@allocating_kernel
def _run(player, order, sent_us, media_us, came_us, discarded, level_us, by_arrival):
    unit_played_us = np.full(player.clock[0].units, -1, np.int64)
    times_us = [np.int64(0) for _ in range(0)]
    kinds = [np.int64(0) for _ in range(0)]
    offsets_us = [np.int64(0) for _ in range(0)]
    for event in range(len(order) + 1):
        until_us = came_us[order[event]] if event < len(order) else NEVER_US
        while player.clock[0].tick_us < until_us:
            now_us = player.clock[0].tick_us
            kind, unit, offset_us = tick(player, 0)
            if kind == ENDED:
                break
            if kind in (PLAYED, FAST):
                unit_played_us[unit] = now_us
            if kind == FAST:
                unit_played_us[unit + 1] = now_us
            times_us.append(now_us)
            kinds.append(np.int64(kind))
            offsets_us.append(offset_us)
        if event < len(order):
            k = order[event]
            if not discarded[k]:  # a discarded packet still counts for the smallest delay
                _take_in(player, sent_us[k], media_us[k], came_us[k])
            set_target(player, 0, came_us[k], level_us[k], _extreme_us(sent_us, came_us, order[: event + 1], by_arrival))
    return unit_played_us, np.array(times_us, np.int64), np.array(kinds, np.int64), np.array(offsets_us, np.int64)


@allocating_kernel
def _packets_played(origin_us, unit_played_us, sent_us, media_us):
    played_us = np.full(len(sent_us), -1, np.int64)
    end_to_end_us = np.full(len(sent_us), -1, np.int64)
    for k in range(len(sent_us)):
        for unit in _units_of(origin_us, sent_us[k], media_us[k]):
            if unit_played_us[unit] >= 0:
                played_us[k] = unit_played_us[unit]
                end_to_end_us[k] = unit_played_us[unit] - origin_us - unit * UNIT_US
                break
    return played_us, end_to_end_us
