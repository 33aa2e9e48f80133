"""Protection where there is reason for it: a copy while the path in use is slow or silent, earlier frames while packets are missing.

    copy            on the fastest other path, if the newest delay of the path in use is `rise_ms` above its mean of the last `mean_ms`,
                    or if nothing has come back for `silent_ms` longer than the last record took
    earlier frames  the sets `few` and `many`: `few` if more than `missing` of the last packets are missing, `many` if more than
                    `overtaken` of them arrived after a newer one, or if more than `much_missing` are missing

Shares are averages over 500 packets (`seen_loss`). Our own rule; a trigger of many numbers gains nothing over these thresholds.
"""

from typing import NamedTuple

import numpy as np

from vcgym.baselines.protection.protect import DISTANCES, NONE, protect, protection
from vcgym.baselines.protection.seen_loss import SEEN_LOSS, clear_seen_loss, see_loss
from vcgym.baselines.protection.seen_paths import SEEN_PATH, clear_seen_paths, fastest_other, see_path
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, allocate, init, rule, update
from vcgym.network.kernels.ranges import require_within

_GAIN = 1.0 / 500.0
_NEVER_US = -1

TRIGGER = np.dtype(
    (
        np.record,
        [
            *SEEN_LOSS,
            ("known_us", "i8"),  # arrival of the newest record of a packet here
            ("took_us", "i8"),  # time from its departure to that
        ],
    )
)
MEAN = np.dtype((np.record, [("mean_ms", "f8"), ("sent_us", "i8")]))  # of a path; sent_us of its newest record


@rule(Control.PROTECTION)
class TriggeredProtection(NamedTuple):
    """Parameters; a threshold of 1e9 ms, or a share of 1, never triggers."""

    rise_ms: float = 13.0
    mean_ms: float = 3000.0
    silent_ms: float = 60.0
    missing: float = 0.005
    much_missing: float = 1.0
    overtaken: float = 0.02
    few: int = 0b10
    many: int = 0b1110


class TriggeredProtectionState(NamedTuple):
    """State; first axis: session."""

    rows: np.recarray  # (sessions,) of TRIGGER
    paths: np.recarray  # (sessions, paths) of SEEN_PATH
    means: np.recarray  # (sessions, paths) of MEAN


@allocate.register(TriggeredProtection)
def _allocate(params, sessions, paths):
    shares = dict.fromkeys(("missing", "much_missing", "overtaken"), (0.0, 1.0))
    sets = dict.fromkeys(("few", "many"), (0, (1 << (DISTANCES + 1)) - 1))
    require_within(params, rise_ms=(0.0, 1e9), mean_ms=(1.0, 1e9), silent_ms=(0.0, 1e9), **shares, **sets)
    rows, seen, means = np.zeros(sessions, TRIGGER), np.zeros((sessions, paths), SEEN_PATH), np.zeros((sessions, paths), MEAN)
    return TriggeredProtectionState(rows.view(np.recarray), seen.view(np.recarray), means.view(np.recarray))


@init.register(TriggeredProtection)
def _init(params, state, s, start, key):
    clear_seen_paths(state.paths[s], start)
    for path in range(state.means.shape[1]):
        state.means[s, path].mean_ms = state.paths[s, path].usual_ms
        state.means[s, path].sent_us = _NEVER_US
    row = state.rows[s]
    clear_seen_loss(row)
    row.known_us = _NEVER_US
    row.took_us = 0


@update.register(TriggeredProtection)
def _update(params, state, s, record):
    row, mean = state.rows[s], state.means[s, record.path]
    see_path(state.paths[s], record)
    since_us = record.sent_us - mean.sent_us
    if since_us > 0:
        delay_ms = (record.arrived_us - record.sent_us) / 1000.0
        weight = 1.0 - np.exp(-since_us / (1000.0 * params.mean_ms)) if mean.sent_us >= 0 else 1.0
        mean.mean_ms += weight * (delay_ms - mean.mean_ms)
        mean.sent_us = record.sent_us
    if record.kind != MEDIA:
        return
    row.known_us = record.known_us
    row.took_us = record.known_us - record.sent_us
    see_loss(row, record.packet, _GAIN)


@protect.register(TriggeredProtection)
def _protect(params, state, s, now_us, path):
    row, seen, mean = state.rows[s], state.paths[s, path], state.means[s, path]
    has_risen = seen.sent_us >= 0 and seen.newest_ms - mean.mean_ms > params.rise_ms
    is_silent = row.known_us >= 0 and now_us - row.known_us > 1000.0 * params.silent_ms
    other = fastest_other(state.paths[s], now_us, path, NONE) if has_risen or is_silent else NONE
    earlier = 0
    if row.overtaken > params.overtaken or row.missing > params.much_missing:
        earlier = params.many
    elif row.missing > params.missing:
        earlier = params.few
    return protection(earlier, again=1, path=other)
