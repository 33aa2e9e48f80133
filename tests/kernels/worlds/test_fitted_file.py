"""A scenario file that does not say a law for each path is refused by its name, never broadcast."""

import json

import pytest

from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError, canonical_sha256

LAW = {"base_ms": 20.0, "log_mean": 0.0, "log_sd": 0.5, "loss": 0.0, "loss_run": 1.0, "tau_ms": 100.0}
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
    assert scenario.draw("train", 1).parameters["base_ms"].tolist() == [20.0, 20.0]
