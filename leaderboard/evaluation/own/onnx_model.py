"""Check that an ONNX model is harmless and of bounded size: parsed with the allowed part of the format, before any runtime reads it.

Models are read and written without the onnx package, by the subset of its format that `MESSAGES` declares (numbers: onnx/onnx.proto3 of the
ONNX project). What it leaves out (functions, graphs within nodes, sparse or quantised tensors, training) is rejected as unknown. Operators
are those of feed-forward and recurrent networks. Shapes must follow from constants and from the shapes of the inputs, so a trial with each
input shape shows the maximum memory. The runtime gets the parsed content, written anew, not the original bytes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from vcgym.network.traces.refusal import MAX_LINE, one_line

FLOAT, INT64, BOOL, DOUBLE = 1, 7, 9, 11
"""Types of tensors."""

# A star marks a repeated field.
MESSAGES = {
    "Model": {
        1: "ir_version int64", 2: "producer_name string", 3: "producer_version string", 4: "domain string", 5: "model_version int64",
        6: "doc_string string", 7: "graph Graph", 8: "opset_import *Opset", 14: "metadata_props *Entry",
    },
    "Entry": {1: "key string", 2: "value string"},
    "Opset": {1: "domain string", 2: "version int64"},
    "Graph": {
        1: "node *Node", 2: "name string", 5: "initializer *Tensor", 10: "doc_string string", 11: "input *Value", 12: "output *Value",
        13: "value_info *Value", 16: "metadata_props *Entry",
    },
    "Node": {
        1: "input *string", 2: "output *string", 3: "name string", 4: "op_type string", 5: "attribute *Attribute", 6: "doc_string string",
        7: "domain string", 9: "metadata_props *Entry",
    },
    "Attribute": {
        1: "name string", 2: "f float", 3: "i int64", 4: "s bytes", 5: "t Tensor", 7: "floats *float", 8: "ints *int64",
        9: "strings *bytes", 13: "doc_string string", 20: "type int32",
    },
    "Tensor": {
        1: "dims *int64", 2: "data_type int32", 4: "float_data *float", 7: "int64_data *int64", 8: "name string", 9: "raw_data bytes",
        12: "doc_string string", 13: "external_data *Entry", 14: "data_location int32",
    },
    "Value": {1: "name string", 2: "type Type", 3: "doc_string string", 4: "metadata_props *Entry"},
    "Type": {1: "tensor_type TensorType", 6: "denotation string"},
    "TensorType": {1: "elem_type int32", 2: "shape Shape"},
    "Shape": {1: "dim *Dim"},
    "Dim": {1: "dim_value int64", 2: "dim_param string", 3: "denotation string"},
}  # fmt: skip


def _declare() -> type[Message]:
    file = descriptor_pb2.FileDescriptorProto(name="vcgym/onnx_subset.proto", package="vcgym.onnx_subset", syntax="proto2")
    plain = ("int64", "int32", "string", "bytes", "float")
    kinds = {name: getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{name.upper()}") for name in plain}
    for message, fields in MESSAGES.items():
        declared = file.message_type.add(name=message)
        for number, line in fields.items():
            name, kind = line.split()
            field = declared.field.add(name=name, number=number, label=3 if kind.startswith("*") else 1)
            kind = kind.removeprefix("*")
            field.type = kinds.get(kind, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE)
            if kind not in kinds:
                field.type_name = f".vcgym.onnx_subset.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("vcgym.onnx_subset.Model"))


Model = _declare()

MAX_NODES = 2000
MIN_FOUND = 100  # minimum number of shown characters of a fault
_TYPES: dict[int, np.dtype[Any]] = {FLOAT: np.dtype("<f4"), INT64: np.dtype("<i8"), BOOL: np.dtype("?")}
_OPSETS = range(11, 24)  # models of the Bandwidth Estimation Challenge have 11
_UNUSED = "ai.onnx.ml"  # some exporters name it though no node is of it

# Operands whose values determine the shape of the output; those of other operators never do.
_SHAPING = {
    "ConstantOfShape": (0,), "Expand": (1,), "Range": (0, 1, 2), "Reshape": (1,), "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,),
    "Unsqueeze": (1,), **{f"Reduce{kind}": (1,) for kind in ("L2", "Max", "Mean", "Min", "Sum")},
}  # fmt: skip
_OPERATORS = {
    "Abs", "Add", "And", "Asinh", "Cast", "Clip", "Concat", "Constant", "Cos", "Div", "Elu", "Equal", "Erf", "Exp", "Flatten", "Floor",
    "GRU", "Gather", "Gelu", "Gemm", "Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "LSTM", "LayerNormalization",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "Not", "Or", "Pow",
    "RNN", "Reciprocal", "Relu", "Selu", "Shape", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Sub", "Sum",
    "Tanh", "Transpose", "Where", *_SHAPING,
}  # fmt: skip


class RefusedError(ValueError):
    """Rejection of a submission: the file, the fault, and the allowed value."""

    def __init__(self, location: Path | str, found: str, allowed: str) -> None:
        super().__init__(str(location), found, allowed)

    def __str__(self) -> str:
        location, found, allowed = self.args
        max_found = MAX_LINE - len(f"{location}: ; allowed: {allowed}")
        return one_line(f"{location}: {one_line(found, max(max_found, MIN_FOUND))}; allowed: {allowed}")


class CheckedModel(NamedTuple):
    """Model that was parsed with the allowed part of the format.

    Attributes:
        content: content, written anew from the parsed model.
        numbers: number of float32 values in the model.
    """

    content: bytes
    numbers: int


def checked_model(path: Path, content: bytes) -> CheckedModel:
    """Check the model in `content` and return it in a form that is safe for the runtime.

    Args:
        path: path for error messages.
        content: content of the file.

    Raises:
        RefusedError: it is not an ONNX model, or not an allowed one.
    """
    model: Any = Model()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise RefusedError(path, f"is no ONNX model ({error})", "an ONNX model") from error
    for location, message in _within("model", model):
        unknown = sorted({field.field_number for field in UnknownFieldSet(message)})
        if unknown:
            kind = message.DESCRIPTOR.name
            raise RefusedError(path, f"{location} has fields {unknown}", f"of {kind} {sorted(MESSAGES[kind])}")
        if message.DESCRIPTOR.name == "Tensor":
            _refuse_tensor(path, location, message)
    opsets = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
    if opsets.keys() - {_UNUSED} != {"ai.onnx"} or opsets["ai.onnx"] not in _OPSETS:
        allowed = f"ai.onnx {_OPSETS[0]} to {_OPSETS[-1]}, no other set of operators but {_UNUSED}, unused"
        raise RefusedError(path, f"opset_import is {opsets}", allowed)
    _refuse_nodes(path, model.graph)
    tensors = [message for _, message in _within("model", model) if message.DESCRIPTOR.name == "Tensor" and message.data_type == FLOAT]
    return CheckedModel(bytes(model.SerializeToString()), sum(int(np.prod(tensor.dims)) for tensor in tensors))


def open_model(model: bytes, axes: Mapping[str, int]) -> Any:
    """Open a session of the runtime on one thread.

    Args:
        model: content of an ONNX file.
        axes: of each input and output, by name; all are float32.

    Raises:
        ValueError: other inputs or outputs.
    """
    import onnxruntime  # imported here: only these agents need it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = [(one.name, one.type, len(one.shape)) for one in (*session.get_inputs(), *session.get_outputs())]
    wanted = [(name, "tensor(float)", count) for name, count in axes.items()]
    if sorted(found) != sorted(wanted):
        raise ValueError(f"inputs and outputs (name, type, axes) are {found}; allowed: {wanted}")
    return session


def _within(location: str, message: Any) -> Iterator[tuple[str, Any]]:
    """Yield the message and all nested messages, each with its location."""
    yield location, message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for number, one in enumerate(value) if field.is_repeated else [("", value)]:
                yield from _within(f"{location}.{field.name}{f'[{number}]' if number != '' else ''}", one)


def _refuse_tensor(path: Path, location: str, tensor: Any) -> None:
    if tensor.external_data or tensor.data_location:
        raise RefusedError(path, f"{location} {tensor.name!r} keeps its data in another file", "data within the model")
    if tensor.data_type not in _TYPES:
        raise RefusedError(path, f"{location} {tensor.name!r} has data type {tensor.data_type}", "1 (float32), 7 (int64), 9 (bool)")
    kind: np.dtype[Any] = _TYPES[tensor.data_type]
    size = 1
    for dim in tensor.dims:
        size *= max(-1, dim)
    typed = {FLOAT: tensor.float_data, INT64: tensor.int64_data}.get(tensor.data_type, ())
    stored = len(tensor.raw_data) / kind.itemsize if tensor.raw_data else len(typed)
    if min(tensor.dims, default=0) < 0 or size != stored:
        found = f"{location} {tensor.name!r} has shape {list(tensor.dims)} and {stored:g} values"
        raise RefusedError(path, found, "as many values as the shape says")
    values = np.frombuffer(tensor.raw_data, kind) if tensor.raw_data else np.asarray(typed, kind)
    if tensor.data_type == FLOAT and not np.isfinite(values).all():
        raise RefusedError(path, f"{location} {tensor.name!r} holds {values[~np.isfinite(values)][0]}", "finite values")


def _refuse_nodes(path: Path, graph: Any) -> None:
    if not 1 <= len(graph.node) <= MAX_NODES:
        raise RefusedError(path, f"has {len(graph.node)} nodes", f"1 to {MAX_NODES}")
    fixed = {"", *(tensor.name for tensor in graph.initializer)}
    for number, node in enumerate(graph.node):
        location = f"node {number} ({node.domain or 'ai.onnx'}::{node.op_type})"
        if node.domain not in ("", "ai.onnx") or node.op_type not in _OPERATORS:
            raise RefusedError(path, f"{location} is not an operator of the list", ", ".join(sorted(_OPERATORS)))
        loose = [node.input[i] for i in _SHAPING.get(node.op_type, ()) if i < len(node.input) and node.input[i] not in fixed]
        if loose:
            raise RefusedError(path, f"{location} takes a shape from {loose}", "shapes that follow from constants and the inputs' shapes")
        if node.op_type == "Shape" or all(name in fixed for name in node.input):
            fixed.update(node.output)
