"""A picture of a sender for people: its target over the seconds of the call."""

import math

import numpy as np
from numpy.typing import NDArray

from vcgym.envs.call.sender.batch import SendingBatch

HEIGHT = 256
COLUMNS_PER_S = 4
_GROUND, _TARGET = (255, 255, 255), (31, 78, 161)


def picture(batch: SendingBatch, row: int) -> NDArray[np.uint8]:
    """Draw the mean target of each second so far, (HEIGHT, columns, 3), on a log scale, the minimum at the bottom."""
    sender = batch.senders[row]
    targets = batch.tables.targets[row]
    image = np.full((HEIGHT, COLUMNS_PER_S * len(targets), 3), _GROUND, np.uint8)
    span = math.log(sender.most_bps / sender.least_bps) or 1.0
    for second in range(int(sender.now_us) // 1_000_000):
        place = math.log(max(float(targets[second]), float(sender.least_bps)) / sender.least_bps) / span
        top = HEIGHT - 1 - int(place * (HEIGHT - 1))
        image[top:, COLUMNS_PER_S * second : COLUMNS_PER_S * (second + 1)] = _TARGET
    return image
