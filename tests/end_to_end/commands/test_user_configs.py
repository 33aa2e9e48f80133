"""Hydra's own groups, a user's folder of configs, and what a refused command leaves in the user's folders."""

import subprocess
import sys

import pytest

from vcgym.agents.config.env import env_defaults
from vcgym.baselines.controls.control import CONTROLS
from vcgym.scripts.console import arguments
from vcgym.scripts.console.program import VCGYM
from vcgym.scripts.console.usage import keys_of, usage

IDS = [f"vcgym/{name}-v1" for name in ("Relay", "Playout", "Call", "Rate", "SendOrder")]


def run(*words, cwd):
    command = [sys.executable, "-m", "vcgym.scripts.console.program", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def checked(*words):
    return arguments.check(words[1:], words[0], VCGYM.modules[words[0]], VCGYM.conf)


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
    answer = run("train", "--config-dir=conf", "env=mine", "+experiment=small", "-m", "seeds=[3],[4]", "--cfg", "job", cwd=configs)
    assert answer.returncode == 0, answer.stderr
    assert "num_envs: 4\n" in answer.stdout and "- 3\n" in answer.stdout and "interval: 200" in answer.stdout


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
        answer = run("train", f"folder={folder}", "num_envs=3", cwd=tmp_path)
        assert answer.returncode == 1 and "; it must divide num_envs" in answer.stderr
        assert answer.stderr.count("\n") == 1
        assert (tmp_path / "link").is_symlink() and list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("name", VCGYM.modules)
def test_help_lists_no_key_below_a_list(name):
    lists = [key.name for key in keys_of(name, VCGYM.modules[name], VCGYM.conf, deep=True) if key.allowed.startswith("list of")]
    text = usage(name, VCGYM.modules[name], VCGYM.conf, VCGYM.title(name))
    assert not [one for one in lists if f"  {one}." in text]
