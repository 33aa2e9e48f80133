"""Worlds: a function of only (world, seed, slot), first-in-first-out where declared, with the statistics of their parameters."""

import numpy as np
import pytest

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.paths.leo import SERIES as LEO_SERIES
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import TAU_MS
from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.traces.cards import load_links
from vcgym.network.worlds.links import links_and_paths, relay_sequences
from vcgym.network.worlds.replay import replay_world
from vcgym.network.worlds.world import HISTORY_BLOCKS, WorldDraw

DRAWN = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]
HISTORY = HISTORY_BLOCKS * BLOCK_SLOTS
SERIES_SLOTS = HISTORY + 3 * BLOCK_SLOTS + 100
pytestmark = pytest.mark.usefixtures("test_split_opened")


def blocks(world, draw, count, row=0):
    """Delays (paths, slots) of the first `count` blocks of a drawn world, and its history."""
    history = world.start(row, draw)
    parts = [world.delay_us[row].copy()]
    for _ in range(count - 1):
        world.fill(np.array([row]))
        parts.append(world.delay_us[row].copy())
    return np.concatenate(parts, axis=1), history


def series(seed=0, paths=3, slots=SERIES_SLOTS):
    """Measured in name only: a base level, steps, spikes that a first-in-first-out path must flatten, and missing replies."""
    draws = np.random.default_rng(seed)
    table = 30_000 + 5_000 * np.arange(paths)[:, None] + draws.integers(0, 400, (paths, slots))
    table += np.where(draws.random((paths, slots)) < 0.01, draws.integers(0, 150_000, (paths, slots)), 0)
    table[draws.random((paths, slots)) < 0.02] = LOST
    return table.astype(np.int64)


def replay(offset=HISTORY, paths=3):
    return replay_world(1, series()[None]), WorldDraw("leo", "measured", 0, {"pair": 0, "offset": np.full(paths, offset)})


@pytest.mark.parametrize(("scenario", "mode"), DRAWN)
def test_a_block_does_not_depend_on_row_order_or_company(scenario, mode):
    recipe = Scenario(scenario, mode)
    strata = ("quiet", "many-links", "relay-node", "transition") if mode == "correlated" else (None,) * 4
    draws = [recipe.draw("train", seed, stratum=stratum) for seed, stratum in enumerate(strata)]
    alone = [blocks(recipe.world(1), draw, 3) for draw in draws]
    together = recipe.world(6)
    rows, histories = [5, 0, 3, 2], {}
    for row, draw in zip(rows[::-1], draws[::-1], strict=True):
        together.start(row, draws[1])  # what stood there before leaves no trace
        for _ in range(row + 1):
            together.fill(np.array([row]))
        histories[row] = together.start(row, draw)
    seen = {row: [together.delay_us[row].copy()] for row in rows}
    for which in ([3], [5, 0, 2], [2, 3], [0], [5]):  # at different times, in different company
        together.fill(np.array(which))
        for row in which:
            seen[row].append(together.delay_us[row].copy())
    for row, (delays, history) in zip(rows, alone, strict=True):
        np.testing.assert_array_equal(histories[row], history)
        np.testing.assert_array_equal(np.concatenate(seen[row], axis=1), delays)
    assert len({delays.tobytes() for delays, _ in alone}) == 4


@pytest.mark.parametrize(("scenario", "mode"), [*DRAWN, ("leo", "replay")])
def test_first_in_first_out(scenario, mode):
    """Across blocks and in every stratum in modes correlated and replay; mode paper overtakes."""
    if mode == "replay":
        runs = [blocks(*replay(), 3)]
    else:
        recipe = Scenario(scenario, mode)
        runs = [blocks(recipe.world(1), recipe.draw("train", seed), 4) for seed in range(8)]
    overtaken = 0
    for delays, _ in runs:
        assert (delays[delays != LOST] >= 1).all()
        arrivals = delays + np.arange(delays.shape[1]) * SLOT_US
        for path in range(len(delays)):
            overtaken += int((np.diff(arrivals[path][delays[path] != LOST]) < 0).sum())
    assert (overtaken > 0) == ((scenario, mode) == ("wonderproxy", "paper"))


def test_first_in_first_out_counts_slots_that_nobody_used():
    """Slot by slot, as though each were sent: the running maximum of the arrivals, lost slots of a drawn world included."""
    delays, _ = blocks(*replay(), 3)
    raw = series()
    for path in range(3):
        last = -(1 << 60)
        for slot in range(-HISTORY, 3 * BLOCK_SLOTS):
            value = raw[path, HISTORY + slot]
            if value != LOST:
                last = max(last, slot * SLOT_US + value)
            if slot >= 0:
                assert delays[path, slot] == (LOST if value == LOST else last - slot * SLOT_US)


def test_past_the_end_of_a_series_nothing_arrives():
    world, draw = replay(offset=SERIES_SLOTS - 10)
    delays, _ = blocks(world, draw, 2)
    assert (delays[:, :10] != LOST).any() and (delays[:, 10:] == LOST).all()


@pytest.mark.parametrize(("scenario", "mode"), DRAWN)
def test_history_is_made_of_the_slots_before_the_call(scenario, mode):
    recipe = Scenario(scenario, mode)
    draw = recipe.draw("train", 7)
    delays, history = blocks(recipe.world(1), draw, HISTORY_BLOCKS)
    evaluated = delays / 1000.0
    for path in range(recipe.paths):
        n, mean, sd = history[path]
        assert 0 < n <= HISTORY and sd > 0.0
        own = evaluated[path][delays[path] != LOST]
        assert (n, mean, sd) != (own.size, own.mean(), own.std())
        assert abs(mean - own.mean()) < max(120.0, 0.5 * mean)  # the same path, though


def test_replay_history_is_the_segment_before():
    offset = HISTORY + 77
    world, draw = replay(offset)
    raw = series()
    changed = raw.copy()
    changed[:, offset:] += 50_000
    _, history = blocks(world, draw, 1)
    other = replay_world(1, changed[None])
    np.testing.assert_array_equal(other.start(0, draw), history)
    changed[:, offset - HISTORY : offset] += 1_000_000
    assert (replay_world(1, changed[None]).start(0, draw)[:, 1] > history[:, 1] + 500).all()
    n = (raw[:, 77 : 77 + HISTORY] != LOST).sum(axis=1)
    np.testing.assert_array_equal(history[:, 0], n)


def test_paper_draws_have_the_moments_of_their_beta_law():
    recipe = Scenario("wonderproxy", "paper")
    links = load_links("wonderproxy_ten_places")
    for seed in range(4):
        draw = recipe.draw("train", seed)
        delays, _ = blocks(recipe.world(1), draw, 40)
        law = links.link(*draw.pair.split("-")).worst
        direct = delays[0][delays[0] != LOST] / 1000.0
        width, total = law.high_ms - law.low_ms, law.a + law.b
        mean, sd = law.low_ms + width * law.a / total, width * np.sqrt(law.a * law.b / (total + 1.0)) / total
        assert abs(direct.mean() - mean) < 4.5 * sd / np.sqrt(direct.size) + 0.002 * width
        assert abs(direct.std() / sd - 1.0) < 0.04
        assert direct.min() >= law.low_ms - 0.001 and direct.max() <= law.high_ms + 0.001
        assert abs(np.corrcoef(direct[1:], direct[:-1])[0, 1]) < 0.04  # independent from slot to slot


def test_correlated_delays_forget_at_the_declared_rate():
    recipe = Scenario("wonderproxy", "correlated")
    draw = recipe.draw("train", 2, stratum="quiet")
    draw = draw._replace(parameters={**draw.parameters, "shift_every_s": np.inf})
    delays, _ = blocks(recipe.world(1), draw, 80)
    base, log_mean, log_sd = (draw.parameters[name][0] for name in ("base_ms", "log_mean", "log_sd"))
    kept = delays[0] != LOST
    x = np.where(kept, (np.log(np.maximum(delays[0] / 1000.0 - base, 1e-4)) - log_mean) / log_sd, np.nan)
    assert abs(np.nanmean(x)) < 0.15 and abs(np.nanstd(x) - 1.0) < 0.1
    for lag in (1, 5, 20):
        both = kept[lag:] & kept[:-lag]
        assert abs(np.corrcoef(x[lag:][both], x[:-lag][both])[0, 1] - np.exp(-10.0 * lag / TAU_MS)) < 0.05 * np.sqrt(lag)
    first = np.arange(BLOCK_SLOTS, len(x), BLOCK_SLOTS)
    over_borders = first[kept[first] & kept[first - 1]]
    assert np.corrcoef(x[over_borders], x[over_borders - 1])[0, 1] > 0.85  # blocks go on where the last one ended


@pytest.mark.parametrize("name", ["wonderproxy", "table1"])
def test_splits_of_pairs_are_disjoint_and_complete(name):
    recipe = Scenario(name, "paper")
    split = {part: recipe.pairs(part) for part in SPLITS}
    together = [pair for pairs in split.values() for pair in pairs]
    assert len(set(together)) == len(together) == {"wonderproxy": 25, "table1": 12}[name]
    for part in SPLITS:  # every sender and every receiver has its part in each
        for end in (0, 1):
            assert {pair.split("-")[end] for pair in split[part]} == {pair.split("-")[end] for pair in together}


def test_splits_of_series_are_disjoint_in_time(monkeypatch):
    length, packets = 20_000, 500
    long = np.broadcast_to(np.int64(20_000), (len(LEO_SERIES), length)).copy()
    monkeypatch.setattr("vcgym.network.scenarios.paths.leo.measured", lambda data: (long, "card"))
    recipe = Scenario("leo", "replay", packets)
    used = {}
    for part in SPLITS:
        offsets = np.concatenate([recipe.draw(part, seed).parameters["offset"] for seed in range(300)])
        used[part] = (int(offsets.min()) - HISTORY, int(offsets.max()) + packets)
    assert 0 <= used["train"][0] < used["train"][1] <= 12_000 <= used["validation"][0]
    assert used["validation"][1] <= 16_000 <= used["test"][0] < used["test"][1] <= length


@pytest.mark.parametrize(("scenario", "mode"), DRAWN)
def test_the_same_seed_in_another_split_is_another_world(scenario, mode):
    recipe = Scenario(scenario, mode)
    seeds = [recipe.draw(split, seed).seed for split in SPLITS for seed in range(50)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize(("relays", "paths"), [(0, 1), (1, 2), (2, 5), (3, 10), (4, 17), (5, 26)])
def test_number_of_paths(relays, paths):
    """R1: 1, 2, 5, 10, 17, 26."""
    assert len(relay_sequences(relays)) == paths
    links, path_links = links_and_paths(relays)
    assert path_links.shape == (paths, 3) and len(set(links)) == len(links) and path_links.max() == len(links) - 1


def test_sums_of_the_papers_table():
    """R8: Shanghai to Moscow. Direct 280 ms; via Tokyo 90 + 153; via Guangzhou 29 + 245 and its loss."""
    recipe = Scenario("table1", "paper")
    split = next(part for part in SPLITS if "SHA-MOW" in recipe.pairs(part))
    delays, _ = blocks(recipe.world(1), recipe.draw(split, 0, pair="SHA-MOW"), 200)
    by_relay = {"direct": 280.0, "CAN": 29.0 + 245.0, "TYO": 90.0 + 153.0}
    relays = [place.code for place in load_links("table1").places if place.code not in ("SHA", "MOW")]
    for path, sequence in enumerate(relay_sequences(2)[:3]):
        kept = delays[path][delays[path] != LOST] / 1000.0
        name = relays[sequence[0] - 1] if sequence else "direct"
        assert by_relay[name] < kept.min() < kept.mean() < by_relay[name] + 1.5  # a queueing excess of 0.4 ms a link stands above
        if name == "CAN":
            expected = 1.0 - (1.0 - 0.0006) * (1.0 - 0.0068)
            assert round(100.0 * expected, 3) == 0.740
            slots = delays.shape[1]
            assert abs((delays[path] == LOST).mean() - expected) < 4.0 * np.sqrt(expected / slots)
