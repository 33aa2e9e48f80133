"""Worlds of fitted laws: those of measured series within their declared ranges, and those of a scenario file, refused by its name."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths.measured_like import AS_FITTED, BASE_MS, EVERY_SLOTS, GAIN, LOSS, STRATA, MeasuredLike
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError, canonical_sha256
from vcgym.network.traces.catalogue import shipped
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


LAW = next(iter(json.loads((shipped() / "measured_like.json").read_bytes())["laws"]["satellite"].values()))
CARD = dict.fromkeys(("name", "description", "source", "licence", "units"), "test") | {"kind": "fitted"}


def written(folder, paths, laws):
    body = {"paths": paths, "pairs": laws}
    file = folder / "sent.json"
    file.write_text(json.dumps({"card": CARD | {"sha256": canonical_sha256(body)}} | body))
    return str(file)


@pytest.mark.parametrize("laws", [0, 1, 2, 4])
def test_a_wrong_number_of_laws(tmp_path, laws):
    file = written(tmp_path, ["direct", "a", "b"], {"here-there": [LAW] * 3, "there-here": [LAW] * laws})
    with pytest.raises(DataError, match=rf"sent\.json: number of laws of pair there-here is {laws}; allowed: 3, one per path"):
        Scenario(file, "correlated", 100)


@pytest.mark.parametrize(("paths", "laws", "what"), [([], {"here-there": []}, "paths"), (["direct"], {}, "pairs")])
def test_nothing_at_all(tmp_path, paths, laws, what):
    with pytest.raises(DataError, match=rf"sent\.json: number of {what} is 0; allowed: 1 or more"):
        Scenario(written(tmp_path, paths, laws), "correlated", 100)


def test_a_law_for_each_path(tmp_path):
    scenario = Scenario(written(tmp_path, ["direct", "a"], {"here-there": [LAW] * 2}), "correlated", 100)
    assert scenario.draw("train", 1).parameters["loss_run"].tolist() == [LAW["loss_run"]] * 2
    assert np.isfinite(scenario.world(1).start(0, scenario.draw("train", 1))).all()


OUT_OF_RANGE = [
    ("loss_run", 1e10), ("loss_run", 0.5), ("loss_run", "x"), ("loss_run", None), ("loss_run", 10**400), ("every_slots", 0),
    ("window_slots", 10**12), ("kept", 1.5), ("held", 1.0), ("loss", [0.1]), ("loss", [-0.1] * len(LAW["loss"])), ("change", [[1.0]]),
    ("change", [[2.0, *row[1:]] for row in LAW["change"]]), ("excess_ms", 1), ("level_ms", [[1e6] * 33] * len(LAW["level_ms"])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_a_law_out_of_range_names_the_file_and_the_field(tmp_path, name, value):
    file = written(tmp_path, ["direct"], {"here-there": [LAW | {name: value}]})
    with pytest.raises(DataError, match=rf"sent\.json: content is .*{name}") as refused:
        Scenario(file, "correlated", 100)
    assert "\n" not in str(refused.value) and len(str(refused.value)) <= 300


def test_a_path_twice_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"sent\.json: content is .*paths has 'a' twice; allowed: each name once"):
        Scenario(written(tmp_path, ["direct", "a", "a"], {"here-there": [LAW] * 3}), "correlated", 100)


@pytest.mark.parametrize("older", [{"base_ms": 20.0, "log_mean": 0.0, "tau_ms": 100.0}, {"level_ms": [30.0] * 33, "scale_ms": [1.0] * 33}])
def test_a_file_of_an_older_fit_says_what_to_do(tmp_path, older):
    with pytest.raises(DataError, match=r"sent\.json: content is .*of an older fit; fit anew: vcgym fit") as refused:
        Scenario(written(tmp_path, ["direct"], {"here-there": [older]}), "correlated", 100)
    assert "\n" not in str(refused.value)


def test_a_key_twice_and_a_number_that_is_none_are_refused(tmp_path):
    file = Path(written(tmp_path, ["direct"], {"here-there": [LAW]}))
    text = file.read_text()
    run = f'"loss_run": {LAW["loss_run"]}'
    for other in (text.replace(run, f'{run}, "loss_run": 2.0'), text.replace(run, '"loss_run": NaN')):
        file.write_text(other)
        with pytest.raises(DataError, match=r"sent\.json: content is "):
            Scenario(str(file), "correlated", 100)
