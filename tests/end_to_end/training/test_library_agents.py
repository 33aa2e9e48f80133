"""A study of an agent of the library registers a model that acts as its zip."""

import json
import subprocess
import sys

import numpy as np
import pytest
from mlflow import MlflowClient

from vcgym.agents.config.algorithms import LibraryConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own
from vcgym.agents.training.study import run_study

SERVED = """
import json, sys, mlflow, numpy
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model(sys.argv[2])
print(json.dumps(model.predict(numpy.array(json.loads(sys.argv[3]), numpy.float32)).tolist()))
"""


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """A recurrent agent and its study's database."""
    home = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/mlflow.db")
        chosen = LibraryConfig(name="RecurrentPPO", arguments={"n_steps": 32, "batch_size": 32, "n_epochs": 1}, rollout=32)
        env = EnvConfig(id="vcgym/Playout-v1", options={"packets": 400})
        common = {"num_envs": 1, "steps": 64, "evaluation_episodes": 2, "device": "cpu"}
        (trained,) = run_study(TrainConfig(env=env, algorithm=chosen, folder=home / "trained", **common))
    return trained.agent / "agent.zip", f"sqlite:///{home}/mlflow.db"


def test_a_study_registers_a_model_that_acts_as_the_zip(agents):
    file, uri = agents
    agent, name = OwnPolicy(load_own(str(file))), "vcgym-playout-v1-sb3-recurrentppo"
    assert MlflowClient(uri).get_model_version_by_alias(name, "champion").tags["algorithm"] == "SB3-RecurrentPPO"
    seen = np.random.default_rng(0).normal(size=(5, *agent.observation_space.shape)).astype(np.float32)
    command = [sys.executable, "-W", "ignore", "-c", SERVED, uri, f"models:/{name}@champion", json.dumps(seen.tolist())]
    fresh = subprocess.run(command, capture_output=True, text=True, check=False)
    assert fresh.returncode == 0, fresh.stderr
    assert json.loads(fresh.stdout.splitlines()[-1]) == agent.predict(seen)[0].tolist()
