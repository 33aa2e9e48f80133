"""Worlds follow their declared distributions: margins, memory, losses, shifts, events; parameters out of range are rejected."""

import math

import numpy as np
import pytest
from scipy import stats

from lab.shipped.sets.link_fits import queueing_excess
from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.correlated import BLOCK_S, Correlated, exp2
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper
from vcgym.network.worlds.quantiles import (
    OPEN_PROBABILITIES,
    PROBABILITIES,
    TABLE_POINTS,
    beta_table,
    draw_row,
    lognormal_table,
    normal_table,
)
from vcgym.network.worlds.world import WorldDraw
from vcgym.network.worlds.world import blocks as world_blocks

DRAWS = 1 << 20
QUIET = {
    "base_ms": 50.0, "log_mean": -math.inf, "log_sd": 0.0, "tau_ms": 200.0, "shift_every_s": math.inf,
    "loss": 0.0, "bad_from": 0, "bad_to": 0,
}  # fmt: skip


def drawn(blocks, links=1, seed=1, **parameters):
    """Delays (links, slots), one path a link, of a correlated world that is quiet but for `parameters`."""
    world = LinkWorld(Correlated(), 1, np.arange(links)[:, None], events=8)
    world.start(0, WorldDraw("a-b", "made", seed, {**QUIET, **parameters}))
    return np.concatenate([*world_blocks(world, blocks * BLOCK_SLOTS)], axis=1)


def from_table(table, key=5):
    out = np.empty(DRAWS, np.float32)
    draw_row(table.astype(np.float32), np.uint64(key), 0, out)
    return out.astype(float)


LAWS = {
    "normal": (normal_table(), stats.norm()),
    "beta": (beta_table(70.0, 3000.0, 1.3, 40.0), stats.beta(1.3, 40.0, 70.0, 2930.0)),
    "beta at its ends": (beta_table(0.0, 1.0, 0.5, 0.7), stats.beta(0.5, 0.7)),
    "lognormal": (lognormal_table(20.0, 1.0, 0.8), stats.lognorm(0.8, 20.0, math.e)),
}


@pytest.mark.parametrize("name", LAWS)
def test_draws_from_a_table_follow_the_law(name):
    table, law = LAWS[name]
    values = from_table(table)
    assert stats.kstest(values, law.cdf).pvalue > 0.001
    assert abs(values.mean() - law.mean()) < 4.0 * law.std() / math.sqrt(DRAWS)
    assert abs(values.std() / law.std() - 1.0) < 0.01
    for p in (1e-4, 1e-3, 0.5, 0.999, 0.9999):
        assert abs((values <= law.ppf(p)).mean() - p) < 4.0 * math.sqrt(p * (1.0 - p) / DRAWS)


@pytest.mark.parametrize("name", LAWS)
def test_a_table_holds_the_quantiles_between_its_points_too(name):
    table, law = LAWS[name]
    half = TABLE_POINTS // 2
    for points, values in ((PROBABILITIES[:half], table[:half]), (PROBABILITIES[half:], table[half:])):
        middle = 0.5 * (points[1:] + points[:-1])
        error = np.abs(0.5 * (values[1:] + values[:-1]) - law.ppf(middle)) / law.std()
        likely = np.minimum(middle, 1.0 - middle) > 1e-5
        assert error[likely].max() < 2e-3 and np.median(error) < 2e-4


def test_an_open_law_stays_inside_its_probabilities():
    assert OPEN_PROBABILITIES.min() == 2.0**-25 and OPEN_PROBABILITIES.max() == 1.0 - 2.0**-25
    np.testing.assert_allclose(normal_table(), stats.norm.ppf(OPEN_PROBABILITIES), rtol=2e-9, atol=2e-9)


def test_powers_of_two():
    y = np.linspace(-20.0, 21.0, 100_001).astype(np.float32)
    values = np.array([exp2(value) for value in y])
    assert np.abs(values / np.exp2(y.astype(float)) - 1.0).max() < 2.0**-22
    assert exp2(np.float32(-math.inf)) == 2.0**-20 and exp2(np.float32(1e9)) == 2.0**21


@pytest.mark.parametrize(
    "other", [(1, 0, rng.QUEUEING), (0, 1, rng.QUEUEING), (0, 0, rng.LOSS), (1 << 63, 0, rng.QUEUEING), (0, 899, rng.EVENT)]
)
@pytest.mark.parametrize("lag", [0, 1, 2, 64, BLOCK_SLOTS])
def test_streams_are_independent(other, lag):
    """Of the same stream at another slot, and of one of another seed, link or purpose: uniform on the square."""
    one, two = (np.uint64(rng.stream_key(np.uint64(key[0]), *key[1:])) for key in ((0, 0, rng.QUEUEING), other))
    slots = range(1 << 15)
    first = np.array([int(rng.bits32(one, slot)) for slot in slots])
    partners = [np.array([int(rng.bits32(two, slot + lag)) for slot in slots])]
    if lag:
        partners.append(np.array([int(rng.bits32(one, slot + lag)) for slot in slots]))
    for second in partners:
        for shift in (28, 0):  # the highest and the lowest bits
            counts = np.histogram2d((first >> shift) & 15, (second >> shift) & 15, bins=16, range=[[-0.5, 15.5]] * 2)[0]
            assert stats.chisquare(counts.ravel()).pvalue > 1e-5


@pytest.mark.parametrize("tau_ms", [0.0, 50.0, 200.0, 1000.0])
def test_queueing_forgets_at_the_declared_rate_and_keeps_its_margin(tau_ms):
    """Without memory first-in-first-out would show: a base far above the queueing and slots too short to overtake."""
    delays = drawn(400, links=4, log_mean=0.0, log_sd=0.25, tau_ms=tau_ms)
    x = np.log(delays / 1000.0 - 50.0) / 0.25
    for lag in (1, 5, 20, 100):
        expected = math.exp(-10.0 * lag / tau_ms) if tau_ms else 0.0
        found = np.mean([np.corrcoef(row[lag:], row[:-lag])[0, 1] for row in x])
        assert abs(found - expected) < 0.004 + 0.02 * math.sqrt(tau_ms / 1000.0)
    every = max(1, round(tau_ms))  # ten times tau: as good as independent
    assert stats.kstest(x[:, ::every].ravel(), "norm").pvalue > 0.001
    assert abs(np.corrcoef(x[0], x[1])[0, 1]) < 0.1


def test_the_largest_of_a_burst_of_pings_is_what_was_measured():
    """A fitted queue, 30 draws far apart: the median of their largest is the burst's maximum, their mean its average.

    The burst is a small one: of a wide one, drawn in each slot without memory, first-in-first-out would lift the slots after its maxima.
    """
    queue = queueing_excess(50.0, 50.2, 51.0)
    delays = drawn(3000, log_mean=queue.log_mean, log_sd=queue.log_sd, tau_ms=0.0)[0] / 1000.0
    bursts = delays[: delays.size // 30 * 30].reshape(30, -1)
    assert abs(np.median(bursts.max(axis=0)) - 51.0) < 0.01
    assert abs(delays.mean() - 50.2) < 0.002


@pytest.mark.parametrize("run", [1.0, 3.0, 20.0])
@pytest.mark.parametrize("share", [0.01, 0.3])
def test_losses_have_the_given_share_and_run(share, run):
    lost = drawn(200, links=8, loss=share, loss_run=run) == LOST
    slots = lost[0].size
    spread = math.sqrt(share * (1.0 - share) * 2.0 * run / lost.size)
    assert abs(lost.mean() - share) < 4.0 * spread
    begins = (lost[:, 1:] & ~lost[:, :-1]).sum()
    assert abs(lost.sum() / begins / (run / (1.0 - share)) - 1.0) < 4.0 / math.sqrt(begins)
    together = np.mean([np.corrcoef(row[1:], row[:-1])[0, 1] for row in lost])
    assert abs(together - (1.0 - 1.0 / run)) < 6.0 / math.sqrt(8 * slots * share)


def test_the_base_shifts_rarely_and_by_its_size():
    delays = drawn(300, links=200, shift_every_s=60.0, shift_size=0.2) / 1000.0
    changed = np.diff(delays, axis=1)
    shifts = np.count_nonzero(np.diff(np.rint(delays[:, ::BLOCK_SLOTS] * 1e3), axis=1))
    expected = 200 * 299 * BLOCK_S / 60.0
    assert abs(shifts - expected) < 4.0 * math.sqrt(expected)
    assert 40.0 <= delays.min() < delays.max() <= 60.0
    late = delays[:, -1] / 50.0  # 25 mean times after the start
    assert stats.kstest(late, stats.uniform(0.8, 0.4).cdf).pvalue > 0.001
    places = np.nonzero(changed > 0)[1] % BLOCK_SLOTS  # upwards: first-in-first-out smears nothing
    assert stats.kstest(places / BLOCK_SLOTS, "uniform").pvalue > 0.001


def test_by_default_a_base_shifts_about_once_an_hour():
    world = LinkWorld(Correlated(), 1, np.zeros((1, 1), np.int64))
    world.start(0, WorldDraw("a-b", "made", 1, {name: value for name, value in QUIET.items() if name != "shift_every_s"}))
    assert abs(BLOCK_S / world.rows.shift_chance[0] - 3600.0) < 1e-6


def shown(*events, **parameters):
    return drawn(4, links=2, events=events, **parameters)


def test_events_of_a_stress_world():
    slots = np.arange(4 * BLOCK_SLOTS)
    flap = shown(Event(0, 100, 200, add_ms=30.0), Event(0, 300, 900, add_ms=30.0))[0]
    assert set(flap[:100]) | set(flap[210:300]) | set(flap[910:]) == {50_000}
    assert set(flap[100:200]) | set(flap[300:900]) == {80_000}
    ramp = shown(Event(0, 100, 1100, slope_ms_per_s=20.0))[0]
    np.testing.assert_allclose(ramp[100:1100], 50_000 + 200 * np.arange(1000), atol=1)
    step = shown(Event(0, 600, 601, add_ms=30_000.0))[0]  # first-in-first-out: one late packet holds up all after it
    assert (step[600:] == np.maximum(30_050_000 - (slots[600:] - 600) * SLOT_US, 50_000)).all()
    held = shown(Event(0, 100, 180, hold=True))[0]
    assert set(held[100:175] + slots[100:175] * SLOT_US) == {180 * SLOT_US} and set(held[180:]) == {50_000}
    failed = shown(Event(0, 100, 1500, loss=1.0))
    assert (np.flatnonzero(failed[0] == LOST) == np.arange(100, 1500)).all() and (failed[1] != LOST).all()
    some = shown(Event(0, 0, 2048, loss=0.3))[0] == LOST
    assert abs(some.mean() - 0.3) < 0.04 and (some != (shown(loss=0.3)[0] == LOST)).any()
    both = shown(Event(0, 0, 100, add_ms=5.0), Event(0, 50, 100, add_ms=7.0))[0]
    assert both[20] == 55_000 and both[70] == 62_000


@pytest.mark.parametrize("ppm", [-200.0, 35.0, 1000.0])
def test_a_clock_that_gains_shows_as_growing_delays(ppm):
    delays = shown(skew_ppm=ppm)
    np.testing.assert_allclose(delays[0], 50_000 + np.arange(4 * BLOCK_SLOTS) * SLOT_US * ppm * 1e-6, atol=1)
    assert (delays[0] == delays[1]).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"base_ms": [50.0, math.nan]}, r"base_ms\[1\] = nan: allowed is 0.0 to 60000.0"),
        ({"base_ms": -1.0}, "base_ms = -1.0"),
        ({"log_mean": math.inf}, "log_mean = inf"),
        ({"log_sd": math.inf}, "log_sd = inf"),
        ({"loss": [0.5, 1.5]}, r"loss\[1\] = 1.5: allowed is 0.0 to 1.0"),
        ({"loss_run": 0.5}, "loss_run = 0.5: allowed is 1.0"),
        ({"bad_level_ms": math.inf}, "bad_level_ms = inf: allowed is 0.0 to 60000.0"),
        ({"bad_from": math.nan}, "bad_from = nan"),
        ({"tau_ms": math.nan}, "tau_ms = nan: allowed is 0.0 to 60000.0"),
        ({"shift_every_s": 5.0}, "shift_every_s = 5.0: allowed is 5.12 to inf"),
        ({"shift_size": 1.1}, "shift_size = 1.1"),
        ({"skew_ppm": -1001.0}, "skew_ppm = -1001.0: allowed is -1000.0 to 1000.0"),
        ({"events": [Event(2, 0, 5)]}, r"events\[0\].link = 2.0: allowed is 0 to 1"),
        ({"events": [Event(0, 0, 5), Event(0, 5, 5)]}, r"events\[1\].to_slot = 5.0: allowed is 6"),
        ({"events": [Event(0, 5, 6006, hold=True)]}, r"events\[0\].to_slot = 6006.0: allowed is 6 to 6005"),
        ({"events": [Event(0, 0, 5, add_ms=math.nan)]}, r"events\[0\].add_ms = nan: allowed is -60000.0 to 60000.0"),
        ({"events": [Event(0, 0, 5, slope_ms_per_s=1e9)]}, r"events\[0\].slope_ms_per_s"),
        ({"events": [Event(0, 0, 5, loss=-0.1)]}, r"events\[0\].loss = -0.1"),
        ({"events": [Event(0, 0, 5)] * 9}, "9 events: allowed are 0 to 8"),
    ],
)
def test_correlated_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        drawn(1, links=2, **parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": math.nan}, "loss = nan: allowed is 0.0 to 1.0"),
        ({"quantiles_ms": np.full((1, TABLE_POINTS), 60_001.0)}, r"quantiles_ms\[0, 0\] = 60001.0: allowed is 0.0 to 60000.0"),
        ({"quantiles_ms": np.linspace(1.0, 2.0, TABLE_POINTS)[None]}, "quantiles_ms, upper side, falls"),
    ],
)
def test_paper_parameters_out_of_range_are_refused(change, message):
    world = LinkWorld(Paper(), 1, np.zeros((1, 1), np.int64))
    with pytest.raises(ValueError, match=message):
        world.start(0, WorldDraw("a-b", "made", 1, {"quantiles_ms": lognormal_table(1.0, 1.0, 1.0)[None], "loss": 0.0, **change}))


def test_a_path_of_too_many_links_is_refused():
    with pytest.raises(ValueError, match="path_links of 5 columns: allowed is 1 to 4"):
        LinkWorld(Correlated(), 1, np.zeros((1, 5), np.int64))
