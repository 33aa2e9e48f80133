"""The config of a study that somebody sent names an environment; none of its text is imported. What a control of it may name."""

import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from packaging.requirements import Requirement

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.systems import load_system
from vcgym.baselines.zoo import LEARNED, save_learned
from vcgym.leaderboard.evaluation.participants import study_agents
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.live.call.policies import live_policy

LOADERS = {
    "vcgym call policy=FOLDER": lambda study: live_policy(str(study / "seed-0")),
    "vcgym leaderboard agents.NAME=FOLDER": lambda study: study_agents("mine", study, SUITES["correlated-v0"]),
}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study whose config names a module that can be imported from the working folder."""
    (tmp_path / "sent.py").write_text("from pathlib import Path\n\nPath(__file__).with_name('was_run').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = json.loads(TrainConfig().model_dump_json())
    config["env"]["id"] = "sent:vcgym/Call-v1"
    (tmp_path / "seed-0" / "agent").mkdir(parents=True)
    (tmp_path / "config.json").write_text(json.dumps(config))
    yield tmp_path
    sys.modules.pop("sent", None)


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
def test_a_config_that_was_sent_imports_nothing(load, study):
    with pytest.raises(ValueError, match=r"config\.json .*env\.id is 'sent:vcgym/Call-v1', a module that a file may not import; allowed: "):
        load(study)
    assert not (study / "was_run").exists()


@pytest.mark.parametrize("env_id", [":vcgym/Call-v1", "no.such.module:vcgym/Call-v1", "x" * 100_000])
def test_other_forged_ids_are_refused_in_one_short_line(env_id):
    with pytest.raises(ValueError, match=r"allowed: the id of a registered|is not a registered environment") as caught:
        EnvConfig.model_validate_json(json.dumps({"id": env_id}))
    assert len(caught.value.errors()[0]["msg"]) < 300


def test_what_the_user_typed_or_has_imported_is_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "imported_by_the_user", ModuleType("imported_by_the_user"))
    config = EnvConfig(id="imported_by_the_user:vcgym/Call-v1")
    assert EnvConfig.model_validate_json(config.model_dump_json()) == config


def test_no_hydra_is_allowed_whose_list_of_refused_targets_can_be_changed_or_bypassed():
    """1.3.4 has the first list, 1.3.6 knows other names of its members, 1.3.7 keeps configs from changing it (CVE-2026-106439)."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found = [Requirement(one).specifier for extra in project.values() for one in extra if one.startswith("hydra-core")]
    assert found and all("1.3.8" in allowed and "1.3.7" not in allowed for allowed in found)


def test_a_control_may_have_the_rule_of_a_system(tmp_path):
    """By its name, or by the folder of its training; what is neither, or has no such rule, is refused in one line."""
    shipped = load_system("learned-rl")
    save_learned(tmp_path, LEARNED, {"path": Direct(), "playout": shipped.playout}, {"budget": {"packets": 1}}, "Learned", "a test")
    found = EnvConfig(id="vcgym/Call-v1", options={"path": str(tmp_path), "playout": "learned-rl"}).options
    assert found["path"] == Direct() and all(map(np.array_equal, found["playout"], shipped.playout))
    again = EnvConfig.model_validate_json(EnvConfig(id="vcgym/Call-v1", options={"path": "learned-rl"}).model_dump_json())
    assert np.array_equal(again.options["path"].first, shipped.path.first)
    refused = {
        "NOBODY": "allowed are the name of a system, the class of a rule and the folder of a learned one",
        "SBPN2": "that system has rate, order",
    }
    for written, why in refused.items():
        with pytest.raises(ValueError, match=f"path = '{written}': {why}"):
            EnvConfig(id="vcgym/Call-v1", options={"path": written})
