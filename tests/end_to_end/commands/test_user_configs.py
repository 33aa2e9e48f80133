"""Hydra's own groups, a user's folder of configs, and what a refused command leaves in the user's folders."""

import sys
from typing import ClassVar

import pytest
from hydra.experimental.callback import Callback
from typed import attempt

from vcgym.agents.config.env_arguments import env_defaults
from vcgym.baselines.controls.control import CONTROLS
from vcgym.scripts.console import arguments, command
from vcgym.scripts.console.program import VCGYM

IDS = [f"vcgym/{name}-v1" for name in ("Relay", "Playout", "Call", "Rate", "SendOrder")]
LAUNCHER = """
from dataclasses import dataclass

from hydra.core.config_store import ConfigStore
from hydra.plugins.launcher import Launcher


class Failing(Launcher):
    def setup(self, **_):
        pass

    def launch(self, job_overrides, initial_job_idx):
        raise RuntimeError("no srun here")


@dataclass
class Settings:
    _target_: str = "hydra_plugins.failing.Failing"


ConfigStore.instance().store(group="hydra/launcher", name="failing", node=Settings)
"""


def checked(*words):
    return arguments.check(words[1:], VCGYM.keys(words[0]), VCGYM.yaml(words[0]), VCGYM.conf)


@pytest.fixture
def configs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, text in {
        "env/mine.yaml": "defaults:\n  - relay\n\noptions:\n  interval: 200\n",
        "experiment/small.yaml": "# @package _global_\nsteps: 2048\nnum_envs: 4\n",
    }.items():
        (tmp_path / "conf" / file).parent.mkdir(parents=True)
        (tmp_path / "conf" / file).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        "--config-dir=conf env=mine +experiment=small",
        "--config-dir conf env=mine env.options.interval=50",
        "hydra.searchpath=[conf] env=mine +experiment=small",
        "hydra/launcher=joblib hydra/sweeper=basic hydra/job_logging=none",
    ],
)
def test_hydras_own_and_the_users_groups_pass(configs, typed):
    assert len(checked("train", *typed.split())) == len(typed.split())


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--config-dir=conf env=mime", "env is 'mime'; allowed: call, .*mine"),
        ("--config-dir=conf experiment=small", r"type \+experiment=small"),
        ("--config-dir=conf +experiment=large", "experiment is 'large'; allowed: small"),
        ("--config-dir=conf env=mine env.options.intervall=3", "vcgym/Relay-v.* has no argument 'intervall'"),
        ("--config-dir=cong env=mine", "--config-dir is 'cong'; allowed: a folder that exists"),
        ("hydra/launcher=joblib stepz=3", "stepz is no key of this command"),
        ("+stepz=3", "stepz is no key of this command"),
    ],
)
def test_other_keys_and_choices_are_refused(configs, typed, said):
    with pytest.raises(ValueError, match=said):
        checked("train", *typed.split())


def test_a_multirun_shows_the_config_of_its_first_job(configs):
    answer = attempt(configs, "train", "--config-dir=conf", "env=mine", "+experiment=small", "-m", "seeds=[3],[4]", "--cfg", "job")
    assert answer.returncode == 0, answer.stderr
    assert "num_envs: 4\n" in answer.stdout and "- 3\n" in answer.stdout and "interval: 200" in answer.stdout


def test_a_sweep_over_an_interval_is_left_to_the_sweeper(monkeypatch, configs):
    monkeypatch.setattr(sys, "argv", ["vcgym train", "-m", "algorithm.learning_rate=interval(0.001,0.01)", "hydra.sweep.dir=x"])
    assert command.arguments_for_hydra("train", VCGYM)[:3] == sys.argv[1:]
    command.refuse_links("train")
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--cfg", "job"])
    assert "algorithm.learning_rate=0.001" in command.arguments_for_hydra("train", VCGYM)


class Seen(Callback):
    """Keeps what a job hands to the sweeper."""

    returned: ClassVar[list[float]] = []

    def on_job_end(self, config, job_return, **_):
        self.returned.append(job_return.return_value)


def test_a_sweeper_gets_what_a_training_returns(monkeypatch, configs):
    monkeypatch.setattr(sys, "argv", ["vcgym train", "seeds=[3,4]", f"+hydra.callbacks.seen._target_={__name__}.Seen"])
    command.run(VCGYM, "train", lambda config: -0.5 * len(config.seeds))
    assert Seen.returned == [-1.0]


def test_a_plugin_that_is_not_installed_or_fails_ends_in_one_line(tmp_path):
    answer = attempt(tmp_path, "train", "hydra/launcher=submitit_slurm", "-m", "seeds=[0],[1]")
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1
    assert answer.stderr.startswith("vcgym train: hydra/launcher is 'submitit_slurm'; allowed: ")
    assert answer.stderr.endswith(" and those of installed plugins of hydra\n")
    plugin = tmp_path / "hydra_plugins" / "failing.py"
    plugin.parent.mkdir()
    plugin.write_text(LAUNCHER)
    answer = attempt(tmp_path, "train", "hydra/launcher=failing", "-m", "seeds=[0],[1]")
    assert answer.returncode == 1 and answer.stderr == "vcgym train: no srun here\n"


@pytest.mark.parametrize("form", ["GRD-WM", "folder"])
@pytest.mark.parametrize(("env", "control"), [(env, control) for env in IDS for control in CONTROLS if control in env_defaults(env)])
def test_the_rule_of_a_control_is_given_by_a_name_or_a_folder(tmp_path, monkeypatch, env, control, form):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert checked("train", f"env.id={env}", f"env.options.{control}={form}")[1] == f"env.options.{control}='{form}'"
    with pytest.raises(ValueError, match=f"env.options.{control} is 'NOTHING'; allowed: "):
        checked("train", f"env.id={env}", f"env.options.{control}=NOTHING")


def test_a_refused_command_leaves_the_users_folders(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    for folder in ("empty", "link"):
        answer = attempt(tmp_path, "train", f"folder={folder}", "num_envs=3")
        assert answer.returncode == 1 and "; it must divide num_envs" in answer.stderr
        assert answer.stderr.count("\n") == 1
        assert (tmp_path / "link").is_symlink() and list((tmp_path / "empty").iterdir()) == []
