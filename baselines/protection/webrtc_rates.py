"""Numbers of repair packets in libwebrtc's FEC, by loss and bits of a frame (fec_rate_table.h, media_opt_util.cc, ulpfec_generator.cc).

The table gives the share x of repair packets in all packets, in 255ths. Relative to the packets of the frames that is 255 x / (255 - x),
the factor, in 256ths of which the repair packets are rounded; a factor above 0 gives one at least. A loss above half counts as half.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.network.traces.cards import Carded, load_carded

LOSSES = 129  # losses in 255ths, 0 to 128
ROWS = 50  # of 5 kbit per frame each
WORST = 10  # seconds whose largest loss counts


class RateTable(Carded):
    """The table; for each row the losses at which the share changes, with the share from there on."""

    rows: tuple[tuple[tuple[int, int], ...], ...]


@functools.cache
def webrtc_shares() -> NDArray[np.int64]:
    """Return the shares of repair packets in 255ths, (ROWS, LOSSES)."""
    shares = np.zeros((ROWS, LOSSES), np.int64)
    for row, changes in zip(shares, load_carded(RateTable, "webrtc_fec_rates.json").rows, strict=True):
        for loss_255, share_255 in changes:
            row[loss_255:] = share_255
    return shares


@kernel
def worst_255(losses):
    """Return the largest of the losses of the last seconds, (WORST,) float64 0 to 1, in 255ths up to half; int64.

    Receiver reports have it in 256ths, cut off (RFC 3550, 6.4.1), and the source takes these for 255ths.
    """
    worst = 0.0
    for loss in losses:
        worst = max(worst, loss)
    return min(np.int64(256.0 * worst), LOSSES - 1)


@kernel
def factor_of(share_255):
    """Return the repair packets for 256 packets at a share of all in 255ths, 0 to 128; int64, at most 255."""
    return min(np.int64(0.5 + 255.0 * share_255 / (255.0 - share_255)), 255)


@kernel
def repair_packets(packets, factor):
    """Return the repair packets for so many packets, int64."""
    return max((packets * factor + 128) >> 8, 1 if factor > 0 else 0)
