"""A signal ends a command with one line and its status; its MLflow runs are closed, and its files are complete."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SMALL = ["algorithm.n_steps=16", "algorithm.batch_size=32", "algorithm.n_epochs=1", "num_envs=4", "evaluation_episodes=3", "device=cpu"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_closes_the_runs_of_a_training(tmp_path, number):
    from vcgym.agents.tracking.tracking import EXPERIMENT, Tracking

    environment = {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db"}
    overrides = [*SMALL, "env.options.packets=60", "steps=100_000_000", "checkpoint_every=1", f"folder={tmp_path}/run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "vcgym.scripts.console.program", "train", *overrides], cwd=tmp_path, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 (nohup leaves SIGHUP ignored)
    )  # fmt: skip
    until = time.monotonic() + 300
    while not list(tmp_path.glob("run/seed-0/checkpoints/step-*")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert errors.splitlines()[-1] == f"vcgym train: ended by {number.name}" and "Traceback" not in errors
    client = Tracking(environment["MLFLOW_TRACKING_URI"]).client
    runs = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    assert [run.info.status for run in runs] == ["KILLED", "KILLED"]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["num_envs"] == 4
    assert not list(tmp_path.rglob(".*draft*"))


def test_a_signal_that_meets_a_destructor_ends_the_command_too(tmp_path):
    """Python drops what a destructor raises."""
    (tmp_path / "busy.py").write_text(
        """
import time
from vcgym.scripts.console.command import run
from vcgym.scripts.console.program import VCGYM

class Slow:
    def __del__(self):
        print("destructor", flush=True)
        time.sleep(3)

def forever(config):
    while True:
        Slow()
        time.sleep(0.01)

run(VCGYM, "data", forever)
"""
    )
    process = subprocess.Popen(
        [sys.executable, "busy.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 (the background ignores SIGINT)
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "destructor\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert errors == "vcgym data: ended by SIGINT\n"
