"""Calls that share a link: departures against a slow twin, the published overload, and closed forms where nothing queues."""

from fractions import Fraction

import numpy as np
import pytest

from lab.studies.protection.link import PLAIN_BPS, SCHEMES, Scheme, departures, play
from vcgym.network.bottleneck.queue import DROPPED

WIDE_BPS = 1e9


def departures_slowly(sent_us, sizes, link_bps, limit_bytes):
    """The same one by one, in exact fractions; a packet that leaves in the microsecond of an arrival has left."""
    queued, free_us, found = [], Fraction(0), []
    for at_us, size in zip(sent_us.tolist(), sizes.tolist(), strict=True):
        queued = [(left_us, other) for left_us, other in queued if left_us > at_us]
        if sum(other for _, other in queued) + size > limit_bytes:
            found.append(DROPPED)
            continue
        free_us = max(free_us, Fraction(at_us)) + Fraction(8_000_000 * size, link_bps)
        queued.append((-(-free_us.numerator // free_us.denominator), size))
        found.append(queued[-1][0])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_departures_equal_those_of_a_slow_queue(seed):
    draws = np.random.default_rng(seed)
    sent_us, sizes = np.sort(draws.integers(0, 1_000_000, 600)), draws.integers(100, 400, 600)
    found = departures(sent_us, sizes, 1_000_003, 3000)
    assert found.tolist() == departures_slowly(sent_us, sizes, 1_000_003, 3000)
    assert 0 < (found == DROPPED).sum() < 500


def test_an_earlier_frame_in_each_packet_overloads_150_kbit_per_s_by_the_published_share():
    shared = play(Scheme("RED1", earlier=1), 150e3, 1, 20_000, 100.0, 0.0, 1.0, 0)
    assert shared.dropped == pytest.approx(1.0 - 150.0 / 164.0, abs=0.002)
    assert shared.queued_ms > 80.0


@pytest.mark.parametrize(
    ("scheme", "loss", "run", "left"),
    [
        (Scheme("none"), 0.02, 3.0, 0.02),
        (Scheme("copy", copy_each=1), 0.1, 2.0, 0.01),
        (Scheme("half", copy_each=2), 0.1, 2.0, 0.055),
        (Scheme("RED1", earlier=1), 0.05, 4.0, 0.0375),
        (Scheme("RED3", earlier=3), 0.05, 4.0, 0.021094),
        (Scheme("FEC5", covers=4), 0.05, 1.0 / 0.95, 0.009275),
    ],
)  # fmt: skip
def test_without_a_queue_what_is_left_meets_the_closed_forms(scheme, loss, run, left):
    shared = play(scheme, WIDE_BPS, 20, 20_000, 100.0, loss, run, 3)
    assert shared.dropped == 0.0 and shared.lost == pytest.approx(loss, rel=0.05)
    assert shared.left == pytest.approx(left, rel=0.08)


def test_beyond_the_link_protection_of_all_leaves_more_losses_than_none():
    left = {scheme.name: play(scheme, 20 * PLAIN_BPS / 0.9, 20, 2000, 100.0, 0.01, 3.0, 1).left for scheme in SCHEMES}
    assert min(left["RED1"], left["RED3"], left["COPY1"], left["FEC5"]) > 2.0 * left["none"]
    assert left["COPY1 within 10 %"] < left["none"]
