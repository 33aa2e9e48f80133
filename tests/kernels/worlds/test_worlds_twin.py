"""World kernels against a twin that goes slot by slot in plain Python, for random parameters.

The twin samples by the written definitions: SplitMix64 on Python's integers, a table read through logarithms, bursts and losses slot by
slot, arrivals as absolute times. Results are equal bit for bit, except the queueing, 2^y: there within 1 us per link and 2^-21 of it.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.bad_hours import (
    DRAIN_US_PER_SLOT,
    FAST_SHARE,
    LEVEL_LOG_SD,
    LOSS_OFF,
    LOSS_ON,
    OFF_MEAN_S,
    ON_MAX_S,
    ON_MIN_S,
    RISE_MAX_S,
    RISE_MIN_S,
)
from vcgym.network.worlds.correlated import BLOCK_S, Correlated
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper
from vcgym.network.worlds.quantiles import CELLS, OCTAVES, PROBABILITIES, TABLE_POINTS, normal_table
from vcgym.network.worlds.world import HISTORY_BLOCKS, MAX_LINK_US, WorldDraw

FIRST = -HISTORY_BLOCKS * BLOCK_SLOTS
BLOCKS = 2
SLOTS = range(FIRST, BLOCKS * BLOCK_SLOTS)
NORMAL = normal_table().astype(np.float32)
F = np.float32
_WORD = (1 << 64) - 1


def mixed(bits):
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _WORD
    return bits ^ bits >> 31


def bits64(key, counter):
    return mixed(int(key) + counter * 0x9E3779B97F4A7C15 & _WORD)


def uniform(key, counter):
    return (bits64(key, counter) >> 11) / 2**53


def key_of(seed, link, purpose):
    return int(rng.stream_key(np.uint64(seed), link, purpose))


def from_table(table, key, slot):
    """t = 2 p + 2^-16 up to the median, mirrored above it; octaves of 32 equal cells; float32 throughout."""
    bits = bits64(key, slot) >> 32
    upper, magnitude = divmod(bits, 1 << 31)
    t = float(F(F(magnitude) + F(2.0 ** (31 - OCTAVES)))) / 2.0 ** (31 - OCTAVES)  # 1 is the first point
    octave = math.floor(math.log2(t))
    cell, within = divmod((t / 2.0**octave - 1.0) * CELLS, 1.0)
    place = int(upper * TABLE_POINTS // 2 + octave * CELLS + cell)
    return F(table[place] + F(F(table[place + 1] - table[place]) * F(within)))


def rounded(value):
    return int(F(value) + F(0.5))


class Loss:
    """Gilbert-Elliott: the state is drawn anew with probability 1 / run."""

    def __init__(self, key, share, run):
        self.key, self.run = key, run
        self.lost = uniform(key, FIRST - 1) < share

    def at(self, slot, share):
        if uniform(self.key, slot) < 1.0 / self.run:
            self.lost = uniform(self.key, slot) < share * (1.0 / self.run)
        return self.lost


class Burst:
    """Phases of a bad link, one after the other, and the queue they build up."""

    def __init__(self, key, median_ms):
        self.key, self.median_ms, self.number, self.on, self.until = key, median_ms, 0, False, FIRST
        self.level = self.rise = self.queue = 0

    def at(self, slot, bad):
        """Queue in us and loss probability (None where the link is not bad)."""
        if bad and slot >= self.until:
            self.begin(slot)
        if bad and self.on:
            self.queue = min(self.level, self.queue + self.rise)
        else:
            self.queue = max(0, self.queue - DRAIN_US_PER_SLOT)
        return self.queue, (LOSS_ON if self.on else LOSS_OFF) if bad else None

    def begin(self, slot):
        draw = [uniform(self.key, 4 * self.number + i) for i in range(4)]
        mean_on = (ON_MIN_S + ON_MAX_S) / 2.0
        self.on = draw[3] < mean_on / (mean_on + OFF_MEAN_S) if self.number == 0 else not self.on
        if self.on:
            length_s = ON_MIN_S + (ON_MAX_S - ON_MIN_S) * draw[0]
            level_us = 1000.0 * self.median_ms * math.exp(LEVEL_LOG_SD * rng.normal_quantile(draw[1] + 2.0**-54))
            self.level = int(level_us)
            self.rise = int(level_us / ((RISE_MIN_S + (RISE_MAX_S - RISE_MIN_S) * draw[2]) * 100.0)) + 1
        else:
            length_s = -OFF_MEAN_S * math.log(1.0 - draw[0])
        self.number += 1
        self.until = slot + max(1, int(length_s * 100.0))


def levels(seed, link, chance, size):
    """Level of the base in each slot."""
    key, level, out = key_of(seed, link, rng.SHIFT), 1.0, {}
    for block in range(-HISTORY_BLOCKS, BLOCKS):
        new = 1.0 + size * (2.0 * uniform(key, 3 * block + 2) - 1.0)
        at = int(uniform(key, 3 * block + 1) * BLOCK_SLOTS) if uniform(key, 3 * block) < chance else None
        for i in range(BLOCK_SLOTS):
            level = new if i == at else level
            out[block * BLOCK_SLOTS + i] = level
    return out


def correlated_link(seed, link, given, events):
    """Delay and loss of each slot of one link."""
    noise = key_of(seed, link, rng.QUEUEING)
    kept = F(math.exp(-10.0 / given["tau_ms"])) if given["tau_ms"] else F(0.0)
    fresh = F(math.sqrt(1.0 - float(kept) ** 2))
    x = from_table(NORMAL, noise, FIRST - 1)
    burst = Burst(key_of(seed, link, rng.BURST), given["bad_level_ms"][link])
    loss = Loss(key_of(seed, link, rng.LOSS), given["loss"][link], given["loss_run"])
    level = levels(seed, link, BLOCK_S / given["shift_every_s"], given["shift_size"])
    log2_mean = F((given["log_mean"][link] + math.log(1000.0)) / math.log(2.0))
    log2_sd = F(given["log_sd"][link] / math.log(2.0))
    rows = []
    for slot in SLOTS:
        x = F(F(kept * x) + F(fresh * from_table(NORMAL, noise, slot)))
        queueing = 2.0 ** float(min(max(F(log2_mean + F(log2_sd * x)), F(-20.0)), F(21.0)))
        delay = min(int(given["base_ms"][link] * level[slot] * 1000.0 + 0.5) + int(queueing + 0.5), MAX_LINK_US)
        queue, chance = burst.at(slot, given["bad_from"][link] <= slot < given["bad_to"][link])
        if queue > 0:
            delay = min(delay + rounded(F(queue) * (F(1.0) + F(FAST_SHARE) * max(F(-1.0), min(F(1.0), x)))), MAX_LINK_US)
        lost = loss.at(slot, given["loss"][link] if chance is None else chance)
        for event in events:
            if event.link == link and event.from_slot <= slot < event.to_slot:
                lost = lost or uniform(key_of(seed, link, rng.EVENT), slot) < event.loss
                added_ms = event.add_ms + event.slope_ms_per_s * ((slot - event.from_slot) * 0.01)
                delay = max(delay + math.floor(min(max(added_ms, -60_000.0), 60_000.0) * 1000.0 + 0.5), 0)
                if event.hold:
                    delay = max(delay, (event.to_slot - slot) * SLOT_US)
                delay = min(delay, MAX_LINK_US)
        rows.append((delay, lost))
    return rows


def paths_of(links, path_links, skew_ppm, fifo):
    """Delays (paths, slots) from those of the links, by absolute times of arrival."""
    out = np.full((len(path_links), len(SLOTS)), LOST)
    for path, hops in enumerate(path_links):
        last = -math.inf
        for i, slot in enumerate(SLOTS):
            total = sum(links[hop][i][0] for hop in hops if hop >= 0)
            if skew_ppm:
                total += math.floor(slot * (skew_ppm * 0.01))
            arrival = slot * SLOT_US + max(total, 1)
            last = max(last, arrival) if fifo else arrival
            if not any(links[hop][i][1] for hop in hops if hop >= 0):
                out[path, i] = last - slot * SLOT_US
    return out


def played(world, draw):
    """Delays (paths, slots) of the history and BLOCKS blocks; the history is what a world shows that starts earlier."""
    world.rows.block[0] = -HISTORY_BLOCKS
    world._begin(0, draw)
    parts = []
    for _ in range(HISTORY_BLOCKS + BLOCKS):
        world.fill(np.array([0]))
        parts.append(world.delay_us[0].astype(np.int64))
    return np.concatenate(parts, axis=1)


LINKS = 3
LAYOUT = np.array([[0, -1, -1], [1, 2, -1], [1, 0, 2]])
seeds = st.integers(0, 2**64 - 1)
slots = st.integers(FIRST - 50, BLOCKS * BLOCK_SLOTS + 50)


def each(elements):
    return st.lists(elements, min_size=LINKS, max_size=LINKS).map(np.array)


@st.composite
def event(draw):
    begin, length = draw(slots), draw(st.integers(1, 1500))
    return Event(
        draw(st.integers(0, LINKS - 1)),
        begin,
        begin + length,
        draw(st.sampled_from([0.0, -40.0, 0.7, 30_000.0, 60_000.0])),
        draw(st.sampled_from([0.0, 12.5, -300.0, 60_000.0])),
        draw(st.sampled_from([0.0, 0.3, 1.0])),
        draw(st.booleans()),
    )


@st.composite
def worlds(draw, with_queueing):
    hour = draw(each(st.tuples(slots, slots)))
    parameters = {
        "base_ms": draw(each(st.floats(0.0, 900.0) | st.sampled_from([0.0, 59_999.0]))),
        "log_mean": draw(each(st.floats(-5.0, 8.0))) if with_queueing else np.full(LINKS, -math.inf),
        "log_sd": draw(each(st.floats(0.0, 2.5))),
        "loss": draw(each(st.sampled_from([0.0, 0.01, 0.3, 1.0]))),
        "loss_run": draw(st.sampled_from([1.0, 2.0, 17.5])),
        "bad_from": hour[:, 0],
        "bad_to": hour[:, 1],
        "bad_level_ms": draw(each(st.sampled_from([0.0, 77.5, 900.0]))),
        "tau_ms": draw(st.sampled_from([0.0, 50.0, 200.0, 1000.0])),
        "shift_every_s": draw(st.sampled_from([BLOCK_S, 10.0, 3600.0, math.inf])),
        "shift_size": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "skew_ppm": draw(st.sampled_from([0.0, 37.5, -1000.0])),
        "events": draw(st.lists(event(), max_size=4)),
    }
    return WorldDraw("a-b", "made", draw(seeds), parameters)


def correlated(drawn):
    given = drawn.parameters
    links = [correlated_link(drawn.seed, link, given, given["events"]) for link in range(LINKS)]
    return paths_of(links, LAYOUT, given["skew_ppm"], fifo=True), played(LinkWorld(Correlated(), 1, LAYOUT, events=4), drawn)


@settings(max_examples=25)
@given(worlds(with_queueing=False))
def test_a_correlated_world_equals_its_twin(drawn):
    twin, fast = correlated(drawn)
    np.testing.assert_array_equal(fast, twin)


@settings(max_examples=25)
@given(worlds(with_queueing=True))
def test_a_correlated_world_with_queueing_equals_its_twin(drawn):
    twin, fast = correlated(drawn)
    np.testing.assert_array_equal(fast == LOST, twin == LOST)
    # A wrong last bit of 2^y also moves where it is cut at a half, so each link may be 1 us off.
    assert (np.abs(fast - twin) <= 3 + twin * 2.0**-21).all()


@settings(max_examples=25)
@given(
    seeds, each(st.sampled_from([0.0, 0.004, 0.5, 1.0])), each(st.tuples(st.floats(0.0, 20_000.0), st.floats(0.0, 20_000.0))),
    st.sampled_from([0.2, 1.0, 9.0]), st.sampled_from([1.0, 3.0, 17.5]),
)  # fmt: skip
def test_a_paper_world_equals_its_twin(seed, loss, law, power, run):
    tables = law[:, :1] + law[:, 1:] * PROBABILITIES**power
    world = LinkWorld(Paper(), 1, LAYOUT)
    fast = played(world, WorldDraw("a-b", "made", seed, {"quantiles_ms": tables, "loss": loss, "loss_run": run}))
    table_us = (1000.0 * tables).astype(np.float32)
    links = []
    for link in range(LINKS):
        draws, losses = key_of(seed, link, rng.QUEUEING), Loss(key_of(seed, link, rng.LOSS), loss[link], run)
        links.append([(rounded(from_table(table_us[link], draws, slot)), losses.at(slot, loss[link])) for slot in SLOTS])
    np.testing.assert_array_equal(fast, paths_of(links, LAYOUT, 0.0, fifo=False))


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_draws_are_those_of_splitmix64(seed):
    key = np.uint64(rng.stream_key(np.uint64(seed), 3, rng.LOSS))
    for counter in (-(10**12), -1, 0, 1, 10**12):
        assert int(rng.bits32(key, counter)) % 2**32 == bits64(key, counter) >> 32
        assert rng.uniform(key, counter) == uniform(key, counter)
