"""The E-model against the numbers that its formulas give by hand (facts Q0-Q4), and reward against score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.jit import kernel
from vcgym.network.playout import quality


@pytest.mark.parametrize(
    ("ta_ms", "expected"),
    [(50, 1.2), (100, 2.4), (150, 3.6), (177.3, 4.255), (200, 7.297), (300, 20.697), (400, 34.097)],
)
def test_reduced_delay_impairment(ta_ms: float, expected: float) -> None:
    """Q0: Id from 50 to 400 ms."""
    assert quality.delay_impairment_reduced(ta_ms) == pytest.approx(expected, abs=5e-4)


IDD = [(100, 0.0), (150, 0.164), (200, 3.044), (300, 14.761), (400, 24.070), (600, 35.247), (750, 39.763)]
"""Q1: Idd of G.107 7.4.3 by delay in ms."""


def g107_by_hand(t: float) -> dict[str, float]:
    """The parts of Id from the printed equations of G.107 7.2 and 7.4, one scalar at a time, from the table of default values."""
    slr, rlr, stmr, ds, dr, telr, wepl = 8.0, 2.0, 15.0, 3.0, 3.0, 65.0, 110.0
    nc, ps, pr, nfor = -70.0, 35.0, 35.0, -64.0
    nos = ps - slr - ds - 100 + 0.004 * (ps - (slr + rlr) - ds - 14) ** 2
    pre = pr + 10 * math.log10(1 + 10 ** ((10 - (stmr + dr)) / 10))
    nor = rlr - 121 + pre + 0.008 * (pre - 35) ** 2
    no = 10 * math.log10(sum(10 ** (noise / 10) for noise in (nc, nos, nor, nfor + rlr)))
    terv = telr - 40 * math.log10((1 + t / 10) / (1 + t / 150)) + 6 * math.exp(-0.3 * t * t)
    roe, re = -1.5 * (no - rlr), 80 + 2.5 * (terv - 14)
    ro, rle = 15 - 1.5 * (slr + no), 10.5 * (wepl + 7) * (2 * t + 1) ** -0.25
    x = math.log(t / 100) / math.log(2) if t > 100 else 0.0
    return {
        "no": no,
        "idte": 0.0 if t < 1 else ((roe - re) / 2 + math.sqrt((roe - re) ** 2 / 4 + 100) - 1) * (1 - math.exp(-t)),
        "idle": (ro - rle) / 2 + math.sqrt((ro - rle) ** 2 / 4 + 169),
        "idd": 0.0 if t <= 100 else 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2),
    }


def test_the_whole_delay_impairment_is_the_printed_equations() -> None:
    """Q1: Idd; the sum of the three parts from 0 to 12,000 ms."""
    assert g107_by_hand(0.0)["no"] == pytest.approx(quality.NOISE_DBM0P, abs=1e-6)
    for delay_ms, idd in IDD:
        assert g107_by_hand(delay_ms)["idd"] == pytest.approx(idd, abs=5e-4)
    delays_ms = [0.0, 0.5, 1.0, 20.0, 99.0, 101.0, 177.3, 250.0, 350.0, 500.0, 1_000.0, 12_000.0, *(float(delay) for delay, _ in IDD)]
    by_hand = [sum(g107_by_hand(delay)[part] for part in ("idte", "idle", "idd")) for delay in delays_ms]
    np.testing.assert_allclose(quality.delay_impairment_whole(delays_ms), by_hand, rtol=1e-7)
    assert math.isnan(quality.rating_whole(float("nan"), 0.0))


def test_the_reduced_form_leaves_the_whole_one_beyond_its_range() -> None:
    """By the figures of Q0 and of an evaluation of G.107 elsewhere: 0 at 300, +3.0 at 400, +8.9 at 500, +17 at 600 ms."""
    beyond_ms = np.array([300.0, 400.0, 500.0, 600.0])
    above = quality.delay_impairment_reduced(beyond_ms) - quality.delay_impairment_whole(beyond_ms)
    assert above.round(1).tolist() == [0.0, 3.0, 8.9, 17.0]
    assert quality.rating(600.0, 0.0) < quality.rating_whole(600.0, 0.0) - 17.0


@given(st.floats(0.0, quality.REDUCED_RANGE_MS))
def test_up_to_350_ms_both_forms_agree(ta_ms: float) -> None:
    assert abs(quality.delay_impairment_reduced(ta_ms) - quality.delay_impairment_whole(ta_ms)) < 1.1
    assert abs(quality.rating(ta_ms, 0.01) - quality.rating_whole(ta_ms, 0.01)) < 1.25


def test_the_rating_with_the_whole_form_starts_at_the_default_and_stays_in_range() -> None:
    assert quality.rating_whole(0.0, 0.0) == 93.2
    assert quality.rating_whole(150.0, 0.02) == pytest.approx(93.2 - (3.816 - 0.149) - 7.011, abs=1e-3)
    assert quality.rating_whole(12_000.0, 0.9) == 0.0
    assert (np.diff(quality.rating_whole(np.linspace(2.0, 12_000.0, 2_000), 0.0)) < 0.0).all()


def test_one_percent_concealed_costs_as_much_as_delay() -> None:
    """Q0: 152 ms below the knee, 27 ms above."""
    below = quality.delay_impairment_reduced(152.0) - quality.delay_impairment_reduced(0.0)
    above = quality.delay_impairment_reduced(227.0) - quality.delay_impairment_reduced(200.0)
    assert quality.loss_impairment(1.0) == pytest.approx(below, abs=0.012)
    assert quality.loss_impairment(1.0) == pytest.approx(above, abs=0.067)


def test_the_linear_price_is_the_slope_of_the_loss_impairment_at_zero() -> None:
    """Q0: 3.785 points of R for each percent."""
    slope_per_percent = quality.loss_impairment(1e-6) / 1e-6
    assert slope_per_percent == pytest.approx(3.785, abs=5e-4)
    assert 100 * slope_per_percent == pytest.approx(quality.CONCEALED_PRICE, abs=0.05)


@pytest.mark.parametrize(("p_percent", "expected"), [(0, 0), (1, 3.640), (2, 7.011), (5, 15.781), (10, 27.066)])
def test_loss_impairment(p_percent: float, expected: float) -> None:
    """Q2: Ie_eff at 0, 1, 2, 5 and 10 %."""
    assert quality.loss_impairment(p_percent) == pytest.approx(expected, abs=5e-4)


def test_bursts_and_a_worse_codec_cost_more() -> None:
    assert quality.loss_impairment(5.0, burst_r=2.0) == pytest.approx(95 * 5 / (2.5 + 25.1))
    assert quality.loss_impairment(5.0, 11.0, 19.0, 1.0) == pytest.approx(11 + 84 * 5 / 24)


@pytest.mark.parametrize(
    ("r", "expected"),
    [(93.2, 4.409), (80, 4.024), (70, 3.597), (60, 3.100), (50, 2.575), (0, 1), (-7, 1), (100, 4.5), (140, 4.5)],
)
def test_mean_opinion_score(r: float, expected: float) -> None:
    """Q3: MOS from R = 93.2 down to 0, and beyond both ends."""
    assert quality.mos(r) == pytest.approx(expected, abs=5e-4)


def test_mean_opinion_score_has_a_floor_where_the_cubic_dips() -> None:
    ratings = np.linspace(0.0, 100.0, 1001)
    cubic = 1 + 0.035 * ratings + 7e-6 * ratings * (ratings - 60) * (100 - ratings)
    below = cubic < 1
    assert below.any() and ratings[below].max() == pytest.approx(6.5, abs=0.1)
    assert (quality.mos(ratings[below]) == 1).all()
    np.testing.assert_allclose(quality.mos(ratings[~below]), cubic[~below], rtol=1e-15)
    assert (np.diff(quality.mos(ratings)) >= 0).all()


def test_short_windows_underprice_loss() -> None:
    """Q4: 2 % of loss in one of five windows costs 5.413, over the whole call 7.011."""
    windows = quality.loss_impairment(np.array([10.0, 0.0, 0.0, 0.0, 0.0]))
    assert windows.mean() == pytest.approx(5.413, abs=5e-4)
    assert quality.loss_impairment(2.0) == pytest.approx(7.011, abs=5e-4)


def test_rating_is_the_default_minus_both_impairments_and_never_below_zero() -> None:
    assert quality.rating(150.0, 0.02) == pytest.approx(93.2 - 3.6 - 7.011, abs=5e-4)
    assert quality.rating(2_000.0, 0.5) == 0.0


def test_arrays_and_floats_agree() -> None:
    ta_ms, share = np.linspace(0.0, 900.0, 50), np.linspace(0.0, 1.0, 50)
    one_by_one = [quality.rating(a, b) for a, b in zip(ta_ms.tolist(), share.tolist(), strict=True)]
    assert quality.rating(ta_ms, share).tolist() == one_by_one


def test_the_return_is_the_linear_price_of_each_tick() -> None:
    offset_us = np.array([80_000, 80_000, 190_000, 200_000], np.int64)
    by_hand = (4 * 93.2 - (1.92 + 1.92 + 4.56 + 0.11 * 12.7 + 7.297) - 378.5) / 100
    impairment = quality.impairment_sum(offset_us.sum(), np.maximum(offset_us - 177_300, 0).sum())
    assert quality.emodel_return(4, impairment, 1) == pytest.approx(by_hand, abs=1e-12)


def test_event_reward_is_minus_the_delay_in_units_of_100_ms() -> None:
    assert quality.emission_reward(250_000) == -2.5
    assert quality.emission_reward(1_000_000) == -quality.LOSS_PRICE


@kernel
def _inside(offset_us):
    return quality.mos(quality.rating(offset_us / 1000.0, 0.01)) + quality.emission_reward(offset_us)


def test_works_inside_other_kernels() -> None:
    assert _inside(100_000) == quality.mos(quality.rating(100.0, 0.01)) + quality.emission_reward(100_000)
