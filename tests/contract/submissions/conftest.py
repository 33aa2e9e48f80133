"""Honest submissions of both kinds."""

import json
import shutil
from pathlib import Path

import gymnasium
import pytest
import torch
from submitted import write_card

from vcgym.agents.networks.observation import network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.networks.set_net import SetNet
from vcgym.agents.published.export import publish
from vcgym.leaderboard.evaluation.published import AGENT_ENV, LOGGED_FORM
from vcgym.submissions.card import call_parts

ONNX = Path(__file__).parent / "submission_onnx"
HIDDEN = 8


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An honest submission of safetensors, of random weights."""
    folder = tmp_path_factory.mktemp("made")
    env = gymnasium.make_vec(AGENT_ENV, num_envs=1, packets=100, **LOGGED_FORM).unwrapped
    observed, acted, paths = env.single_observation_space, env.single_action_space, env.batch.scenario.paths
    torch.manual_seed(3)
    parts = call_parts(paths)
    network = network_for(parts, output_count(acted), HIDDEN, "tanh")
    tensors = {name: tensor.numpy() for name, tensor in SetNet(network, paths).state_dict().items()}
    agent = AgentPolicy(AGENT_ENV, tuple(parts), observed, acted, network, tensors)
    publish(folder / "agent", agent, algorithm="none", steps=0, seed=3, config_hash="0" * 16)
    card = json.loads((ONNX / "card.json").read_text())
    del card["onnx"]
    agent_card = json.loads((folder / "agent" / "card.json").read_text())
    write_card(folder / "agent", card | {"name": "tiny agent", "weights": "agent.safetensors", "agent": agent_card})
    publish(folder / "plain", agent, algorithm="none", steps=0, seed=3, config_hash="0" * 16)
    return folder


@pytest.fixture
def agent(made, tmp_path):
    return Path(shutil.copytree(made / "agent", tmp_path / "agent"))


@pytest.fixture
def onnx(tmp_path):
    return Path(shutil.copytree(ONNX, tmp_path / "onnx"))
