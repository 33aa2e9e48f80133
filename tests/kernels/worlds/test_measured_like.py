"""Worlds like the measured ones: within the declared ranges, independent but for what is shared, and refused outside."""

from functools import partial

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.measured_like import AS_FITTED, BASE_MS, EVERY_SLOTS, GAIN, LOSS, STRATA, MeasuredLike
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import MAX_LINK_US, MIN_DELAY_US, WorldDraw, blocks

PACKETS = 3000


def played(scenario: Scenario, draw: WorldDraw) -> np.ndarray:
    """Return (paths, packets) of a world in us, or LOST."""
    world = scenario.world(1)
    world.start(0, draw)
    return np.concatenate([*blocks(world, scenario.packets)], axis=1)[:, : scenario.packets].astype(np.int64)


@pytest.mark.parametrize("paths", [1, 5, 30])
@pytest.mark.parametrize("stratum", STRATA)
def test_every_kind_plays_within_its_ranges_and_the_same_again(paths: int, stratum: str) -> None:
    scenario = Scenario(partial(MeasuredLike, paths=paths), "correlated", 500)
    for seed in range(5):
        draw = scenario.draw("train", seed, stratum=stratum)
        given, found = draw.parameters, played(scenario, draw)
        np.testing.assert_array_equal(found, played(scenario, scenario.draw("train", seed, stratum=stratum)))
        arrived = found[found != LOST]
        assert found.shape == (paths, 500) and arrived.min() >= MIN_DELAY_US and arrived.max() <= MAX_LINK_US
        if stratum not in AS_FITTED:
            for name, (low, high) in {"base_ms": BASE_MS, "gain": GAIN, "every_slots": EVERY_SLOTS}.items():
                assert (given[name][:-1] >= low).all() and (given[name][:-1] <= high).all(), name
            assert (given["loss"].max() > 0.0) == (stratum == "lossy")
        assert given["base_ms"][-1] == 0.0 and (given["gain"][-1] > 0.0) == (stratum == "shared")


def test_losses_have_the_share_that_was_drawn() -> None:
    scenario = Scenario("measured-like-100", "correlated", PACKETS)
    shares, wanted = [], []
    for seed in range(3):
        draw = scenario.draw("train", seed, stratum="lossy")
        shares.append((played(scenario, draw) == LOST).mean())
        wanted.append(draw.parameters["loss"][:-1].mean())
        of_link = draw.parameters["loss"][:-1].mean(axis=1)
        assert of_link.min() >= LOSS[0] and of_link.max() <= LOSS[1]
    np.testing.assert_allclose(shares, wanted, rtol=0.3)


def between(found: np.ndarray) -> float:
    """Return the correlation of two paths."""
    return float(np.corrcoef(found)[0, 1])


def test_an_access_in_common_makes_paths_alike() -> None:
    """Over 20 worlds the correlation of two paths is far above that of worlds without one."""
    scenario = Scenario("measured-like-2", "correlated", PACKETS)
    shared, wide = (
        np.mean([between(played(scenario, scenario.draw("train", seed, stratum=stratum))) for seed in range(20)])
        for stratum in ("shared", "wide")
    )
    assert shared > 0.25 and abs(wide) < 0.1


def test_an_outage_of_all_is_on_every_path_at_once() -> None:
    scenario, lossy = Scenario("measured-like-5", "correlated", PACKETS), 0
    for seed in range(40):
        draw = scenario.draw("train", seed, stratum="outages")
        events, lost = draw.parameters["events"], played(scenario, draw) == LOST
        for event in events:
            hit = lost[:, event.from_slot : event.to_slot]
            if event.loss == 1.0:
                assert (hit.all(axis=1) == ((np.arange(5) == event.link) | (event.link == 5))).all()
                lossy += 1
    assert lossy > 20


def test_a_wrong_number_of_paths_and_other_runs_of_losses_are_refused() -> None:
    with pytest.raises(ValueError, match=r"paths = 0: allowed"):
        Scenario(partial(MeasuredLike, paths=0), "correlated", PACKETS)
    with pytest.raises(ValueError, match=r"loss_run_slots = 3.0: allowed is 1"):
        Scenario("measured-like-5", "correlated", PACKETS, loss_run_slots=3.0)
