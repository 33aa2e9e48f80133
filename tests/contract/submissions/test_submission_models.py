"""Submitted ONNX models: parts of the format beyond a network are rejected, and models that fail the trial are not saved."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from submitted import observed, refused

from vcgym.leaderboard.evaluation.own.onnx_model import Model, RefusedError, checked_model
from vcgym.submissions.accept import accept, take

ONNX = Path(__file__).parent / "submission_onnx"
TRIAL = "policy.onnx: a trial call failed: "


@contextmanager
def edited(onnx, *words):
    """Yield the parsed model of a submission; afterwards it is written, and must be refused with these words unless there are none."""
    parsed = Model()
    parsed.ParseFromString((ONNX / "policy.onnx").read_bytes())
    yield parsed
    (onnx / "policy.onnx").write_bytes(parsed.SerializeToString())
    if words:
        refused(onnx, *words)


def test_the_runtime_gets_what_was_read(onnx):
    content = (onnx / "policy.onnx").read_bytes()
    assert checked_model(onnx, content).content == content


def test_operators_beyond_the_list_are_refused(onnx):
    for domain, operator in (("com.evil", "Run"), ("", "Loop"), ("", "NonZero"), ("com.microsoft", "Gelu"), ("", "RandomNormal")):
        with edited(onnx, f"policy.onnx: node 0 ({domain or 'ai.onnx'}::{operator}) is not an operator of the list") as parsed:
            parsed.graph.node[0].domain, parsed.graph.node[0].op_type = domain, operator
    with edited(onnx, "policy.onnx: opset_import is {'ai.onnx': 17, 'com.evil': 1}") as parsed:
        parsed.opset_import.add(domain="com.evil", version=1)


def test_data_outside_the_model_are_refused(onnx):
    with edited(onnx, "policy.onnx: model.graph.initializer[0] 'w0' keeps its data in another file") as parsed:
        tensor = parsed.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.external_data.add(key="location", value="../../../etc/passwd")
        tensor.data_location = 1


def test_parts_of_the_format_that_are_not_needed_are_refused(onnx):
    function, subgraph = b"\xca\x01\x02\x0a\x00", b"\x32\x00"  # field 25 of a model: functions; field 6 of an attribute: a graph
    (onnx / "policy.onnx").write_bytes((ONNX / "policy.onnx").read_bytes() + function)
    refused(onnx, "policy.onnx: model has fields [25]")
    with edited(onnx, "policy.onnx: model.graph.node[0].attribute[0] has fields [6]") as parsed:
        parsed.graph.node[0].attribute.add(name="body").MergeFromString(subgraph)


def of_shape(*wanted):
    return lambda one: (one.ClearField("dims"), one.dims.extend(wanted))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (of_shape(1 << 40, 1 << 40), "has shape [1099511627776, 1099511627776] and 72 values"),
        (of_shape(-1, -72), "has shape [-1, -72] and 72 values"),
        (lambda one: setattr(one, "data_type", 8), "has data type 8"),  # strings
        (lambda one: setattr(one, "raw_data", one.raw_data[:-1]), "has shape [9, 8] and 71.75 values"),
        (lambda one: setattr(one, "raw_data", np.full(72, np.nan, np.float32).tobytes()), "holds nan"),
    ],
)
def test_tensors_of_a_model_that_lie_are_refused(onnx, edit, said):
    with edited(onnx, "policy.onnx: model.graph.initializer[0] 'w0' ", said) as parsed:
        edit(parsed.graph.initializer[0])


def test_shapes_that_depend_on_values_are_refused(onnx):
    with edited(onnx, "policy.onnx: node 10 (ai.onnx::ConstantOfShape) takes a shape from ['cast']") as parsed:
        parsed.graph.node.add(op_type="Cast", input=["call"], output=["cast"]).attribute.add(name="to", i=7, type=2)
        parsed.graph.node.add(op_type="ConstantOfShape", input=["cast"], output=["huge"])


def test_a_model_that_swells_does_so_in_its_trial_alone(onnx):
    with edited(onnx, TRIAL) as parsed:
        one = parsed.graph.initializer.add(name="huge", data_type=7, dims=[1])
        one.int64_data.append(1 << 36)
        parsed.graph.node.add(op_type="ConstantOfShape", input=["huge"], output=["zeros"])
        parsed.graph.node.add(op_type="ReduceSum", input=["zeros"], output=["nothing"])
        parsed.graph.node.add(op_type="Add", input=["d", "nothing"], output=["swollen"])
        for node in parsed.graph.node:
            if list(node.output) == ["e"]:
                node.input[:] = ["swollen", "hb"]
        order = sorted(parsed.graph.node, key=lambda node: node.output[0] in ("e", "path_scores"))
        parsed.graph.ClearField("node")
        parsed.graph.node.extend(order)


@pytest.mark.long
def test_models_of_another_shape_are_refused(onnx):
    with edited(onnx, TRIAL) as parsed:
        parsed.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 13
    with edited(onnx, TRIAL) as parsed:
        parsed.graph.output[0].name = parsed.graph.node[6].output[0] = "scores"
    with edited(onnx, TRIAL) as parsed:  # one for 17 paths, where it is wanted for 5
        parsed.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_param")
        parsed.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 17


def test_scores_that_are_not_numbers_are_refused(onnx):
    with edited(onnx, f"{TRIAL}ValueError: level_scores holds ") as parsed:
        for node in parsed.graph.node:
            if node.op_type == "Asinh":
                node.op_type = "Log"  # of no delay at all


@pytest.mark.long
def test_scores_that_are_no_numbers_in_play_alone_are_refused_and_nothing_is_kept(onnx, tmp_path):
    with edited(onnx) as parsed:
        for node in parsed.graph.node:
            if node.op_type == "Asinh":
                node.op_type = "Sqrt"  # of a feature below 0, which a call has and an observation of zeros has not
    take(onnx, {"5": observed(5)["5"][:1]})
    with pytest.raises(RefusedError, match=r"policy\.onnx: a trial call failed: ValueError: .*_scores holds nan"):
        accept(onnx, tmp_path / "board", observed(5), ())
    assert not (tmp_path / "board").exists()


def test_a_model_of_garbage_is_refused(onnx):
    for content in (b"\xff" * 64, b"", bytes(8)):
        (onnx / "policy.onnx").write_bytes(content)
        refused(onnx, "policy.onnx: ")
