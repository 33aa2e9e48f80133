"""Protection where there is reason for it: a copy while the path in use is slow or silent, earlier frames while packets are missing.

    copy            on the fastest other path, if the newest delay of the path in use is `rise_ms` above its mean of the last `mean_ms`,
                    or if nothing has come back for `silent_ms` longer than the last record took
    earlier frames  the sets `few` and `many`: `few` if more than `missing` of the last packets are missing, `many` if more than
                    `overtaken` of them arrived after a newer one, or if more than `much_missing` are missing

Shares are averages over 500 packets (`seen.py`). Our own rule; a trigger of many numbers gains nothing over these thresholds.
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.protection.protect import NONE, SETS, protection
from vcgym.baselines.protection.seen import SeenLoss, SeenPath, fastest_other, see_loss, see_path, start_seen_paths
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, Rows, record, rule

_GAIN = 1.0 / 500.0


@record
class Row:
    loss: SeenLoss = SeenLoss()
    known_us: int = -1  # arrival of the newest record of a packet here
    took_us: int = 0  # time from its departure to that


@record
class Mean:
    """Mean delay of a path."""

    mean_ms: float = 0.0
    sent_us: int = -1  # of its newest record


@rule(Control.PROTECTION, row=Row, paths=Rows(SeenPath), means=Rows(Mean))
class TriggeredProtection(NamedTuple):
    """Parameters; a threshold of 1e9 ms, or a share of 1, never triggers."""

    rise_ms: Annotated[float, (0.0, 1e9)] = 13.0
    mean_ms: Annotated[float, (1.0, 1e9)] = 3000.0
    silent_ms: Annotated[float, (0.0, 1e9)] = 60.0
    missing: Annotated[float, (0.0, 1.0)] = 0.005
    much_missing: Annotated[float, (0.0, 1.0)] = 1.0
    overtaken: Annotated[float, (0.0, 1.0)] = 0.02
    few: Annotated[int, SETS] = 0b10
    many: Annotated[int, SETS] = 0b1110

    def init(self, row, paths, means, start, key):
        start_seen_paths(paths, start)
        for path in range(means.size):
            means[path].mean_ms = paths[path].usual_ms

    def update(self, row, paths, means, record):
        mean = means[record.path]
        see_path(paths, record)
        since_us = record.sent_us - mean.sent_us
        if since_us > 0:
            delay_ms = (record.arrived_us - record.sent_us) / 1000.0
            weight = 1.0 - np.exp(-since_us / (1000.0 * self.mean_ms)) if mean.sent_us >= 0 else 1.0
            mean.mean_ms += weight * (delay_ms - mean.mean_ms)
            mean.sent_us = record.sent_us
        if record.kind != MEDIA:
            return
        row.known_us = record.known_us
        row.took_us = record.known_us - record.sent_us
        see_loss(row.loss, record.packet, _GAIN)

    def protect(self, row, paths, means, now_us, path):
        seen, loss = paths[path], row.loss
        has_risen = seen.sent_us >= 0 and seen.newest_ms - means[path].mean_ms > self.rise_ms
        is_silent = row.known_us >= 0 and now_us - row.known_us > 1000.0 * self.silent_ms
        other = fastest_other(paths, now_us, path, NONE) if has_risen or is_silent else NONE
        earlier = 0
        if loss.overtaken > self.overtaken or loss.missing > self.much_missing:
            earlier = self.many
        elif loss.missing > self.missing:
            earlier = self.few
        return protection(earlier, again=1, path=other)
