"""Speech through calls: a clean call scores high, a call with a fifth of its packets lost low, and correlations are those of ranks."""

import itertools

import numpy as np
import pytest

from lab.studies.listening import RatedCall, correlation, draw, similarity, speech
from vcgym.live.call.audio import RATE_HZ, encoded, rendered


@pytest.mark.listening
def test_a_clean_call_scores_high_and_one_with_losses_low():
    said = speech(5.0, 1)
    assert len(said) == 5 * RATE_HZ
    assert said.std() > 500
    packets = dict(enumerate(itertools.islice(encoded(said), 500)))
    played_us = 60_000 + 10_000 * np.arange(500)
    lost = np.where(np.random.default_rng(0).random(500) < 0.2, -1, played_us)
    clean, late, lossy = (similarity(said, rendered(ticks_us, packets)) for ticks_us in (played_us, played_us + 500_000, lost))
    assert clean > 0.95
    assert late == pytest.approx(clean, abs=1e-6)
    assert lossy < 0.91


def test_correlations_are_of_ranks_with_an_interval_over_worlds():
    draws = np.random.default_rng(1)
    ratings = draws.normal(size=(24, 4))
    sizes = np.array([12, 12])
    assert correlation(ratings, np.exp(ratings), sizes) == pytest.approx((1.0, 1.0, 1.0))
    assert correlation(ratings, -ratings, sizes).value == pytest.approx(-1.0)
    noisy = correlation(ratings, ratings + draws.normal(size=ratings.shape), sizes)
    assert 0.5 < noisy.low < noisy.value < noisy.high < 0.9


def test_the_picture_is_small(tmp_path):
    calls = [RatedCall("quiet", world, "DRT-WM", 80.0 - world, 90.0 - world, 0.9) for world in range(40)]
    draw(calls, tmp_path / "listening.png")
    assert 2_000 < (tmp_path / "listening.png").stat().st_size < 60_000
