"""Path sequences against exhaustive enumeration, and the first of all paths to arrive."""

from itertools import product

import numpy as np
import pytest

from lab.studies.oracles.sequences import best_sequence, clairvoyant
from vcgym.network.kernels.slots import LOST


@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_of_all_path_sequences(seed):
    draws = np.random.default_rng(seed)
    paths, packets = 2 + seed % 2, 7
    cost = draws.integers(0, 20, (paths, packets)).astype(float)
    every = np.array(list(product(range(paths), repeat=packets)))
    sums, changes = cost[every, np.arange(packets)].sum(axis=1), (np.diff(every, axis=1) != 0).sum(axis=1)
    for limit in (0, 1, 2, 4, None):
        path = best_sequence(cost, limit)
        allowed = changes <= (packets if limit is None else limit)
        assert cost[path, np.arange(packets)].sum() == sums[allowed].min()
        assert limit is None or (np.diff(path) != 0).sum() <= limit


def test_the_clairvoyant_takes_the_first_to_arrive():
    delay_us = np.array([[5, LOST, 9, LOST], [7, 8, LOST, LOST]], np.int32)
    assert clairvoyant(delay_us).tolist() == [0, 1, 0, 0]
