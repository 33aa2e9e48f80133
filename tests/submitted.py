"""Folders of submissions for tests, with edits that must be rejected."""

import json
from pathlib import Path

import numpy as np
import pytest

from lab.learners.exported.graph import Graph
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError
from vcgym.submissions.accept import take

ONNX = Path(__file__).parent / "contract" / "submissions" / "submission_onnx"


def write_card(folder, card):
    (folder / "card.json").write_text(json.dumps(card))


def edit_card(folder, *place, value):
    card = inner = json.loads((folder / "card.json").read_text())
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    write_card(folder, card)


def refused(folder, *words):
    with pytest.raises(RefusedError) as caught:
        take(folder, observed(5))
    message = str(caught.value)
    assert "; allowed: " in message and all(word in message for word in words), message


def observations(paths, sessions=6):
    rng = np.random.default_rng(4)
    return rng.normal(size=(sessions, paths * 9 + 12)).astype(np.float32)


def observed(*paths):
    return {str(count): np.concatenate([np.zeros((1, count * 9 + 12), np.float32), observations(count)])[:, None] for count in paths}


def write_recurrent(folder, changed=lambda graph, h: h, **fields):
    """Write a recurrent submission with 8 numbers of state and 2 per path that scores the controls without a rule in `fields`."""
    card = json.loads((ONNX / "card.json").read_text())
    card["name"] = "tiny recurrent"
    card["onnx"] |= {"state": {"h": [8], "arms": ["paths", 2]}} | fields
    rng, graph = np.random.default_rng(2), Graph("recurrent")
    paths, call = graph.input("paths", "float32", (1, "P", 9)), graph.input("call", "float32", (1, 12))
    h, arms = graph.input("h", "float32", (1, 8)), graph.input("arms", "float32", (1, "P", 2))

    def times(value, *shape):
        return graph.node("MatMul", "float32", value, graph.constant(rng.normal(size=shape), "float32"))

    after = (0.1 * times(call.apply("Asinh"), 12, 8) + 0.9 * h).apply("Tanh")
    arms_after = 0.5 * arms + times(paths.apply("Asinh"), 9, 2).apply("Tanh")
    if card["onnx"].get("path") is None:
        flat = graph.node("Reshape", "float32", times(arms_after, 2, 1), graph.constant([1, -1]))
        graph.output("path_scores", flat, (1, "P"))
    if card["onnx"].get("playout") is None:
        graph.output("level_scores", times(after, 8, 32), (1, 32))
    graph.output("next_h", changed(graph, after), (1, 8))
    graph.output("next_arms", arms_after, (1, "P", 2))
    folder.mkdir()
    (folder / "policy.onnx").write_bytes(graph.content())
    write_card(folder, card)
    return folder
