"""Worlds of fitted laws against a twin that goes slot by slot in plain Python, and against the laws put in."""

import numpy as np
import pytest

from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.fitted import SCORES, FittedWorld
from vcgym.network.worlds.quantiles import draw_row, normal_table
from vcgym.network.worlds.world import HISTORY_BLOCKS, MAX_LINK_US, MIN_DELAY_US, WorldDraw, blocks

PATHS, BLOCKS, SEED = 2, 3, 11
FIRST = -HISTORY_BLOCKS * BLOCK_SLOTS
LAWS = {
    "level_ms": np.stack([np.linspace(20.0, 60.0, len(SCORES)), np.full(len(SCORES), 5.0)]),
    "scale_ms": np.stack([np.exp(SCORES / 4.0), np.full(len(SCORES), 4.0)]),
    "jitter": np.stack([SCORES, np.exp(SCORES)]),
    "level_held_ms": np.array([2000.0, 10.0]),
    "scale_held_ms": np.array([500.0, 10.0]),
    "tau_ms": np.array([20.0, 0.0]),
    "largest_ms": np.array([70.0, 60_000.0]),
    "loss": np.array([0.0, 0.2]),
    "loss_run": np.array([1.0, 5.0]),
}


def drawn(slots: int = BLOCKS * BLOCK_SLOTS, **changed: object) -> np.ndarray:
    """Return (PATHS, slots) delays in us of one world."""
    world = FittedWorld(1, PATHS)
    world.start(0, WorldDraw("p", "fitted", SEED, LAWS | changed))
    return np.concatenate([*blocks(world, slots)], axis=1)[:, :slots]


def held_values(path: int, law: str, slots: range) -> list[float]:
    """Sample the level or the scale slot by slot: a new value of the law with the chance of one slot in the mean time."""
    stream = 3 * path + ("level_ms", "scale_ms").index(law)
    when, what = (np.uint64(rng.stream_key(np.uint64(SEED), stream, purpose)) for purpose in (rng.SHIFT, rng.QUEUEING))
    chance, found = 10.0 / LAWS[law.replace("_ms", "_held_ms")][path], []
    for slot in (FIRST - 1, *slots):
        if not found or rng.uniform(when, slot) < chance:
            value = np.interp(rng.normal(what, slot), SCORES, LAWS[law][path])
        found.append(value)
    return found[1:]


def twin(path: int) -> list[int]:
    """Sample one path from the written definitions, from the first slot of the history on."""
    slots = range(FIRST, BLOCKS * BLOCK_SLOTS)
    held = [held_values(path, law, slots) for law in ("level_ms", "scale_ms")]
    normals = np.empty(len(slots) + 1, np.float32)
    key = np.uint64(rng.stream_key(np.uint64(SEED), 3 * path + 2, rng.QUEUEING))
    draw_row(normal_table().astype(np.float32), key, FIRST - 1, normals)
    kept = np.exp(-10.0 / LAWS["tau_ms"][path]) if LAWS["tau_ms"][path] else 0.0
    z, jitters = float(normals[0]), []
    for fresh in normals[1:].tolist():
        z = kept * z + np.sqrt(1.0 - kept**2) * fresh
        jitters.append(np.interp(z, SCORES, LAWS["jitter"][path]))
    losses = np.uint64(rng.stream_key(np.uint64(SEED), path, rng.LOSS))
    share, renewed = LAWS["loss"][path], 1.0 / LAWS["loss_run"][path]
    lost, last_us, out = rng.uniform(losses, FIRST - 1) < share, 0.0, []
    for slot, level, scale, jitter in zip(slots, *held, jitters, strict=True):
        u = rng.uniform(losses, slot)
        if u < renewed:
            lost = u < share * renewed
        last_us = max(last_us - SLOT_US, 1000.0 * min(level + scale * jitter, LAWS["largest_ms"][path]), MIN_DELAY_US)
        out.append(LOST if lost else last_us)
    return out[-FIRST:]


@pytest.mark.parametrize("path", range(PATHS))
def test_a_fitted_world_equals_its_twin(path: int) -> None:
    """Within 3 us: values are float32."""
    found, wanted = drawn()[path], np.array(twin(path))
    np.testing.assert_array_equal(found == LOST, wanted == LOST)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=3.0)


def test_margins_and_times_are_those_put_in() -> None:
    """A part alone has its law as margin; a level held for 1 s is correlated as exp(-t / 1 s), jitter as its copula."""
    none = {"loss": np.zeros(PATHS), "level_held_ms": np.array([1000.0, 10.0])}
    still = {"scale_ms": np.zeros((PATHS, len(SCORES)))}
    held, independent = drawn(400_000, level_ms=np.stack([40.0 + SCORES] * 2), **still, **none) / 1000.0
    for ms in (held, independent):
        assert ms.mean() == pytest.approx(40.0, abs=0.1) and ms.std() == pytest.approx(1.0, abs=0.05)
    assert np.abs(np.diff(independent)).mean() == pytest.approx(2.0 / np.sqrt(np.pi), rel=0.01)
    assert (np.diff(held) != 0.0).mean() == pytest.approx(0.01, rel=0.05)
    assert np.corrcoef(held[100:], held[:-100])[0, 1] == pytest.approx(np.exp(-1.0), abs=0.05)
    fixed = {"level_ms": np.full((PATHS, len(SCORES)), 40.0), "scale_ms": np.full((PATHS, len(SCORES)), 2.0)}
    jitter = drawn(400_000, **fixed, **none, jitter=np.stack([SCORES] * 2))[0] / 1000.0
    assert jitter.std() == pytest.approx(2.0, rel=0.02)
    assert np.corrcoef(jitter[2:], jitter[:-2])[0, 1] == pytest.approx(np.exp(-1.0), abs=0.02)


def test_order_limits_and_losses() -> None:
    """Nobody overtakes, delays stay within the limits of a link, losses have their share and runs, and lossless worlds the same delays."""
    wild = {"level_ms": np.full((PATHS, len(SCORES)), 0.0), "scale_ms": np.full((PATHS, len(SCORES)), 59_000.0)}
    played = drawn(2000, **wild, loss=np.zeros(PATHS)).astype(np.int64)
    assert played.min() >= MIN_DELAY_US and played[0].max() == 70_000 and played[1].max() == MAX_LINK_US
    assert (np.diff(played, axis=1) >= -SLOT_US).all()
    long, whole = drawn(100_000)[1], drawn(100_000, lossless=True)[1]
    lost = long == LOST
    assert lost.mean() == pytest.approx(0.2, abs=0.01) and (whole != LOST).all()
    assert lost.sum() / np.count_nonzero(np.diff(lost.astype(int)) == 1) == pytest.approx(5.0 / 0.8, rel=0.05)
    np.testing.assert_array_equal(long[~lost], whole[~lost])


OUT_OF_RANGE = {
    "level_ms": -1.0, "scale_ms": np.nan, "jitter": 1001.0, "tau_ms": 6e4 + 1.0, "level_held_ms": 9.0, "largest_ms": 6e4 + 1.0, "loss": 1.1,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE.items())
def test_a_parameter_out_of_range_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}\[0.*allowed is"):
        drawn(**{name: np.full_like(LAWS[name], value)})
