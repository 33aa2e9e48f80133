"""ONNX graphs written as arithmetic: an operator on a `GraphValue` adds a node. Numbers take the type of the other operand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vcgym.leaderboard.evaluation.own.onnx_format import BOOL, DOUBLE, FLOAT, INT64, Model

IR_VERSION, OPSET = 8, 17
_INTEGER = 2  # ONNX's code of an integer attribute
_TYPES = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64, "bool": BOOL}


class Graph:
    """A graph under construction.

    Args:
        name: name of the graph.
    """

    def __init__(self, name: str) -> None:
        self._model: Any = Model(ir_version=IR_VERSION, producer_name="vcgym")
        self._model.opset_import.add(domain="", version=OPSET)
        self._graph = self._model.graph
        self._graph.name = name
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def input(self, name: str, dtype: str, shape: Sequence[int | str] = ()) -> "GraphValue":
        """Add an input and return it; a string in its shape names a dynamic dimension."""
        _declare(self._graph.input.add(name=name), dtype, shape)
        return GraphValue(self, name, dtype)

    def output(self, name: str, value: "GraphValue", shape: Sequence[int | str] = ()) -> None:
        """Mark a value as an output."""
        self._graph.node.add(op_type="Identity", input=[value.name], output=[name])
        _declare(self._graph.output.add(name=name), value.dtype, shape)

    def constant(self, value: ArrayLike, dtype: str | None = None) -> "GraphValue":
        """Add a constant and return it."""
        array = np.asarray(value, dtype)
        key = str(array.dtype), array.shape, array.tobytes()
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            tensor = self._graph.initializer.add(name=self._constants[key], data_type=_TYPES[key[0]], raw_data=array.tobytes())
            tensor.dims.extend(array.shape)
        return GraphValue(self, self._constants[key], key[0])

    def node(self, operator: str, dtype: str, *operands: "GraphValue", outputs: int = 1, **attributes: int) -> "GraphValue":
        """Add a node and return the first of its outputs, of type `dtype`."""
        name = f"{operator.lower()}_{len(self._graph.node)}"
        more = [f"{name}_{n}" for n in range(1, outputs)]
        node = self._graph.node.add(op_type=operator, input=[operand.name for operand in operands], output=[name, *more])
        for attribute, value in attributes.items():
            node.attribute.add(name=attribute, i=value, type=_INTEGER)
        return GraphValue(self, name, dtype)

    def content(self) -> bytes:
        """Return the serialised model."""
        return bytes(self._model.SerializeToString())


class GraphValue:
    """A tensor of a graph; `dtype` is "float32", "float64", "int64" or "bool"."""

    __array_ufunc__ = None  # numpy arrays on the left defer to the value's operator

    def __init__(self, graph: Graph, name: str, dtype: str) -> None:
        self.graph, self.name, self.dtype = graph, name, dtype

    def _with(self, operator: str, other: Any, dtype: str = "", *, turned: bool = False) -> "GraphValue":
        other = other if isinstance(other, GraphValue) else self.graph.constant(other, self.dtype)
        return self.graph.node(operator, dtype or self.dtype, *((other, self) if turned else (self, other)))

    def __add__(self, other: Any) -> "GraphValue":
        return self._with("Add", other)

    def __sub__(self, other: Any) -> "GraphValue":
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> "GraphValue":
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> "GraphValue":
        return self._with("Div", other)

    def __radd__(self, other: Any) -> "GraphValue":
        return self._with("Add", other, turned=True)

    def __rsub__(self, other: Any) -> "GraphValue":
        return self._with("Sub", other, turned=True)

    def __rmul__(self, other: Any) -> "GraphValue":
        return self._with("Mul", other, turned=True)

    def __rtruediv__(self, other: Any) -> "GraphValue":
        return self._with("Div", other, turned=True)

    def __mod__(self, other: Any) -> "GraphValue":
        return self._with("Mod", other)

    def __lt__(self, other: Any) -> "GraphValue":
        return self._with("Less", other, "bool")

    def __gt__(self, other: Any) -> "GraphValue":
        return self._with("Greater", other, "bool")

    def __ge__(self, other: Any) -> "GraphValue":
        return self._with("GreaterOrEqual", other, "bool")

    def __and__(self, other: "GraphValue") -> "GraphValue":
        return self._with("And", other)

    def __neg__(self) -> "GraphValue":
        return self.apply("Neg")

    def __invert__(self) -> "GraphValue":
        return self.apply("Not")

    def __getitem__(self, index: Any) -> "GraphValue":
        index = index if isinstance(index, GraphValue) else self.graph.constant(index, "int64")
        return self.graph.node("Gather", self.dtype, self, index, axis=0)

    def is_equal(self, other: Any) -> "GraphValue":
        """Return the mask of equal elements."""
        return self._with("Equal", other, "bool")

    def at_least(self, other: Any) -> "GraphValue":
        """Return the elementwise maximum."""
        return self._with("Max", other)

    def at_most(self, other: Any) -> "GraphValue":
        """Return the elementwise minimum."""
        return self._with("Min", other)

    def apply(self, operator: str, **attributes: int) -> "GraphValue":
        """Apply a unary operator, such as Exp."""
        return self.graph.node(operator, self.dtype, self, **attributes)

    def indices(self) -> "GraphValue":
        """Return 0, 1, ... along the only axis."""
        length = self.graph.node("Shape", "int64", self)[0]
        return self.graph.node("Range", "int64", self.graph.constant(0), length, self.graph.constant(1))

    def cast(self, dtype: str) -> "GraphValue":
        """Return the value converted to another type."""
        return self.graph.node("Cast", dtype, self, to=_TYPES[dtype])


def where(condition: GraphValue, yes: Any, no: Any) -> GraphValue:
    """Return `yes` where `condition` is true and `no` elsewhere; one of them may be a number."""
    typed = yes if isinstance(yes, GraphValue) else no
    both = (one if isinstance(one, GraphValue) else condition.graph.constant(one, typed.dtype) for one in (yes, no))
    return condition.graph.node("Where", typed.dtype, condition, *both)


def merged(condition: GraphValue, new: Mapping[str, GraphValue], old: Mapping[str, GraphValue]) -> dict[str, GraphValue]:
    """Return a state that is `new` where `condition` is true; fields missing in `new` keep their values in `old`."""
    return {name: where(condition, new[name], value) if name in new else value for name, value in old.items()}


def _declare(value: Any, dtype: str, shape: Sequence[int | str]) -> None:
    tensor = value.type.tensor_type
    tensor.elem_type = _TYPES[dtype]
    tensor.shape.SetInParent()
    for length in shape:
        tensor.shape.dim.add(**{"dim_param" if isinstance(length, str) else "dim_value": length})
