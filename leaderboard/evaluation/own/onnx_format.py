"""The subset of the ONNX format used to read and write models without the onnx package.

Messages are declared field by field (numbers: onnx/onnx.proto3 of the ONNX project). Readers do not know undeclared parts: functions,
graphs within nodes, sparse or quantised tensors, training.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

FLOAT, INT64, BOOL = 1, 7, 9
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
