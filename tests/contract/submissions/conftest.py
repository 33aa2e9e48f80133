"""Honest submissions of both kinds."""

import json
import shutil
from pathlib import Path

import pytest
from submitted import write_card
from untrained import publish_random_agent

from vcgym.leaderboard.evaluation.published import LOGGED_FORM

ONNX = Path(__file__).parent / "submission_onnx"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An honest submission of safetensors, of random weights."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("agent", "plain"):
        publish_random_agent(folder / name, packets=100, **LOGGED_FORM)
    card = json.loads((ONNX / "card.json").read_text())
    del card["onnx"]
    agent_card = json.loads((folder / "agent" / "card.json").read_text())
    write_card(folder / "agent", card | {"name": "tiny agent", "weights": "agent.safetensors", "agent": agent_card})
    return folder


@pytest.fixture
def agent(made, tmp_path):
    return Path(shutil.copytree(made / "agent", tmp_path / "agent"))


@pytest.fixture
def onnx(tmp_path):
    return Path(shutil.copytree(ONNX, tmp_path / "onnx"))
