"""Worlds: a function of only (world, seed, slot), alone, together, sampled in advance, in threads and without the compiler."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typed import output_of

from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.traces.cards import load_links
from vcgym.network.worlds.links import links_and_paths, relay_sequences
from vcgym.network.worlds.replay import replay_world
from vcgym.network.worlds.world import HISTORY_BLOCKS, DrawnWorld, WorldDraw

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


def started(mode, sessions=4):
    scenario = Scenario("wonderproxy", mode)
    world = scenario.world(sessions)
    draws = [scenario.draw("train", seed) for seed in range(sessions)]
    histories = [world.start(row, draw) for row, draw in enumerate(draws)]
    return world, draws, histories


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_a_drawn_world_shows_the_same_blocks_again_and_again(mode):
    rows = np.arange(4)
    plain, _, _ = started(mode)
    blocks = [plain.delay_us.copy()]
    for _ in range(2):
        plain.fill(rows)
        blocks.append(plain.delay_us.copy())
    world, draws, histories = started(mode)
    drawn = DrawnWorld(world, rows, 3)
    for _ in range(2):
        for row, draw in enumerate(draws):
            np.testing.assert_array_equal(drawn.start(row, draw), histories[row])
        np.testing.assert_array_equal(drawn.loaded, blocks)
        np.testing.assert_array_equal(drawn.delay_us, blocks[0])
    with pytest.raises(ValueError, match="block = 3: allowed is 0 to 2"):
        drawn.fill(rows)


@pytest.mark.parametrize("mode", ["paper", "correlated"])
def test_threads_do_not_show(mode):
    one, _, _ = started(mode, sessions=8)
    several, _, _ = started(mode, sessions=8)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            one.fill(np.arange(8))
            list(pool.map(several.fill, [np.array([row]) for row in (7, 3, 0, 1, 2, 6, 5, 4)]))
            np.testing.assert_array_equal(several.delay_us, one.delay_us)


BYTES = """
import hashlib
import numpy as np
from vcgym.network.worlds.quantiles import lognormal_table
from vcgym.network.worlds.world import WorldDraw
from vcgym.network.worlds.correlated import Correlated
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.paper import Paper

layout = np.array([[0, -1, -1], [1, 2, -1], [1, 0, 2]])
paper = {"quantiles_ms": np.tile(lognormal_table(100.0, 3.0, 0.5), (3, 1)), "loss": 0.05}
correlated = {
    "base_ms": 50.0, "log_mean": 1.0, "log_sd": 0.5, "loss": 0.1, "loss_run": 5.0,
    "bad_from": -9999, "bad_to": np.array([9999, 300, -9999]), "tau_ms": 200.0, "shift_every_s": 10.0, "skew_ppm": 50.0,
    "events": [Event(0, 5, 300, add_ms=30_000.0, hold=True), Event(1, 100, 900, slope_ms_per_s=10.0, loss=0.5)],
}
for world, parameters in ((LinkWorld(Paper(), 1, layout), paper), (LinkWorld(Correlated(), 1, layout, events=2), correlated)):
    history = world.start(0, WorldDraw("a-b", "made", 2**64 - 1, parameters))
    world.fill(np.array([0]))
    print(hashlib.sha256(history.tobytes() + world.delay_us.tobytes()).hexdigest())
"""


def test_the_compiler_does_not_show():
    """Plain Python, the same bytes."""
    seen = [output_of(BYTES, NUMBA_DISABLE_JIT=off).split() for off in "01"]
    assert seen[0] == seen[1] and len(set(seen[0])) == 2
