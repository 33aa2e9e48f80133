"""The closed forms of the fit: moments are reproduced, infeasible ones are adjusted and reported, and the shipped table equals the fit."""

import gzip
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lab.shipped.sets.link_fits import bad_hour, bad_hours, beta_by_moments, burst_moments, queueing_excess
from lab.shipped.sets.tables import fit_ten_places
from lab.shipped.sets.world_sample import fit_world
from vcgym.network.fitting.agreement import Agreement
from vcgym.network.traces.cards import DataError, data_root, load_links
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.world import WorldDraw
from vcgym.scripts.importing.fit import shown_values


def moments(law):
    frozen = stats.beta(law.a, law.b, loc=law.low_ms, scale=law.high_ms - law.low_ms)
    return float(frozen.mean()), float(frozen.std())


def test_moments_give_the_law_back_by_hand():
    # Uniform on [0, 12]: mean 6, variance 12.
    law = beta_by_moments(0.0, 12.0, 6.0, math.sqrt(12.0))
    assert (law.a, law.b) == (pytest.approx(1.0), pytest.approx(1.0))
    assert not law.clamped


@given(st.floats(0.01, 0.99), st.floats(0.06, 0.94), st.floats(1.0, 500.0), st.floats(0.5, 900.0))
def test_feasible_moments_are_met(mean_share, variance_share, low_ms, width_ms):
    mean_ms = low_ms + mean_share * width_ms
    sd_ms = width_ms * math.sqrt(variance_share * mean_share * (1.0 - mean_share))
    law = beta_by_moments(low_ms, low_ms + width_ms, mean_ms, sd_ms)
    assert not law.clamped
    assert moments(law) == (pytest.approx(mean_ms, rel=1e-6), pytest.approx(sd_ms, rel=1e-4))


@pytest.mark.parametrize(("mean_ms", "sd_ms"), [(5.0, 9.0), (5.0, 0.0), (0.0, 1.0), (-40.0, 1.0), (11.0, 1.0)])
def test_infeasible_moments_give_way_and_say_so(mean_ms, sd_ms):
    law = beta_by_moments(0.0, 10.0, mean_ms, sd_ms)
    mean, sd = moments(law)
    assert law.clamped
    assert 0.0 < mean < 10.0
    assert 0.0 < sd < math.sqrt(mean * (10.0 - mean))


def test_a_law_without_width_is_refused():
    with pytest.raises(ValueError, match=r"high_ms is 3.0; allowed: above low_ms 3.0"):
        beta_by_moments(3.0, 3.0, 3.0, 0.0)


@given(st.floats(0.0, 300.0), st.floats(0.0, 200.0))
def test_three_bad_hours_among_ordinary_ones_give_the_pooled_moments(bad_shift_ms, bad_sd_ms):
    # 45 hours at exactly 100 ms, 3 hours split evenly around their mean.
    hours = np.full(48 * 2, 100.0)
    hours[:3] = 100.0 + bad_shift_ms - bad_sd_ms
    hours[3:6] = 100.0 + bad_shift_ms + bad_sd_ms
    mean_ms, sd_ms = bad_hour(100.0, float(hours.mean()), float(hours.std()))
    assert mean_ms == pytest.approx(100.0 + bad_shift_ms, abs=1e-6)
    assert sd_ms == pytest.approx(bad_sd_ms, abs=1e-3)


def test_a_two_day_mean_below_the_ordinary_hour_shifts_nothing():
    mean_ms, sd_ms = bad_hour(100.0, 99.0, 2.0)
    assert (mean_ms, sd_ms) == (100.0, pytest.approx(math.sqrt(16 * 5.0)))


def test_the_bad_hour_looks_like_the_published_packet_log():
    # Brazil to Argentina. A published run of 30,000 packets over that link has mean 122.5, sd 52.0 and a Beta law a = 0.128, b = 0.488.
    mean_ms, sd_ms = bad_hour(90.567, 92.767, 15.403)
    assert (mean_ms, sd_ms) == (pytest.approx(125.767, abs=1e-3), pytest.approx(51.33, abs=0.01))
    assert (mean_ms, sd_ms) == (pytest.approx(122.5, rel=0.03), pytest.approx(52.0, rel=0.03))
    law = beta_by_moments(88.549, 251.712, mean_ms, sd_ms)
    assert (law.a, law.b) == (pytest.approx(0.128, abs=0.06), pytest.approx(0.488, abs=0.12))
    shipped = load_links("wonderproxy_ten_places").link("BR", "AR").worst
    assert (shipped.a, shipped.b) == (pytest.approx(law.a, rel=1e-5), pytest.approx(law.b, rel=1e-5))


@given(st.floats(0.02, 20.0), st.floats(0.1, 1.9))
def test_the_lognormal_has_the_mean_and_the_typical_largest_of_thirty(excess_ms, log_sd):
    z = NormalDist().inv_cdf(0.5 ** (1 / 30))
    assert z == pytest.approx(1.99834, abs=1e-5)
    largest_ms = excess_ms * math.exp(z * log_sd - log_sd**2 / 2.0)
    queue = queueing_excess(50.0, 50.0 + excess_ms, 50.0 + largest_ms)
    assert queue.base_ms == 50.0
    assert queue.log_sd == pytest.approx(log_sd, rel=1e-3)
    law = stats.lognorm(queue.log_sd, scale=math.exp(queue.log_mean))
    assert law.mean() == pytest.approx(excess_ms, rel=1e-6)
    assert law.cdf(largest_ms) ** 30 == pytest.approx(0.5, abs=1e-2)


def test_a_tail_no_lognormal_has_gets_the_heaviest_one():
    queue = queueing_excess(100.0, 100.2, 140.0)
    assert queue.log_sd == NormalDist().inv_cdf(0.5 ** (1 / 30))
    assert math.exp(queue.log_mean + queue.log_sd**2 / 2.0) == pytest.approx(0.2)


@pytest.mark.parametrize(("avg_ms", "max_ms"), [(100.0, 100.0), (100.0, 101.0), (101.0, 101.0)])
def test_a_burst_without_excess_has_floors(avg_ms, max_ms):
    queue = queueing_excess(100.0, avg_ms, max_ms)
    assert queue.log_sd >= 0.05
    assert math.exp(queue.log_mean + queue.log_sd**2 / 2.0) >= 0.01 * (1 - 1e-12)


@pytest.mark.data
def test_the_shipped_table_is_the_fit():
    assert fit_ten_places(data_root()) == load_links("wonderproxy_ten_places")


def test_missing_statistics_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"ten_places\.csv: file is .*No such file"):
        fit_ten_places(tmp_path)


@pytest.mark.parametrize(
    ("row", "field"), [("BR,AU,288,-1,290,1", "avg_ms"), ("BR,AU,288,nan,290,1", "avg_ms"), ("BR,AU,288,289", "number of fields")]
)
def test_a_bad_row_of_statistics_is_refused(tmp_path, row, field):
    folder = tmp_path / "wonderproxy"
    folder.mkdir()
    (folder / "ten_places.csv").write_text("code,role,name,country\nBR,endpoint,B,Brazil\nAU,endpoint,A,Australia\n")
    (folder / "ten_places_burst_medians.csv").write_text(f"src,dst,min_ms,avg_ms,max_ms,mdev_ms\n{row}\n")
    with pytest.raises(DataError, match=rf"(?s)burst_medians\.csv: line 2.*{field}"):
        fit_ten_places(tmp_path)


def test_pings_of_an_unknown_server_are_refused(tmp_path):
    folder = tmp_path / "wonderproxy"
    folder.mkdir()
    (folder / "servers.csv").write_text("id,name\n0,Here\n")
    rows = b"src_id,dst_id,min_ms,avg_ms,max_ms,mdev_ms\n0,7,288,289,290,1\n"
    (folder / "all_pairs_burst_medians.csv.gz").write_bytes(gzip.compress(rows))
    with pytest.raises(DataError, match=r"servers\.csv: server is '7'; allowed: every server of the pings"):
        fit_world(tmp_path)


def test_the_moments_of_bursts_are_those_of_the_world():
    """The declared generator itself, links side by side, in units of the median level, so low and slow that order adds nothing."""
    links, level_ms = 400, 10.0
    world = LinkWorld(Correlated(), 1, np.arange(links)[:, None])
    always = np.full(links, 1 << 40)
    parameters = {
        "base_ms": 0.0, "log_mean": -np.inf, "log_sd": 0.0, "loss": 0.0, "tau_ms": 1000.0, "bad_from": -always, "bad_to": always,
        "bad_level_ms": level_ms, "shift_every_s": np.inf,
    }  # fmt: skip
    world.start(0, WorldDraw("links", "bad", 3, parameters))
    mean, square, blocks = 0.0, 0.0, 60
    for _ in range(blocks):
        delay = np.maximum(world.delay_us[0], 0) / 1000.0 / level_ms
        mean, square = mean + delay.mean() / blocks, square + (delay**2).mean() / blocks
        world.fill(np.array([0]))
    expected = burst_moments()
    assert mean == pytest.approx(expected[0], rel=0.05)
    assert square == pytest.approx(expected[1], rel=0.08)


@given(st.floats(1.0 / 48, 3.0 / 48), st.floats(5.0, 300.0), st.floats(0.1, 5.0))
def test_bad_hours_give_the_two_day_moments_back(share, level_ms, mdev_ms):
    c, q = burst_moments()
    mean, square = share * c * level_ms, mdev_ms**2 + share * q * level_ms**2
    hours = bad_hours(100.0, mdev_ms, 100.0 + mean, math.sqrt(square - mean**2))
    assert (hours.share, hours.level_ms) == (pytest.approx(share, rel=1e-3), pytest.approx(level_ms, rel=1e-3))


@pytest.mark.parametrize(("mean_ms", "sd_ms", "hours"), [(100.1, 30.0, 1.0), (130.0, 31.0, 3.0), (95.0, 10.0, 1.0)])
def test_a_share_out_of_bounds_is_held_and_the_spread_still_met(mean_ms, sd_ms, hours):
    fitted = bad_hours(100.0, 1.0, mean_ms, sd_ms)
    assert fitted.clamped and fitted.share == pytest.approx(hours / 48)
    assert fitted.share * burst_moments()[1] * fitted.level_ms**2 == pytest.approx(sd_ms**2 + (mean_ms - 100.0) ** 2 - 1.0)


def test_a_link_as_calm_in_two_days_as_in_its_median_hour_has_no_level():
    assert bad_hours(100.0, 2.0, 100.0, 1.5).level_ms == 0.0


def test_values_are_shown_with_the_digits_that_tell_them_apart():
    lowest = 1.050009  # among the worlds, below what the tolerance allows
    near = Agreement("run of losses, slots", 1.049991, [lowest, 1.9, 1.9])
    assert not near.agrees and shown_values(near) == ["1.9", "1.04999", "1.05001", "3.42857"]
    inside = Agreement("run of losses, slots", lowest, [lowest, 1.9, 1.9])
    assert inside.agrees and shown_values(inside) == ["1.9", "1.05", "1.05", "3.43"]
