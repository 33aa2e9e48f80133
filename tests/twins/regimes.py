"""A slow twin of `vcgym.network.worlds.regimes`: one link, one slot at a time, from the written definitions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.quantiles import draw_row, normal_table
from vcgym.network.worlds.regimes import CELLS, REGIMES, SCORES
from vcgym.network.worlds.world import HISTORY_BLOCKS, MAX_LINK_US, MIN_DELAY_US

FIRST = -HISTORY_BLOCKS * BLOCK_SLOTS
_PURPOSES = (rng.SHIFT, rng.QUEUEING, rng.HOLD, rng.LOSS)


def twin_link(law: dict[str, Any], given: dict[str, Any], link: int, seed: int, slots: int) -> tuple[list[float], list[bool]]:
    """Return delays in microseconds, before the order, and losses of a link, from the first slot of the history on."""
    shift, queueing, hold, losses = (np.uint64(rng.stream_key(np.uint64(seed), link, purpose)) for purpose in _PURPOSES)
    normals = np.empty(slots - FIRST, np.float32)
    draw_row(normal_table().astype(np.float32), queueing, FIRST, normals)
    before, every, window = FIRST - 1, int(given["every_slots"][link]), int(given["window_slots"][link])
    regime = int(rng.uniform(shift, 3 * before) * REGIMES)
    phase = rng.uniform(shift, 3 * before + 1)
    score = rng.normal(shift, 3 * before + 2)
    excess = law["excess_ms"][regime][CELLS // 2][len(SCORES) // 2]
    lost = rng.uniform(losses, before) < given["loss"][link][regime]
    next_window, next_value = FIRST + int(phase * window), FIRST + int(phase * every)
    delays, losts = [], []
    for slot in range(FIRST, slots):
        if slot == next_window:
            next_window += window
            chances = np.cumsum(law["change"][regime])
            regime = min(int(np.searchsorted(chances, rng.uniform(shift, 3 * slot), "right")), REGIMES - 1)
            if rng.uniform(shift, 3 * slot + 1) >= law["kept"]:
                score = rng.normal(shift, 3 * slot + 2)
        if slot == next_value:
            next_value += every
            if rng.uniform(hold, slot) >= law["held"]:
                cell = np.searchsorted(law["edges_ms"][regime], excess, "right")
                excess = np.interp(normals[slot - FIRST], SCORES, law["excess_ms"][regime][cell])
        level = np.interp(score, SCORES, law["level_ms"][regime])
        us = 1000.0 * (given["base_ms"][link] + given["gain"][link] * (level + excess))
        delays.append(min(max(us, 0.0), MAX_LINK_US))
        u, renewed, share = rng.uniform(losses, slot), 1.0 / given["loss_run"][link], given["loss"][link][regime]
        if u < renewed:
            lost = u < share * renewed
        losts.append(bool(lost))
    return delays, losts


def twin_delays(laws: Sequence[dict[str, Any]], given: dict[str, Any], path_links: np.ndarray, seed: int, slots: int) -> np.ndarray:
    """Return (paths, slots) delays in microseconds or LOST: links summed, and nobody overtaken."""
    links = [twin_link(laws[link], given, link, seed, slots) for link in range(len(laws))]
    paths = []
    for of_path in path_links:
        last, row = 0.0, []
        for slot in range(slots - FIRST):
            last = max(last - SLOT_US, sum(links[link][0][slot] for link in of_path), MIN_DELAY_US)
            row.append(LOST if any(links[link][1][slot] for link in of_path) else last)
        paths.append(row[-FIRST:])
    return np.array(paths)
