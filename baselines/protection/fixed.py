"""Fixed protection, whatever the network does: frames at fixed distances, blocks of repair packets, copies on further paths.

Frames of earlier packets are RED (RFC 2198): `earlier=(1,)` is what libwebrtc has sent since August 2021, a field trial and one frame more
before. `repair` packets after each `covers` are a block code such as FlexFEC (RFC 8627); they go out one by one with the packets that
follow the block. Copies are those of RFC 7198, on the paths with the smallest expected delays next to the packet's own; they alone need
records.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.protection.protect import DISTANCES, NONE, protect, protection
from vcgym.baselines.protection.seen_paths import SEEN_PATH, clear_seen_paths, fastest_other, see_path
from vcgym.baselines.rule import PACKET_MS_RANGE, Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within
from vcgym.network.kernels.slots import packet_at


@rule(Control.PROTECTION, learns=False)
class FixedProtection(NamedTuple):
    """Parameters: `earlier` is a set as in `Protection`; `repair` packets, at most `covers`; packet interval."""

    earlier: int = 0
    repair: int = 0
    covers: int = 0
    packet_ms: float = 10.0


class FixedProtectionState(NamedTuple):
    """Empty state."""


@allocate.register(FixedProtection)
def _allocate(params, sessions, paths):
    sets = {"earlier": (0, (1 << (DISTANCES + 1)) - 1), "covers": (params.repair, DISTANCES)}
    require_within(params, repair=(0, DISTANCES), packet_ms=PACKET_MS_RANGE, **sets)
    return FixedProtectionState()


@init.register(FixedProtection)
def _init(params, state, s, start, key):
    pass


@protect.register(FixedProtection)
def _protect(params, state, s, now_us, path):
    covers, behind, packet = 0, 0, packet_at(now_us, params.packet_ms)
    if params.repair > 0:
        behind = packet % params.covers + 1
        covers = params.covers if behind <= params.repair and packet >= params.covers else 0
    return protection(params.earlier, covers=covers, behind=behind)


@rule(Control.PROTECTION)
class FixedCopies(NamedTuple):
    """Parameters: copies of each packet, and packets from it to them."""

    copies: int = 1
    after: int = 0


class FixedCopiesState(NamedTuple):
    """State; first axis: session."""

    paths: NDArray[np.void]  # (sessions, paths) of SEEN_PATH


@allocate.register(FixedCopies)
def _allocate_copies(params, sessions, paths):
    require_within(params, copies=(1, 2), after=(0, DISTANCES))
    return FixedCopiesState(np.zeros((sessions, paths), SEEN_PATH).view(np.recarray))


@init.register(FixedCopies)
def _init_copies(params, state, s, start, key):
    clear_seen_paths(state.paths[s], start)


@update.register(FixedCopies)
def _update_copies(params, state, s, record):
    see_path(state.paths[s], record)


@protect.register(FixedCopies)
def _protect_copies(params, state, s, now_us, path):
    first = fastest_other(state.paths[s], now_us, path, NONE)
    second = fastest_other(state.paths[s], now_us, path, first) if params.copies > 1 else NONE
    return protection(again=1 << params.after, path=first, second=second)
