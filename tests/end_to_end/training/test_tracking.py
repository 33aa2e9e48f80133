"""Every seed is a run nested in its study, and two studies may create the database at the same time."""

import importlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from mlflow.exceptions import MlflowException
from tracked import answer_of, runs_of

from vcgym.agents.config.algorithms import LibraryConfig
from vcgym.agents.config.base import DataConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own
from vcgym.agents.published.export import load_agent, read_card
from vcgym.agents.tracking import registry, tracking
from vcgym.agents.tracking.tracking import UNSENT, Tracking
from vcgym.agents.training.study import run_study
from vcgym.network.traces.cards import load_links

HERE = Path(__file__).parent
CART = {"id": "cart:test/Cart-v0"}
PLAYOUT = {"id": "vcgym/Playout-v1", "options": {"packets": 60}}
OF_PLAYOUT, OF_CART = "packets 60, n_steps 16, batch_size 32, ..., ", "n_steps 16, batch_size 32, n_epochs 1, ..., "
"""What the names of runs say of the settings that differ from the defaults."""
STUDY = """
import json, sys
from pathlib import Path
from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.training.study import run_study
run_study(TrainConfig(
    study=sys.argv[1], env=EnvConfig(**json.loads(sys.argv[3])), algorithm=PPOConfig(n_steps=16, batch_size=32, n_epochs=1, hidden=8),
    num_envs=4, steps=128, seeds=[int(seed) for seed in sys.argv[2].split(",")], evaluate_every=1, evaluation_episodes=3, device="cpu",
    folder=Path(sys.argv[1]), resume=True))
"""


def start(cwd, name, seeds, env=CART):
    inherited = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    search = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = inherited | {"PYTHONPATH": search}
    command = [sys.executable, "-c", STUDY, name, seeds, json.dumps(env)]
    return subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*processes):
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors


@pytest.fixture(scope="module")
def cwd(tmp_path_factory):
    """Two studies, started at once where there is no database yet."""
    cwd = tmp_path_factory.mktemp("studies")
    finish(start(cwd, "one", "0", PLAYOUT), start(cwd, "two", "1,2"))
    return cwd


@pytest.fixture
def own_environment(monkeypatch):
    """A config file imports no module, so whoever reads one with an environment of his own has imported it."""
    monkeypatch.syspath_prepend(HERE)
    importlib.import_module("cart")


def fails(*arguments, **named):
    raise MlflowException("gone")


def test_a_kill_while_the_database_is_created_does_not_spoil_it(tmp_path):
    draft, database = tmp_path / "outputs" / ".mlflow.db.draft", tmp_path / "outputs" / "mlflow.db"
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    process = subprocess.Popen(
        [sys.executable, "-c", "from vcgym.agents.tracking.tracking import Tracking; Tracking()"], cwd=tmp_path, env=environment
    )
    while not (draft.exists() and draft.stat().st_size > 20_000):  # some of its tables are there
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert not database.exists()
    assert Tracking(f"sqlite:///{database}").experiment_id


def test_both_of_two_first_studies_are_logged(cwd):
    _, found = runs_of(cwd)
    names = {run.info.run_name: run for run in found}
    parents = {"one": f"{OF_PLAYOUT}Playout-v1 PPO: one", "two": f"{OF_CART}Cart-v0 PPO: two"}
    seeds = {f"{OF_PLAYOUT}seed 0", *(f"{OF_CART}seed {seed}" for seed in (1, 2))}
    assert names.keys() == {*parents.values(), *seeds}
    assert {run.info.status for run in found} == {"FINISHED"}
    for name, run in names.items():
        tags = run.data.tags
        assert tags.get("mlflow.parentRunId") == (names[parents[tags["study"]]].info.run_id if "seed" in name else None)
        assert tags["data_hash"] == (load_links("wonderproxy_ten_places").card.sha256 if tags["study"] == "one" else "")
        assert tags["mlflow.source.git.commit"] and tags["mlflow.source.type"] == "LOCAL" and tags["algorithm"] == "PPO"
        assert tags.get("seed") == (name.rpartition(" ")[2] if "seed" in name else None)


def test_a_run_names_the_worlds_it_learned_from(cwd):
    run = next(run for run in runs_of(cwd)[1] if run.info.run_name == f"{OF_PLAYOUT}seed 0")
    assert run.data.tags["scenario"] == "wonderproxy" and run.data.tags["mode"] == "correlated"
    inputs = {one.dataset.name: ({tag.key: tag.value for tag in one.tags}, one.dataset.digest) for one in run.inputs.dataset_inputs}
    digest = load_links("wonderproxy_ten_places").card.sha256[:16]
    assert inputs == {
        "wonderproxy correlated train": ({"mlflow.data.context": "training"}, digest),
        "wonderproxy correlated validation": ({"mlflow.data.context": "validation"}, digest),
    }


def test_a_registered_agent_decides_alike_in_a_fresh_process(cwd, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    client, found = runs_of(cwd)
    champion = client.get_model_version_by_alias("vcgym-cart-v0-ppo", "champion")
    children = {run.info.run_id: run for run in found if "seed" in run.data.tags and run.data.tags["study"] == "two"}
    returns = {run_id: run.data.metrics["validation/return_mean"] for run_id, run in children.items()}
    assert returns[champion.run_id] == max(returns.values())
    assert [len(run.outputs.model_outputs) for run in children.values()] == [1, 1]
    observations = [[0.1, 0.2, 0.3, 0.4], [-0.4, 0.3, -0.2, 0.1]]
    agent = load_agent(cwd / "two" / f"seed-{children[champion.run_id].data.tags['seed']}" / "agent")
    assert answer_of(f"sqlite:///{cwd}/outputs/mlflow.db", "vcgym-cart-v0-ppo", observations) == agent.predict(observations)[0].tolist()


def test_another_tracking_uri_gets_an_agent_of_the_library_that_acts_as_its_zip(tmp_path, monkeypatch):
    uri, name = f"sqlite:///{tmp_path}/mlflow.db", "vcgym-playout-v1-sb3-recurrentppo"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.chdir(tmp_path)
    chosen = LibraryConfig(name="RecurrentPPO", arguments={"n_steps": 32, "batch_size": 32, "n_epochs": 1}, rollout=32)
    small = {"num_envs": 1, "steps": 64, "evaluation_episodes": 2, "device": "cpu", "folder": tmp_path / "trained"}
    (trained,) = run_study(TrainConfig(env=EnvConfig(**PLAYOUT), algorithm=chosen, **small))
    assert not (tmp_path / "outputs").exists()
    agent = OwnPolicy(load_own(str(trained.agent / "agent.zip")))
    assert Tracking(uri).client.get_model_version_by_alias(name, "champion").tags["algorithm"] == "SB3-RecurrentPPO"
    seen = np.random.default_rng(0).normal(size=(5, *agent.observation_space.shape)).astype(np.float32)
    assert answer_of(uri, name, seen.tolist()) == agent.predict(seen)[0].tolist()


def test_a_run_holds_parameters_metrics_by_step_config_and_agent(cwd, own_environment):
    client, found = runs_of(cwd)
    run = next(run for run in found if run.info.run_name == f"{OF_CART}seed 2")
    assert run.data.params["algorithm.n_steps"] == "16"
    assert run.data.params["algorithm.gamma"] == str(TrainConfig().algorithm.gamma)
    assert run.data.params["env.options.max_episode_steps"] == "60"
    assert not {name.partition(".")[0] for name in run.data.params} & {"folder", "data", "resume"}  # what says where things lie
    history = client.get_metric_history(run.info.run_id, "validation/return_mean")
    assert [metric.step for metric in history] == [64, 128]
    artefacts = Path(run.info.artifact_uri.removeprefix("file://"))
    assert artefacts.is_relative_to(cwd / "outputs" / "mlruns")
    config = TrainConfig.model_validate_json((artefacts / "config.json").read_text())
    assert config.seeds == [2]
    assert config.model_dump(mode="json") == json.loads((artefacts / "config.json").read_text())
    published = cwd / "two" / "seed-2" / "agent"
    assert (artefacts / "agent" / "agent.safetensors").read_bytes() == (published / "agent.safetensors").read_bytes()
    assert load_agent(artefacts / "agent").env_id == "cart:test/Cart-v0"


def test_an_agent_knows_the_config_it_was_trained_with(cwd, own_environment):
    config = TrainConfig.model_validate_json((cwd / "two" / "config.json").read_text())
    elsewhere = config.model_copy(update={"folder": cwd / "elsewhere", "data": DataConfig(root=cwd), "resume": not config.resume})
    others = [config.model_copy(update={"steps": 256}), config.model_copy(update={"device": "auto"})]
    for seed in (1, 2):
        trained_with = read_card(cwd / "two" / f"seed-{seed}" / "agent").config_hash
        assert trained_with == config.digest() == elsewhere.digest()
        assert trained_with not in [other.digest() for other in others]


def test_a_resumed_study_goes_on_in_its_runs(cwd):
    before = len(runs_of(cwd)[1])
    finish(start(cwd, "two", "1,2"))
    assert len(runs_of(cwd)[1]) == before


def test_a_study_goes_on_only_with_the_config_it_began_with(cwd, own_environment):
    saved = (cwd / "two" / "config.json").read_bytes()
    config = TrainConfig.model_validate_json(saved)
    with pytest.raises(ValueError, match=r"config\.json is of another study: evaluate_every is 1, expected 2"):
        run_study(config.model_copy(update={"evaluate_every": 2}))
    with pytest.raises(FileExistsError, match="resume is False"):
        run_study(config.model_copy(update={"resume": False}))
    assert (cwd / "two" / "config.json").read_bytes() == saved


def test_a_server_that_does_not_answer_ends_the_command_before_work(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for uri in (f"http://127.0.0.1:{silent.getsockname()[1]}", "http://127.0.0.1:9"):
            with pytest.raises(ConnectionError, match=rf"MLFLOW_TRACKING_URI is {uri} .*allowed: a server that answers within 2 s"):
                Tracking(uri)


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_database_that_another_program_locks_ends_the_command_before_work(tmp_path, lock):
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    Tracking(uri)
    with closing(sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        began = time.monotonic()
        with pytest.raises(ConnectionError, match=rf"^MLFLOW_TRACKING_URI is {uri} \(database is locked\); allowed: a file [^\n]+$"):
            Tracking(uri)
        assert time.monotonic() - began < 10.0  # not the minutes of MLflow
        other.execute("ROLLBACK")
    assert Tracking(uri).experiment_id


def test_a_folder_in_place_of_a_database_is_refused_at_once(tmp_path):
    (tmp_path / "mlflow.db").mkdir()
    with pytest.raises(ConnectionError, match=r"\(unable to open database file\); allowed: a file that can be written to, [^\n]+$"):
        Tracking(f"sqlite:///{tmp_path}/mlflow.db")


@pytest.mark.parametrize("uri", ["./mlruns", "file:", "file:mlruns", "nothing://x", "postgresql+nothing://h/d", "sqlite:///other.db"])
def test_a_place_where_mlflow_cannot_keep_runs_is_refused_in_one_line(tmp_path, monkeypatch, uri):
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("other.db")) as other:  # of another version
        other.executescript("create table alembic_version(version_num text); insert into alembic_version values('another');")
    with pytest.raises(ValueError, match=rf"^MLFLOW_TRACKING_URI is '{re.escape(uri)}' \([^\n]+\); allowed: sqlite:///FILE [^\n]+$"):
        Tracking(uri)


def test_a_server_that_fails_later_is_told_of_once_and_gets_the_metrics_when_the_run_goes_on(tmp_path, monkeypatch, caplog):
    tracking, marker = Tracking(f"sqlite:///{tmp_path}/mlflow.db"), tmp_path / "run" / "mlflow_run"
    with tracking.run("unlucky", marker=marker) as run:
        run.metrics({"a": 1.0}, 1)
        with monkeypatch.context() as broken:
            for name in ("log_batch", "set_terminated"):
                broken.setattr(run.client, name, fails)
            run.metrics({"a": 2.0}, 2)
            run.metrics({"a": float("nan")}, 3)
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert "metrics are kept as metrics_unsent.jsonl" in caplog.text
    kept_in = marker.with_name(UNSENT)
    assert len(kept_in.read_text().splitlines()) == 2
    kept_in.write_text(kept_in.read_text() + '[{"a": 4.0')  # a kill while it was written
    again = Tracking(f"sqlite:///{tmp_path}/mlflow.db")
    with again.run("unlucky", marker=marker) as run:
        run.metrics({"a": 5.0}, 5)
    history = again.client.get_metric_history(run.id, "a")
    assert sorted(metric.step for metric in history) == [1, 2, 3, 5]
    assert not kept_in.exists() and again.client.get_run(run.id).info.status == "FINISHED"


def test_a_run_that_begins_without_a_server_is_made_when_it_goes_on(tmp_path, monkeypatch):
    tracking, marker = Tracking(f"sqlite:///{tmp_path}/mlflow.db"), tmp_path / "mlflow_run"
    monkeypatch.setattr(tracking.client, "create_run", fails)
    with tracking.run("late", marker=marker) as run:
        run.metrics({"a": 1.0}, 1)
    assert run.id == "" and not marker.exists()
    again = Tracking(f"sqlite:///{tmp_path}/mlflow.db")
    with again.run("late", marker=marker) as run:
        pass
    assert [metric.value for metric in again.client.get_metric_history(run.id, "a")] == [1.0]


def test_a_model_gets_its_version_after_a_kill_and_two_processes_may_give_it_one(tmp_path, monkeypatch):
    def save(path, *of_model):
        path.mkdir()
        (path / "MLmodel").write_text("")

    monkeypatch.setattr(registry, "_save", save)
    tracking, served = Tracking(f"sqlite:///{tmp_path}/mlflow.db"), registry.pair(())
    with tracking.run("killed") as run:
        with monkeypatch.context() as broken:
            broken.setattr(run.client, "create_model_version", fails)
            with pytest.raises(MlflowException):
                registry.log_model(run, "model", served, 1, {"final/r": 1.0})
        registry.log_model(run, "model", served, 1, {"final/r": 1.0})
        registry.log_model(run, "model", served, 1, {"final/r": 1.0})
        (first,) = run.client.search_model_versions("name='model'")
        run.client.create_model_version("model", first.source, run.id)
        registry.set_champion(run, "model")
    assert int(run.client.get_model_version_by_alias("model", registry.CHAMPION).version) == 2


def test_the_revision_is_of_a_repository_that_tracks_the_package(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    source = tmp_path / "environment" / "tracking.py"
    source.parent.mkdir()
    source.write_text("")
    monkeypatch.setattr(tracking, "__file__", str(source))
    assert tracking.git_revision() == version("vcgym")

    def git(*arguments):
        someone = ["-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *someone, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    git("init")
    git("commit", "--allow-empty", "--message", "another project")
    assert tracking.git_revision() == version("vcgym")
    git("add", ".")
    git("commit", "--message", "this one")
    assert tracking.git_revision() == git("rev-parse", "HEAD")
    source.write_text("edited")
    assert tracking.git_revision() == git("rev-parse", "HEAD") + "-dirty"
