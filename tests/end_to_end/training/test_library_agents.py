"""An agent of the library from training to a board: a study registers it, and its zip is ranked, memory included."""

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
from vcgym.leaderboard.evaluation.local import local_agent
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.suites import Suite, prepare
from vcgym.leaderboard.play import play

SUITE = Suite("library", "v0", 400, (Part("table1", "paper", 1),))
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


def test_a_board_ranks_the_zip_with_its_memory(agents, tmp_path):
    parts = prepare(SUITE)
    model = load_own(str(agents[0]))
    states = []

    class Watched:
        observation_space, action_space = model.observation_space, model.action_space

        def predict(self, observation, state, episode_start, deterministic):
            states.append(state)
            return model.predict(observation, state, episode_start, deterministic=deterministic)

    rows = play(suite=SUITE, named={"mine": local_agent(Watched(), SUITE, parts)}, folder=tmp_path).to_pylist()
    assert {(row["system"], row["env"]) for row in rows} == {("mine", "vcgym/Playout-v1")}
    assert all(np.isfinite(row["r"]) for row in rows)
    assert any(state is not None and np.any(state[0]) for state in states)
