"""The command lines: train, evaluate what was trained, and a sweep whose trials are nested runs."""

import json
import os
import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import typed
from tracked import runs_of

from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.sweeps import sweep

HERE = Path(__file__).parent
SMALL = ["algorithm.n_steps=16", "algorithm.batch_size=32", "algorithm.n_epochs=1", "num_envs=4", "evaluation_episodes=3", "device=cpu"]
SEARCH = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
attempt, call = (partial(one, PYTHONPATH=SEARCH) for one in (typed.attempt, typed.call))


def test_train_then_evaluate(tmp_path):
    printed = call(tmp_path, "train", *SMALL, "env.id=cart:test/Cart-v0", "steps=128", "folder=outputs/mine", "seeds=[4]")
    assert "128/128" in printed
    agent = tmp_path / "outputs" / "mine" / "seed-4" / "agent"
    assert f"{agent}: validation return" in printed
    assert (tmp_path / "outputs" / "mlflow.db").exists()
    # Resumed by another name of its folder, with data elsewhere, it goes on in its runs; this one had nothing left to learn.
    (tmp_path / "measured").mkdir()
    again = ["steps=128", "seeds=[4]", "env.id=cart:test/Cart-v0", f"folder={tmp_path}/outputs/mine", "data.root=measured", "resume=true"]
    assert "decisions 128/128 before this run" in call(tmp_path, "train", *SMALL, *again)
    assert len(runs_of(tmp_path)[1]) == 2
    printed = call(tmp_path, "evaluate", f"agent={agent}", "env.id=cart:test/Cart-v0", "episodes=5", "split=validation")
    assert "over 5 validation episodes" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["measured", "outputs"]


def test_sweep_nests_its_trials(tmp_path):
    overrides = [f"train.{override}" for override in [*SMALL, "env.id=cart:test/Cart-v0", "steps=192", "evaluate_every=1"]]
    overrides += ["train.folder=outputs/mine", "trials=2", "concurrent=1"]
    printed = call(tmp_path, "sweep", *overrides)
    assert "sweep 2/2" in printed
    assert "validation return" in printed

    client, found = runs_of(tmp_path)
    (sweep,) = [run for run in found if run.info.run_name == "Cart-v0 PPO sweep: train"]
    trials = [run for run in found if run.data.tags.get("mlflow.parentRunId") == sweep.info.run_id]
    assert len(trials) == 2
    assert {run.info.status for run in found} == {"FINISHED"}
    assert len({run.data.params["algorithm.learning_rate"] for run in trials}) == 2
    names = sorted(run.info.run_name.rpartition(", ")[2] for run in trials)
    assert names == ["trial 00000", "trial 00001"] and all(run.info.run_name.startswith("lr ") for run in trials)
    (winner,) = [run for run in trials if run.outputs.model_outputs]
    champion = client.get_model_version_by_alias("vcgym-cart-v0-ppo", "champion")
    assert (champion.run_id, champion.version) == (winner.info.run_id, 1)
    best = max(run.data.metrics["validation/return_mean"] for run in trials)
    assert sweep.data.metrics["validation/return_mean"] <= best
    assert any("agent/agent.safetensors" in [file.path for file in client.list_artifacts(run.info.run_id, "agent")] for run in trials)
    assert min(metric.step for metric in client.get_metric_history(trials[0].info.run_id, "validation/return_mean")) == 64

    # Killed in its first trial, after the second report, it goes on to the same end, in the same runs.
    refused = attempt(tmp_path, "sweep", *overrides)
    assert refused.returncode == 1 and "outputs/mine holds a sweep (train.resume is false)" in refused.stderr
    trial = tmp_path / "outputs" / "mine" / "agents" / "trial-00000"
    agent = trial / "seed-0" / "agent"
    weights = (agent / "agent.safetensors").read_bytes()
    shutil.rmtree(agent)
    shutil.rmtree(max((trial / "seed-0" / "checkpoints").iterdir()))
    reports = (trial / "reports.jsonl").read_text().splitlines(keepends=True)
    (trial / "reports.jsonl").write_text("".join(reports[:2]))
    again = call(tmp_path, "sweep", *overrides, "train.resume=true")
    assert "sweep 0/2 before this run: 2 trials began, 1 of them left an agent, 320 transitions are not played again" in again
    assert again.splitlines()[-1].partition("learning_rate=")[2] == printed.splitlines()[-1].partition("learning_rate=")[2]
    assert (agent / "agent.safetensors").read_bytes() == weights
    values = [json.loads(line)[0] for line in (trial / "reports.jsonl").read_text().splitlines()]
    assert values == [json.loads(line)[0] for line in reports]
    assert len(runs_of(tmp_path)[1]) == len(found)


def test_a_sweep_without_an_agent_is_an_error(tmp_path):
    lost = SimpleNamespace(error=None, config={}, metrics={"trial_id": "ab_00000", "validation/return_mean": 1.0, "steps": 64})
    with pytest.raises(sweep.TrialError, match="agents of 1 trials that ended is 0; allowed: at least one; trials on other"):
        sweep._best(TrainConfig(folder=tmp_path), [lost])


class Ended:
    """Search that a signal ends while its first trial runs."""

    def __init__(self, trainable, param_space, tune_config, run_config):
        self.callback = run_config.callbacks[0]

    def fit(self):
        values = {"learning_rate": 1e-3, "ent_coef": 1e-3}
        self.callback.on_trial_start(0, [], SimpleNamespace(trial_id="ab_00000", config=values))
        raise SystemExit(143)


def test_a_signal_closes_the_runs_of_a_sweep_and_of_its_trials(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/outputs/mlflow.db")
    monkeypatch.setattr(sweep, "ray_running", lambda workers, address: nullcontext())
    monkeypatch.setattr(sweep.tune, "Tuner", Ended)
    with pytest.raises(SystemExit):
        sweep.run_sweep(SweepConfig(train=TrainConfig(folder=tmp_path / "sweep")))
    _, found = runs_of(tmp_path)
    assert [run.info.status for run in found] == ["KILLED"] * 2


def test_a_sweep_whose_trials_all_fail_says_so(tmp_path):
    overrides = [f"train.{override}" for override in [*SMALL, "env.id=broken:test/Broken-v0", "steps=64"]]
    failed = attempt(tmp_path, "sweep", *overrides, "trials=2", "concurrent=2")
    assert failed.returncode == 1
    assert "all 2 trials failed, the first with:" in failed.stderr
    assert "worn out" in failed.stderr
    assert "sweep 2/2 trial" in failed.stdout
    _, found = runs_of(tmp_path)
    assert [run.info.status for run in found] == ["FAILED"] * 3
