"""Worlds of regimes against a twin that goes slot by slot in plain Python, and against the laws put in."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.twins.regimes import twin_delays
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST, SLOT_US
from vcgym.network.worlds.events import Event
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.regimes import CELLS, PROBABILITIES, REGIMES, SCORES, RegimeLaws, checked_laws
from vcgym.network.worlds.world import MAX_LINK_US, MIN_DELAY_US, WorldDraw, blocks

SEED, BLOCKS = 11, 3
OWN = np.arange(2)[:, None]
SHARED = np.array([[0, 2], [1, 2]])
STAY = np.eye(REGIMES)
NONE = np.zeros((1, REGIMES))


def tables(seed: int) -> dict[str, Any]:
    """Return the tables of a random law."""
    draws = np.random.default_rng(seed)
    return {
        "change": draws.dirichlet(np.ones(REGIMES), REGIMES),
        "level_ms": np.sort(draws.uniform(10.0, 60.0, (REGIMES, len(SCORES)))),
        "edges_ms": np.sort(draws.uniform(-2.0, 20.0, (REGIMES, CELLS - 1))),
        "excess_ms": np.sort(draws.uniform(-5.0, 30.0, (REGIMES, CELLS, len(SCORES)))),
        "kept": draws.uniform(),
        "held": draws.uniform(0.0, 0.5),
    }


def laws_of(*of_each: dict[str, Any]) -> RegimeLaws:
    return checked_laws(*([one[name] for one in of_each] for name in ("change", "level_ms", "edges_ms", "excess_ms", "kept", "held")))


def drawn(
    laws: RegimeLaws, path_links: np.ndarray, slots: int, seed: int = SEED, events: tuple[Event, ...] = (), **given: Any
) -> np.ndarray:
    """Return (paths, slots) delays in us of one world."""
    world = LinkWorld(laws, 1, path_links, len(events))
    world.start(0, WorldDraw("p", "regimes", seed, {"events": events} | given))
    return np.concatenate([*blocks(world, slots)], axis=1)[:, :slots].astype(np.int64)


@pytest.mark.parametrize("path_links", [OWN, SHARED], ids=["own links", "a link in common"])
def test_a_world_equals_its_twin(path_links: np.ndarray) -> None:
    """Within 3 us a link: values are float32."""
    links = int(path_links.max()) + 1
    given = {
        "law": np.arange(links), "every_slots": np.array([1, 5, 2])[:links], "window_slots": np.array([64, 333, 1000])[:links],
        "base_ms": np.array([0.0, 40.0, 3.0])[:links], "gain": np.array([1.0, 2.5, 0.5])[:links],
        "loss": np.random.default_rng(1).uniform(0.0, 0.1, (links, REGIMES)), "loss_run": np.array([1.0, 6.0, 3.0])[:links],
    }  # fmt: skip
    of_each = [tables(seed) for seed in range(links)]
    found = drawn(laws_of(*of_each), path_links, BLOCKS * BLOCK_SLOTS, **given)
    wanted = twin_delays(of_each, given, path_links, SEED, BLOCKS * BLOCK_SLOTS)
    np.testing.assert_array_equal(found == LOST, wanted == LOST)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=6.0)


def plain(**changed: Any) -> dict[str, Any]:
    """Return the tables of a law without change and jitter, at 40 ms."""
    return {
        "change": STAY, "level_ms": np.full((REGIMES, len(SCORES)), 40.0), "edges_ms": np.zeros((REGIMES, CELLS - 1)),
        "excess_ms": np.zeros((REGIMES, CELLS, len(SCORES))), "kept": 0.0, "held": 0.0,
    } | changed  # fmt: skip


ONE = {"law": 0, "every_slots": 1, "window_slots": 100, "loss": NONE, "loss_run": 1.0}


def test_the_excess_has_the_law_of_its_cell() -> None:
    """Two cells in turn: from below the border it rises to 7 to 9 ms, from above it falls to 0 to 2."""
    up, down = np.linspace(7.0, 9.0, len(SCORES)), np.linspace(0.0, 2.0, len(SCORES))
    excess = np.stack([np.stack([up] + [down] * (CELLS - 1))] * REGIMES)
    edges = np.full((REGIMES, CELLS - 1), 5.0)
    ms = drawn(laws_of(plain(excess_ms=excess, edges_ms=edges)), OWN[:1], 10_000, **ONE)[0] / 1000.0 - 40.0
    high = ms > 5.0
    assert (high[1:] != high[:-1]).all()
    assert ms[high].mean() == pytest.approx(8.0, abs=0.02) and ms[~high].mean() == pytest.approx(1.0, abs=0.02)
    held = drawn(laws_of(plain(excess_ms=excess, edges_ms=edges, held=0.25)), OWN[:1], 100_000, **ONE)[0]
    assert (np.diff(held) == 0).mean() == pytest.approx(0.25, abs=0.01)
    every = drawn(laws_of(plain(excess_ms=excess, edges_ms=edges)), OWN[:1], 10_000, **(ONE | {"every_slots": 7}))[0]
    assert (np.diff(every) != 0).mean() == pytest.approx(1.0 / 7.0, abs=0.001)


def test_regimes_and_levels_last_as_long_as_said() -> None:
    """Regimes that stay with probability 0.8 a window, and levels kept with 0.5; the level of a regime has its law."""
    level = np.stack([np.linspace(1.5 * regime, 1.5 * regime + 1.0, len(SCORES)) for regime in range(REGIMES)])
    change = np.full((REGIMES, REGIMES), 0.2 / (REGIMES - 1))
    np.fill_diagonal(change, 0.8)
    ms = drawn(laws_of(plain(level_ms=level, change=change, kept=0.5)), OWN[:1], 1_000_000, **ONE)[0] / 1000.0
    regime, moved = (ms // 1.5).astype(int), np.diff(ms) != 0.0
    assert (np.diff(regime) != 0).mean() == pytest.approx(0.2 / 100.0, rel=0.1)
    assert moved.mean() == pytest.approx((1.0 - 0.8 * 0.5) / 100.0, rel=0.1)
    assert np.bincount(regime) / len(regime) == pytest.approx(1.0 / REGIMES, abs=0.04)
    low = ms[regime == 0]
    assert np.quantile(low, PROBABILITIES[9:16:3]) == pytest.approx(level[0, 9:16:3], abs=0.05)


def test_losses_go_with_the_regime() -> None:
    level = np.stack([np.full(len(SCORES), 20.0 * regime + 5.0) for regime in range(REGIMES)])
    change = np.full((REGIMES, REGIMES), 1.0 / REGIMES)
    loss = np.linspace(0.0, 0.2, REGIMES)[None]
    laws = laws_of(plain(level_ms=level, change=change))
    given = ONE | {"loss": loss, "loss_run": 4.0, "window_slots": 400}
    played, whole = drawn(laws, OWN[:1], 600_000, **given)[0], drawn(laws, OWN[:1], 600_000, **given, lossless=True)[0]
    regime, lost = whole // 20_000, played == LOST
    np.testing.assert_array_equal(played[~lost], whole[~lost])
    for number in range(REGIMES):
        assert lost[regime == number].mean() == pytest.approx(loss[0, number], abs=0.012)
    runs = np.count_nonzero(np.diff(lost.astype(int)) == 1)
    assert 4.0 < lost.sum() / runs < 5.5


@settings(max_examples=25, deadline=None)
@given(
    law=st.integers(0, 10**6), seed=st.integers(0, 2**63), every=st.integers(1, 40), window=st.integers(1, 2000),
    base_ms=st.floats(0.0, 400.0), gain=st.floats(0.0, 50.0), loss=st.floats(0.0, 0.05),
)  # fmt: skip
def test_every_world_is_in_order_within_limits_and_the_same_again(
    law: int, seed: int, every: int, window: int, base_ms: float, gain: float, loss: float
) -> None:
    given = {"law": 0, "every_slots": every, "window_slots": window, "base_ms": base_ms, "gain": gain,
             "loss": np.full((1, REGIMES), loss), "loss_run": 3.0}  # fmt: skip
    laws = laws_of(tables(law))
    whole, again = (drawn(laws, OWN[:1], 1000, seed, lossless=True, **given)[0] for _ in range(2))
    played = drawn(laws, OWN[:1], 1000, seed, **given)[0]
    np.testing.assert_array_equal(whole, again)
    assert whole.min() >= MIN_DELAY_US and whole.max() <= MAX_LINK_US
    assert (np.diff(whole) >= -SLOT_US).all()
    np.testing.assert_array_equal(played[played != LOST], whole[played != LOST])


def test_an_event_of_a_link_in_common_reaches_every_path() -> None:
    outage = Event(2, 100, 200, loss=1.0)
    given = ONE | {"loss": np.zeros((3, REGIMES))}
    found = drawn(laws_of(plain()), SHARED, 400, events=(outage,), **given)
    np.testing.assert_array_equal(found == LOST, np.tile((np.arange(400) >= 100) & (np.arange(400) < 200), (2, 1)))


WRONG = {"every_slots": 0, "window_slots": 0, "law": 1, "gain": -1.0, "base_ms": np.nan, "loss": 1.5, "loss_run": 0.5}


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_a_parameter_out_of_range_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}.*allowed is"):
        drawn(laws_of(plain()), OWN[:1], 10, **(ONE | {name: value}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("change", np.zeros((REGIMES, REGIMES)), "change has a row that sums to 0.0: allowed is 1"),
        ("level_ms", -np.ones((REGIMES, len(SCORES))), r"level_ms\[0, 0, 0\] = -1.0: allowed is"),
        ("edges_ms", np.tile(np.arange(CELLS - 1)[::-1], (REGIMES, 1)), r"edges_ms\[0\] falls: allowed are values that rise"),
        ("excess_ms", np.zeros((REGIMES, CELLS, 3)), "excess_ms has shape .*: allowed is"),
        ("held", 2.0, r"held\[0\] = 2.0: allowed is"),
    ],
)
def test_a_law_that_is_none_is_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        laws_of(plain(**{name: value}))
