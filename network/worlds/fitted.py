"""Mode `correlated` of a scenario file: a level, and jitter around it of a varying scale, on each path; FIFO order on each path.

Delay of path p in slot k, before the order is enforced:  level_k + scale_k jitter(z_k).  Level and scale are held, and sampled anew from
their laws with probability 10 ms / held_ms in each slot, as a route or a schedule changes: their autocorrelation is exp(-t / held_ms). z
is an AR(1) process with unit variance and correlation exp(-10 ms / tau) (a Gaussian copula). A law has its values at the normal scores
`SCORES`, is linear in between and constant beyond. No delay exceeds largest_ms: in a short trace the largest jitter, which is rare, does
not meet the largest scale. `vcgym.network.fitting.traces` finds the laws.

Losses: in runs, see `vcgym.network.worlds.losses`. Left out: what paths have in common, bad hours, shifts and events.
Values and z are float32.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import allocating_kernel, kernel
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.worlds.correlated import MAX_TAU_MS
from vcgym.network.worlds.losses import MAX_RUN, is_lost_before, lose
from vcgym.network.worlds.quantiles import draw_row, law_value, normal_table
from vcgym.network.worlds.world import MAX_LINK_US, World, WorldDraw, checked, forget_losses, settle_in_order

SCORES = np.linspace(-4.0, 4.0, 33)
"""Normal scores at which a law is stored; one draw in 16,000 lies beyond."""
SLOT_MS = SLOT_US / 1000.0
MAX_HELD_MS = 86_400_000.0  # a day
MAX_JITTER = 1000.0
"""Largest size of a jitter relative to its scale."""

_MAX_MS = MAX_LINK_US / 1000.0
_NO_TIME_MS = 1e-6  # leaves a persistence of 0
_NORMAL = normal_table().astype(np.float32)
_LOWEST, _PER_UNIT = np.float32(SCORES[0]), np.float32(1.0 / (SCORES[1] - SCORES[0]))
_ZERO, _HALF = np.float32(0.0), np.float32(0.5)
_LEVEL, _SCALE, _JITTER, _LAWS = 0, 1, 2, 3


class FittedRows(NamedTuple):
    """Parameters and running state; first axis: session, second: path."""

    seed: NDArray[np.uint64]
    block: NDArray[np.int64]
    lossless: NDArray[np.bool_]
    laws: NDArray[np.float32]  # (..., _LAWS, SCORES); level and scale in microseconds, jitter without unit
    renewed: NDArray[np.float64]  # (..., 2), chance that level and scale are sampled anew in a slot
    held: NDArray[np.float32]  # (..., 2), level and scale in microseconds
    persistence: NDArray[np.float32]
    fresh: NDArray[np.float32]  # sqrt(1 - persistence^2)
    z: NDArray[np.float32]
    largest_us: NDArray[np.float32]
    loss: NDArray[np.float64]
    loss_run: NDArray[np.float64]  # L
    lost: NDArray[np.int64]  # state of the loss model, 0 or 1
    last_delay_us: NDArray[np.int32]


@kernel
def _key(rows, s, path, law, purpose):
    return rng.stream_key(rows.seed[s], _LAWS * path + law, purpose)


@kernel
def _hold(rows, s, path, law, first_slot, row):
    """Write the level or the scale of a path in one block into `row` (float32)."""
    when, what = _key(rows, s, path, law, rng.SHIFT), _key(rows, s, path, law, rng.QUEUEING)
    chance, now = rows.renewed[s, path, law], rows.held[s, path, law]
    for i in range(row.size):
        if rng.uniform(when, first_slot + i) < chance:
            now = law_value(rows.laws[s, path, law], rng.normal(what, first_slot + i), _LOWEST, _PER_UNIT)
        row[i] = now
    rows.held[s, path, law] = now


@kernel
def _jitter(rows, s, path, first_slot, row):
    """Write the jitter of a path, relative to its scale, in one block into `row` (float32)."""
    draw_row(_NORMAL, _key(rows, s, path, _JITTER, rng.QUEUEING), first_slot, row)
    persistence, fresh, now = rows.persistence[s, path], rows.fresh[s, path], rows.z[s, path]
    law = rows.laws[s, path, _JITTER]
    for i in range(row.size):
        now = persistence * now + fresh * row[i]
        row[i] = law_value(law, now, _LOWEST, _PER_UNIT)
    rows.z[s, path] = now


@kernel
def next_block(rows, s, parts, out):
    """Write the next block of a session and advance the state.

    Args:
        rows: Rows; row `s` is updated.
        s: int64, session.
        parts: float32 (3, BLOCK_SLOTS), scratch: level, scale and jitter.
        out: int32 (paths, BLOCK_SLOTS), overwritten with delays in microseconds, or LOST.
    """
    first_slot = rows.block[s] * BLOCK_SLOTS
    for p in range(out.shape[0]):
        _hold(rows, s, p, _LEVEL, first_slot, parts[_LEVEL])
        _hold(rows, s, p, _SCALE, first_slot, parts[_SCALE])
        _jitter(rows, s, p, first_slot, parts[_JITTER])
        for i in range(BLOCK_SLOTS):
            delay_us = parts[_LEVEL, i] + parts[_SCALE, i] * parts[_JITTER, i]
            out[p, i] = np.int32(min(max(delay_us, _ZERO), rows.largest_us[s, p]) + _HALF)
        if rows.loss[s, p] > 0.0:
            losses = rng.stream_key(rows.seed[s], p, rng.LOSS)
            rows.lost[s, p] = lose(rows.lost[s, p], losses, first_slot, rows.loss[s, p], rows.loss_run[s, p], out[p])
    if rows.lossless[s]:
        forget_losses(out)
    settle_in_order(out, rows.last_delay_us[s])
    rows.block[s] += 1


@allocating_kernel
def _begin(rows, s):
    before = rows.block[s] * BLOCK_SLOTS - 1
    normal = np.empty(1, np.float32)
    for p in range(rows.loss.shape[1]):
        for law in (_LEVEL, _SCALE):
            score = rng.normal(_key(rows, s, p, law, rng.QUEUEING), before)
            rows.held[s, p, law] = law_value(rows.laws[s, p, law], score, _LOWEST, _PER_UNIT)
        draw_row(_NORMAL, _key(rows, s, p, _JITTER, rng.QUEUEING), before, normal)
        rows.z[s, p] = normal[0]
        rows.lost[s, p] = is_lost_before(rng.stream_key(rows.seed[s], p, rng.LOSS), before + 1, rows.loss[s, p])
    rows.last_delay_us[s, :] = 0


@allocating_kernel
def _fill(rows, which, delay_us):
    parts = np.empty((_LAWS, BLOCK_SLOTS), np.float32)
    for s in which:
        next_block(rows, s, parts, delay_us[s])


class FittedWorld(World):
    """Worlds of fitted paths, of `sessions` calls with `paths` paths; see `vcgym.network.worlds.world.World`."""

    def __init__(self, sessions: int, paths: int) -> None:
        super().__init__(sessions, paths)
        each = sessions, paths
        arrays: dict[str, Any] = {
            "seed": np.zeros(sessions, np.uint64), "block": np.zeros(sessions, np.int64), "lossless": np.zeros(sessions, np.bool_),
            "laws": np.zeros((*each, _LAWS, len(SCORES)), np.float32), "renewed": np.zeros((*each, 2)),
            "held": np.zeros((*each, 2), np.float32), "loss": np.zeros(each), "loss_run": np.ones(each),
            "lost": np.zeros(each, np.int64), "last_delay_us": np.zeros(each, np.int32),
        }  # fmt: skip
        arrays |= {name: np.zeros(each, np.float32) for name in ("persistence", "fresh", "z", "largest_us")}
        self.rows = FittedRows(**arrays)

    def _begin(self, row: int, draw: WorldDraw) -> None:
        """Set the parameters of `row`.

        Per path: level_ms, scale_ms and jitter (paths, SCORES), laws; level_held_ms and scale_held_ms, mean times, at least a slot; tau_ms,
        correlation time of the jitter, 0: independent slots; largest_ms; loss and loss_run, see `vcgym.network.worlds.losses`. Per
        world: lossless (default False; True: the same delays, also in slots that are lost).
        """
        rows, given = self.rows, draw.parameters
        rows.seed[row] = draw.seed
        rows.lossless[row] = given.get("lossless", False)
        rows.laws[row, :, _LEVEL] = checked("level_ms", given["level_ms"], 0.0, _MAX_MS) * 1000.0
        rows.laws[row, :, _SCALE] = checked("scale_ms", given["scale_ms"], 0.0, _MAX_MS) * 1000.0
        rows.laws[row, :, _JITTER] = checked("jitter", given["jitter"], -MAX_JITTER, MAX_JITTER)
        for law, name in ((_LEVEL, "level_held_ms"), (_SCALE, "scale_held_ms")):
            rows.renewed[row, :, law] = SLOT_MS / checked(name, given[name], SLOT_MS, MAX_HELD_MS)
        tau_ms = checked("tau_ms", given["tau_ms"], 0.0, MAX_TAU_MS)
        rows.persistence[row] = np.exp(-SLOT_MS / np.maximum(tau_ms, _NO_TIME_MS))
        rows.fresh[row] = np.sqrt(1.0 - rows.persistence[row].astype(float) ** 2)
        rows.largest_us[row] = checked("largest_ms", given["largest_ms"], 0.0, _MAX_MS) * 1000.0
        rows.loss[row] = checked("loss", given["loss"], 0.0, 1.0)
        rows.loss_run[row] = checked("loss_run", given["loss_run"], 1.0, MAX_RUN)
        _begin(rows, row)

    def fill(self, which: NDArray[np.int64]) -> None:
        """Load the next block of each row in `which`."""
        _fill(self.rows, which, self.delay_us)
