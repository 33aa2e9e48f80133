"""Folders of submissions for tests, with edits that must be rejected."""

import json
from pathlib import Path

import numpy as np
import pytest

from vcgym.leaderboard.evaluation.own.onnx_model import BOOL, FLOAT, INT64, Model, RefusedError
from vcgym.submissions.accept import take

ONNX = Path(__file__).parent / "contract" / "submissions" / "submission_onnx"


TYPES = {"float32": FLOAT, "int64": INT64, "bool": BOOL}


class Graph:
    """An ONNX model under construction; values are names of tensors, and arrays become constants."""

    def __init__(self):
        self.model = Model(ir_version=8)
        self.model.opset_import.add(domain="", version=17)

    def _declare(self, value, shape, dtype):
        value.type.tensor_type.elem_type = TYPES[dtype]
        for length in shape:
            value.type.tensor_type.shape.dim.add(**{"dim_param" if isinstance(length, str) else "dim_value": length})

    def input(self, name, *shape):
        self._declare(self.model.graph.input.add(name=name), shape, "float32")
        return name

    def output(self, name, value, *shape, dtype="float32"):
        self.model.graph.node.add(op_type="Identity", input=[value], output=[name])
        self._declare(self.model.graph.output.add(name=name), shape, dtype)

    def node(self, operator, *operands, **attributes):
        """Add a node and return its output; attributes are integers."""
        names = [one if isinstance(one, str) else self._constant(np.asarray(one)) for one in operands]
        name = f"{operator.lower()}_{len(self.model.graph.node)}"
        node = self.model.graph.node.add(op_type=operator, input=names, output=[name])
        for attribute, value in attributes.items():
            node.attribute.add(name=attribute, i=value, type=2)
        return name

    def _constant(self, array):
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"constant_{len(self.model.graph.initializer)}"
        self.model.graph.initializer.add(name=name, data_type=TYPES[str(array.dtype)], dims=array.shape, raw_data=array.tobytes())
        return name

    def content(self):
        return self.model.SerializeToString()


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


def write_recurrent(folder, changed=lambda graph, h: (h, "float32"), **fields):
    """Write a recurrent submission with 8 numbers of state and 2 per path that scores the controls without a rule in `fields`."""
    card = json.loads((ONNX / "card.json").read_text())
    card["name"] = "tiny recurrent"
    card["onnx"] |= {"state": {"h": [8], "arms": ["paths", 2]}} | fields
    rng, graph = np.random.default_rng(2), Graph()
    paths, call = graph.input("paths", 1, "P", 9), graph.input("call", 1, 12)
    h, arms = graph.input("h", 1, 8), graph.input("arms", 1, "P", 2)

    def times(value, *shape):
        return graph.node("MatMul", value, rng.normal(size=shape))

    def mixed(value, shape, before, kept):
        """Return (1 - kept) of what a layer makes of a value, and so much of what was there before."""
        seen = times(graph.node("Asinh", value), *shape)
        return graph.node("Tanh", graph.node("Add", graph.node("Mul", seen, 1.0 - kept), graph.node("Mul", before, kept)))

    after, arms_after = mixed(call, (12, 8), h, 0.9), mixed(paths, (9, 2), arms, 0.5)
    if card["onnx"].get("path") is None:
        graph.output("path_scores", graph.node("Reshape", times(arms_after, 2, 1), np.array([1, -1])), 1, "P")
    if card["onnx"].get("playout") is None:
        graph.output("level_scores", times(after, 8, 32), 1, 32)
    value, dtype = changed(graph, after)
    graph.output("next_h", value, 1, 8, dtype=dtype)
    graph.output("next_arms", arms_after, 1, "P", 2)
    folder.mkdir()
    (folder / "policy.onnx").write_bytes(graph.content())
    write_card(folder, card)
    return folder
