"""Coverage of slots by probes, and parts between gaps, by hand and against an obvious twin."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.traces.coverage import GAP_S, coverage, parts

GAP_US = int(GAP_S * 1e6)


def slow_parts(sent_us):
    found, first = [], sent_us[0]
    for before, now in pairwise(sent_us):
        if now - before >= GAP_US:
            found.append([first // SLOT_US, before // SLOT_US + 1])
            first = now
    return [*found, [first // SLOT_US, sent_us[-1] // SLOT_US + 1]]


@given(st.lists(st.sampled_from([0, 1, 9_999, 10_000, 25_000, GAP_US - 1, GAP_US, 65_000_000]), max_size=30))
def test_parts_equal_the_slow_twin_and_cover_what_was_probed(spacing_us):
    sent_us = np.append(0, np.cumsum(spacing_us, dtype=np.int64)).astype(np.int64)
    found = parts(sent_us)
    assert found.dtype == np.int64 and found.tolist() == slow_parts(sent_us.tolist())
    described = coverage(sent_us)
    assert described.gaps == len(found) - 1 and described.largest_gap_s == max([0, *spacing_us]) / 1e6
    assert described.share == len(set((sent_us // SLOT_US).tolist())) / (sent_us[-1] // SLOT_US + 1)


def test_a_sparse_trace_with_a_gap_by_hand():
    """Ten seconds of a probe every 200 ms, 65 s without, ten more seconds with every tenth probe 300 ms after the one before."""
    sent_us = np.concatenate([np.arange(51) * 200_000, 75_000_000 + np.cumsum([0, *([200_000] * 9 + [300_000]) * 5])])
    found = coverage(sent_us)
    assert parts(sent_us).tolist() == [[0, 1001], [7500, 8551]]
    assert found.share == pytest.approx(102 / 8551)
    assert (found.spacing_ms, found.largest_gap_s, found.gaps, found.sparse) == (200.0, 65.0, 1, True)
    assert str(found) == "a probe in 1.19 % of slots, one per 200 ms (95 %: 205 ms), largest gap 65 s, cut into 2 parts"


def test_a_probe_in_every_second_slot_is_not_sparse():
    found = coverage(np.arange(3000) * 20_000)
    assert not found.sparse and found.gaps == 0 and found.share == pytest.approx(0.5, rel=1e-3)
    assert str(coverage(np.zeros(1, np.int64))).startswith("a probe in 100 % of slots, one per 0 ms")
