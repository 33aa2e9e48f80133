"""A picture of a call for people: the block of the world that is being played. It shows ground truth that agents cannot observe."""

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.batch import CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST

HEIGHT = 256
MS_PER_PIXEL = 2
_GROUND, _OTHERS, _IN_FORCE, _LEVEL = (255, 255, 255), (200, 200, 200), (31, 78, 161), (200, 60, 40)


def picture(batch: CallBatch, row: int) -> NDArray[np.uint8]:
    """Draw the delays of all paths up to now, (HEIGHT, BLOCK_SLOTS, 3).

    A column is a 10-ms slot, a pixel of height 2 ms, zero at the bottom. Grey: every path; blue: the one in force; red: that one plus the
    receiver's level. What lies ahead stays white.
    """
    call = batch.calls[row]
    image = np.full((HEIGHT, BLOCK_SLOTS, 3), _GROUND, np.uint8)
    past = min(int(call.slot) - int(call.block) * BLOCK_SLOTS, BLOCK_SLOTS)
    delays = batch.world.delay_us[row, :, :past]
    in_force = int(call.to_sender.in_force)
    for path in range(len(delays)):
        _trace(image, delays[path], 0, _OTHERS)
    _trace(image, delays[in_force], int(call.receiver.level_us), _LEVEL)
    _trace(image, delays[in_force], 0, _IN_FORCE)
    return image


def _trace(image: NDArray[np.uint8], delay_us: NDArray[np.int64], above_us: int, colour: tuple[int, int, int]) -> None:
    columns = np.flatnonzero(delay_us != LOST)
    heights = np.minimum((delay_us[columns] + above_us) // (1000 * MS_PER_PIXEL), HEIGHT - 1)
    image[HEIGHT - 1 - heights, columns] = colour
