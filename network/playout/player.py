"""The clocked player: plays a stream in ticks of 10 ms. Our own model of a time-stretching jitter buffer.

Media is cut into units of 10 ms, counted from the smallest sent time. At each tick the player plays the next unit m, or conceals it if
its packets have not arrived. The offset P = t - m (tick time minus media time of the unit) is steered toward a target P*:

    P* = min over the last 2000 ms of media of (arrived - sent), plus the receiver's level, a lag or a target delay

P grows at once when nothing is left to play (underrun: conceal, m stays). Otherwise it moves by 10 ms at most once per 100 ms. If P
exceeds P* by more than 1000 ms, it jumps to P*.

The caller reports arrivals in order of time: each unit with `unit_there`, then the new target with `set_target`. It calls `tick` when
everything up to and including `tick_us` has been reported. The caller keeps the window of delays.
Left out: pitch, energy, comfort noise, and the duration of a stretch operation.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records

UNIT_US = 10_000  # media per unit, and time from tick to tick
OPERATION_US = 100_000  # from one stretch operation to the next
JUMP_US = 1_000_000  # an offset this far above its target jumps to it at once
NEVER_US = 2**63 - 1
_BEFORE_ALL_US = -(2**62)

# Kinds of ticks.
PLAYED = 0
FAST = 1  # two units played in one tick
STRETCHED = 2  # slowed down: the unit is played one tick later
CONCEALED = 3
SILENT = 4  # nothing was sent for this time
ENDED = 5  # no tick: the last unit of the stream has been played

NO_MEDIA = -1


@record
class Clock:
    """Clock of a player."""

    tick_us: int = NEVER_US  # the next tick, a multiple of 10 ms; NEVER_US before the start and after the end
    origin_us: int = 0  # sent time of unit 0
    units: int = 0  # length of the stream
    next_unit: int = -1  # m, -1 before the first tick
    newest_unit: int = -1  # largest unit received, -1 before the first
    underrun_ticks: int = 0  # concealed ticks of the running underrun
    first_us: int = NEVER_US  # arrival of the first unit; NEVER_US before
    operation_us: int = _BEFORE_ALL_US  # tick of the last stretch operation
    target_us: int = 0  # P*


_NEW_CLOCK = records(Clock, 1)


class Player(NamedTuple):
    """State of S players; the first axis is the session."""

    clock: np.recarray  # (S,) of Clock
    # (S, a power of two), by unit modulo the length: packets of the unit still missing; 0: complete; NO_MEDIA: none was sent
    awaited: npt.NDArray[np.int32]


def allocate_player(sessions: int, units: int) -> Player:
    """Allocate players that are not started; call `start_player` for each session.

    Args:
        sessions: S.
        units: ring capacity in units, from the one being played to the last one sent; the caller guarantees that it suffices.
    """
    places = 1 << max(units, 1).bit_length()
    return Player(clock=records(Clock, sessions), awaited=np.zeros((sessions, places), np.int32))


def start_player(player: Player, s: int, origin_us: int, units: int) -> None:
    """Start a player on a stream of `units` units, at least 1, of which none has been sent yet; unit 0 is sent at `origin_us`."""
    player.clock[s] = _NEW_CLOCK[0]
    player.clock[s].origin_us, player.clock[s].units = origin_us, units


@kernel
def expect_unit(player, s, unit):
    """Count the first packet of `unit` as sent. Return False if the player is so far behind that the ring is full.

    In an underrun of that length, m advances by one unit, charged to concealment that was already played.
    """
    awaited, clock = player.awaited, player.clock[s]
    if clock.next_unit >= 0 and unit - clock.next_unit >= awaited.shape[1]:
        if clock.underrun_ticks < 2 or clock.newest_unit >= clock.next_unit:
            return False
        clock.next_unit += 1
        clock.underrun_ticks -= 1
    awaited[s, unit & (awaited.shape[1] - 1)] = 1
    return True


@kernel
def unit_there(player, s, unit, now_us):
    """Count all packets of a unit, which was sent and is still in the ring, as arrived; `now_us` must not decrease from call to call."""
    clock = player.clock[s]
    player.awaited[s, unit & (player.awaited.shape[1] - 1)] = 0
    clock.newest_unit = max(clock.newest_unit, unit)
    clock.first_us = min(clock.first_us, now_us)


@kernel
def set_target(player, s, now_us, level_us, smallest_us):
    """Set the target P*, after all effects of an arrival at `now_us` have been reported.

    The clock starts at the first tick at or after the arrival of the first unit plus the level in force once all packets of that instant
    have been reported. A later change of the level does not move the start.

    `level_us` is the lag or target of the receiver after this packet, at least 0; `smallest_us` the smallest delay of the window.
    """
    clock = player.clock[s]
    clock.target_us = smallest_us + level_us
    if now_us == clock.first_us:
        clock.tick_us = -(-(now_us + level_us) // UNIT_US) * UNIT_US


@kernel
def tick(player, s):
    """Play the tick at `tick_us`, which must not be NEVER_US, and set `tick_us` to the next tick.

    Returns:
        kind: PLAYED, FAST, STRETCHED, CONCEALED, SILENT or ENDED.
        unit: the unit m of this tick. PLAYED plays it, FAST plays it and the next one, the other kinds play nothing. -1 at ENDED.
        offset_us: P at this tick, tick time minus media time of `unit`. 0 at ENDED.
    """
    clock, awaited = player.clock[s], player.awaited
    now_us, unit = clock.tick_us, clock.next_unit
    # Shortcut for the common case; the rules below give the same result.
    if clock.underrun_ticks == 0 and 0 <= unit <= clock.newest_unit and awaited[s, unit & (awaited.shape[1] - 1)] == 0:
        offset_us = _offset_us(clock, now_us)
        if clock.target_us <= offset_us < clock.target_us + UNIT_US:
            clock.tick_us = now_us + UNIT_US
            clock.next_unit = unit + 1
            return PLAYED, unit, offset_us
    return _tick_by_rule(clock, awaited, s, now_us)


@kernel
def _tick_by_rule(clock, awaited, s, now_us):
    if clock.next_unit < 0:
        # First tick: media before the first unit that is there is not concealed. Older places of the ring hold other units.
        clock.next_unit = _earliest_there(clock, awaited, s, max(clock.newest_unit - awaited.shape[1] + 1, 0))
    if clock.next_unit + clock.underrun_ticks >= clock.units:
        clock.tick_us = NEVER_US
        return ENDED, -1, 0
    clock.tick_us = now_us + UNIT_US
    _skip_silence(clock, awaited, s, now_us)
    if awaited[s, clock.next_unit & (awaited.shape[1] - 1)] == NO_MEDIA:
        # In silence the offset grows without a stretch operation: m waits until the target is reached.
        kind, step = SILENT, 0 if _offset_us(clock, now_us) < clock.target_us else 1
    else:
        kind, step = _sound(clock, awaited, s, now_us)
    unit = clock.next_unit
    offset_us = _offset_us(clock, now_us)
    clock.next_unit = unit + step
    return kind, unit, offset_us


@kernel
def _sound(clock, awaited, s, now_us):
    """Play a tick that is not silent: move m to its unit; return the kind and the number of units by which m advances afterwards."""
    present = _earliest_there(clock, awaited, s, clock.next_unit)
    if present < 0:
        # Nothing is left to play: m stays, so the offset grows by a tick.
        clock.underrun_ticks += 1
        return CONCEALED, 0
    resumed = clock.underrun_ticks > 0
    clock.next_unit += min(clock.underrun_ticks, present - clock.next_unit)  # concealment already played covers missing units
    clock.underrun_ticks = 0
    if clock.next_unit < present:
        # More units are missing than have been concealed: conceal on at the speed of the media.
        return CONCEALED, 1
    if _offset_us(clock, now_us) > clock.target_us + JUMP_US:
        # The unit at the target offset may be missing: take the last complete one up to it. There is one, since the unit due now is
        # complete.
        clock.next_unit = _latest_there(clock, awaited, s, (now_us - clock.target_us - clock.origin_us) // UNIT_US)
    # The end of an underrun has just moved the offset, so the first unit after it is played as it is.
    if resumed or now_us - clock.operation_us < OPERATION_US:
        return PLAYED, 1
    offset_us, next_unit = _offset_us(clock, now_us), clock.next_unit + 1
    if offset_us < clock.target_us:
        clock.operation_us = now_us
        return STRETCHED, 0
    # A fast tick plays two units, so the second must be there too.
    if offset_us >= clock.target_us + UNIT_US and next_unit <= clock.newest_unit and awaited[s, next_unit & (awaited.shape[1] - 1)] == 0:
        clock.operation_us = now_us
        return FAST, 2
    return PLAYED, 1


@kernel
def _skip_silence(clock, awaited, s, now_us):
    """End the underrun once playback has reached silence, and skip silent units while the offset exceeds its target by a unit or more."""
    reached = clock.next_unit + clock.underrun_ticks
    if awaited[s, reached & (awaited.shape[1] - 1)] != NO_MEDIA:
        return
    clock.next_unit = reached
    clock.underrun_ticks = 0
    # The last unit of a stream is never silent, so this search ends.
    while awaited[s, clock.next_unit & (awaited.shape[1] - 1)] == NO_MEDIA and _offset_us(clock, now_us) >= clock.target_us + UNIT_US:
        clock.next_unit += 1


@kernel
def _earliest_there(clock, awaited, s, unit):
    """Return the first complete unit from `unit` on, -1 if there is none."""
    while unit <= clock.newest_unit:
        if awaited[s, unit & (awaited.shape[1] - 1)] == 0:
            return unit
        unit += 1
    return -1


@kernel
def _latest_there(clock, awaited, s, unit):
    """Return the last complete unit up to `unit`; at least one must exist."""
    unit = min(unit, clock.newest_unit)
    while awaited[s, unit & (awaited.shape[1] - 1)] != 0:
        unit -= 1
    return unit


@kernel
def _offset_us(clock, now_us):
    return now_us - clock.origin_us - clock.next_unit * UNIT_US
