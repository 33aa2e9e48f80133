"""Pictures of a call for people. They show ground truth that agents cannot observe."""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST

HEIGHT = 256
MS_PER_PIXEL = 2
COLUMNS_PER_S = 4
_GROUND, _OTHERS, _IN_FORCE, _LAG = (255, 255, 255), (200, 200, 200), (31, 78, 161), (200, 60, 40)


def picture_of_paths(batch: CallBatch, row: int) -> NDArray[np.uint8]:
    """Draw the delays of all paths in the current block of the world up to now, (HEIGHT, BLOCK_SLOTS, 3).

    A column is a 10-ms slot, a pixel of height 2 ms, zero at the bottom. Grey: every path; blue: the one in force; red: that one plus the
    receiver's lag. What lies ahead stays white.
    """
    call = batch.calls[row]
    image = np.full((HEIGHT, BLOCK_SLOTS, 3), _GROUND, np.uint8)
    past = min(int(call.slot) - int(call.block) * BLOCK_SLOTS, BLOCK_SLOTS)
    delays = batch.world.delay_us[row, :, :past]
    in_force = int(call.to_sender.in_force)
    for path in range(len(delays)):
        _trace(image, delays[path], 0, _OTHERS)
    _trace(image, delays[in_force], int(call.receiver.level_us), _LAG)
    _trace(image, delays[in_force], 0, _IN_FORCE)
    return image


def _trace(image: NDArray[np.uint8], delay_us: NDArray[np.int64], above_us: int, colour: tuple[int, int, int]) -> None:
    columns = np.flatnonzero(delay_us != LOST)
    heights = np.minimum((delay_us[columns] + above_us) // (1000 * MS_PER_PIXEL), HEIGHT - 1)
    image[HEIGHT - 1 - heights, columns] = colour


def picture_of_sender(batch: SendingBatch, row: int) -> NDArray[np.uint8]:
    """Draw the mean target of each second so far, (HEIGHT, columns, 3), on a log scale, the minimum at the bottom."""
    sender = batch.senders[row]
    targets = batch.tables.targets[row]
    image = np.full((HEIGHT, COLUMNS_PER_S * len(targets), 3), _GROUND, np.uint8)
    span = math.log(sender.most_bps / sender.least_bps) or 1.0
    for second in range(int(sender.now_us) // 1_000_000):
        share = math.log(max(float(targets[second]), float(sender.least_bps)) / sender.least_bps) / span
        top = HEIGHT - 1 - int(share * (HEIGHT - 1))
        image[top:, COLUMNS_PER_S * second : COLUMNS_PER_S * (second + 1)] = _IN_FORCE
    return image
