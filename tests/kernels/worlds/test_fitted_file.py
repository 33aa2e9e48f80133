"""A scenario file that does not say a law for each path, or one out of range, is refused by its name, never broadcast."""

import json
from pathlib import Path

import numpy as np
import pytest

from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError, canonical_sha256
from vcgym.network.traces.catalogue import shipped

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
