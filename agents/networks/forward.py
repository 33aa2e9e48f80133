"""The compiled forward pass of a set network: one row of features to one row of outputs, in memory that the caller owns.

All arithmetic is in double precision; a sum starts with the bias and adds the inputs in order. The outputs of a row therefore do not depend
on the batch, the number of threads or the vector width, and plain Python gives the same bits. Torch uses single precision and another
order: its outputs differ by at most 1e-4 on features of order one.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.networks.description import ABSENT, LAG_WIDTH, STAGES, SetNetwork
from vcgym.envs.environments.vector.actions import LEVELS
from vcgym.network.kernels.jit import kernel

ENCODE, TRUNK, SCORE, SKIP, REST = range(len(STAGES))
LINEAR, TANH, RELU = range(3)
_ACTIVATIONS = {"linear": LINEAR, "tanh": TANH, "relu": RELU}
_NONE = -1  # index of an absent feature

LAYER = np.dtype((np.record, [("inputs", "i8"), ("outputs", "i8"), ("first", "i8"), ("activation", "i8")]))


class SetWeights(NamedTuple):
    """Weights of a set network in one array, and its description as numbers; made by `pack`.

    Attributes:
        numbers: (n,) float64, for each layer the biases (outputs,), then the weights (inputs, outputs) row by row.
        layers: (layers,) LAYER; `first` is the index of its first bias.
        stages: (stages + 1,) int64; stage i has the layers stages[i] to stages[i + 1] - 1.
        item_width: features of one item; 0 without items.
        scores: outputs per item.
        selected, mask, lag_peak: feature indices, see `vcgym.agents.networks.description`; -1: none.
        context: number of context features.
        raw: True: features enter as they are, without arcsinh.
    """

    numbers: NDArray[np.float64]
    layers: NDArray[np.void]
    stages: NDArray[np.int64]
    item_width: int
    scores: int
    selected: int
    mask: int
    context: int
    lag_peak: int
    raw: bool


class Scratch(NamedTuple):
    """Scratch buffers of `forward`, overwritten by each call; made by `allocate_scratch`."""

    compressed: NDArray[np.float64]  # (features,) the row, or its arcsinh
    encoded: NDArray[np.float64]  # (items, encoding)
    trunk: NDArray[np.float64]  # (widest,) its outputs
    inputs: NDArray[np.float64]  # (widest,) inputs of the current layer, outputs of the previous one
    outputs: NDArray[np.float64]  # (widest,)


def pack(network: SetNetwork, tensors: Mapping[str, NDArray[np.float32]]) -> SetWeights:
    """Return the weights for `forward` from tensors with the names and shapes of ``network.tensor_shapes()``."""
    numbers: list[NDArray[np.float64]] = []
    layers, stages, first = [], [0] * (len(STAGES) + 1), 0
    for name, layer in network.layers():
        weight, bias = tensors[f"{name}.weight"], tensors.get(f"{name}.bias", np.zeros(layer.outputs, np.float32))
        layers.append((layer.inputs, layer.outputs, first, _ACTIVATIONS[layer.activation]))
        numbers += [bias.astype(np.float64), weight.T.astype(np.float64).ravel()]
        first += layer.outputs * (layer.inputs + 1)
        for after in range(STAGES.index(name.partition(".")[0]) + 1, len(stages)):
            stages[after] += 1
    width, scores, selected, mask = 0, 0, None, None
    if network.items:
        width, scores, selected, mask = network.items.width, network.items.scores, network.items.selected, network.items.mask
    chosen, masked, peak = (_NONE if index is None else index for index in (selected, mask, network.lag_peak))
    table = np.array(layers, LAYER).view(np.recarray)
    return SetWeights(
        np.concatenate(numbers), table, np.array(stages, np.int64), width, scores, chosen, masked, network.context, peak, network.raw
    )  # fmt: skip


def allocate_scratch(weights: SetWeights, items: int) -> Scratch:
    """Return scratch buffers for observations of up to `items` items."""
    widest = int(max(weights.layers["inputs"].max(), weights.layers["outputs"].max()))
    encoding = int(weights.layers["outputs"][weights.stages[TRUNK] - 1]) if items else 0
    features = items * weights.item_width + weights.context
    return Scratch(np.empty(features), np.empty((items, encoding)), *(np.empty(widest) for _ in range(3)))


@kernel
def forward(weights, row, items, scratch, out):
    """Write the outputs of one observation.

    Args:
        weights: SetWeights.
        row: (items * item_width + context,) float64 features.
        items: number of items in the row.
        scratch: Scratch for at least `items` items.
        out: (outputs,) float64, written: the first score of each item, the second of each, ..., then the other outputs.
    """
    for i in range(row.size):
        scratch.compressed[i] = row[i] if weights.raw else math.asinh(row[i])
    if items > 0:
        _encode(weights, items, scratch)
    _pool(weights, row, items, scratch)
    _run(weights, TRUNK, scratch)
    for h in range(_outputs(weights, TRUNK)):
        scratch.trunk[h] = scratch.inputs[h]
    if weights.stages[REST + 1] > weights.stages[REST]:
        _run(weights, REST, scratch)
        _write_rest(weights, row, items, scratch.inputs, out)
    for i in range(items):
        _score(weights, row, items, i, scratch, out)


@kernel
def forward_rows(weights, rows, items, scratch, out):
    """Write `forward` of each row.

    Args:
        weights: SetWeights.
        rows: float64 (sessions, features), C-contiguous.
        items: int64, number of items in each row.
        scratch: Scratch for at least `items` items.
        out: float64 (sessions, outputs), overwritten.
    """
    for s in range(rows.shape[0]):
        forward(weights, rows[s], items, scratch, out[s])


@kernel
def _outputs(weights, stage):
    return weights.layers[weights.stages[stage + 1] - 1].outputs


@kernel
def _run(weights, stage, scratch):
    """Apply the layers of a stage to `scratch.inputs`, in place."""
    for number in range(weights.stages[stage], weights.stages[stage + 1]):
        layer = weights.layers[number]
        inputs, outputs, first = layer.inputs, layer.outputs, layer.first
        bias = weights.numbers[first : first + outputs]
        for o in range(outputs):
            scratch.outputs[o] = bias[o]
        for i in range(inputs):
            first += outputs
            value, weight = scratch.inputs[i], weights.numbers[first : first + outputs]
            for o in range(outputs):
                scratch.outputs[o] += value * weight[o]
        if layer.activation == TANH:
            for o in range(outputs):
                scratch.inputs[o] = math.tanh(scratch.outputs[o])
        elif layer.activation == RELU:
            for o in range(outputs):
                scratch.inputs[o] = max(scratch.outputs[o], 0.0)
        else:
            for o in range(outputs):
                scratch.inputs[o] = scratch.outputs[o]


@kernel
def _encode(weights, items, scratch):
    width, border, encoding = weights.item_width, items * weights.item_width, _outputs(weights, ENCODE)
    for i in range(items):
        for k in range(width):
            scratch.inputs[k] = scratch.compressed[i * width + k]
        for k in range(weights.context):
            scratch.inputs[width + k] = scratch.compressed[border + k]
        _run(weights, ENCODE, scratch)
        for h in range(encoding):
            scratch.encoded[i, h] = scratch.inputs[h]


@kernel
def _present(weights, row, item):
    return row[item * weights.item_width + weights.mask] if weights.mask >= 0 else 1.0


@kernel
def _pool(weights, row, items, scratch):
    """Write the inputs of the trunk: context, mean, maximum, and the encoding of the selected item."""
    context, width = weights.context, weights.item_width
    for k in range(context):
        scratch.inputs[k] = scratch.compressed[items * width + k]
    if items == 0:
        return
    encoding, present = _outputs(weights, ENCODE), 0.0
    for i in range(items):
        present += _present(weights, row, i)
    mean, highest, selected = context, context + encoding, context + 2 * encoding
    for h in range(encoding):
        scratch.inputs[mean + h] = 0.0
        scratch.inputs[highest + h] = 0.0 if weights.mask >= 0 else -np.inf
        if weights.selected >= 0:
            scratch.inputs[selected + h] = 0.0
    for i in range(items):
        is_present = _present(weights, row, i)
        for h in range(encoding):
            value = scratch.encoded[i, h] * is_present
            scratch.inputs[mean + h] += value / max(present, 1.0)
            scratch.inputs[highest + h] = max(scratch.inputs[highest + h], value)
            if weights.selected >= 0:
                scratch.inputs[selected + h] += value * row[i * width + weights.selected]


@kernel
def _score(weights, row, items, item, scratch, out):
    if weights.mask >= 0 and _present(weights, row, item) <= 0.0:
        for k in range(weights.scores):
            out[k * items + item] = ABSENT
        return
    encoding = _outputs(weights, ENCODE)
    for h in range(encoding):
        scratch.inputs[h] = scratch.encoded[item, h]
    for h in range(_outputs(weights, TRUNK)):
        scratch.inputs[encoding + h] = scratch.trunk[h]
    _run(weights, SCORE, scratch)
    for k in range(weights.scores):
        out[k * items + item] = scratch.inputs[k]
    for k in range(weights.item_width):
        scratch.inputs[k] = row[item * weights.item_width + k]
    _run(weights, SKIP, scratch)
    for k in range(weights.scores):
        out[k * items + item] += scratch.inputs[k]


@kernel
def _write_rest(weights, row, items, rest, out):
    """Write the outputs that score no item; with `lag_peak`, the logits of lags from position and log width."""
    first = items * weights.scores
    if weights.lag_peak < 0:
        for o in range(_outputs(weights, REST)):
            out[first + o] = rest[o]
        return
    peak_100_ms = row[items * weights.item_width + weights.lag_peak]
    expected = math.log10(max(10.0 * peak_100_ms, 1.0)) - 1.0
    width = LAG_WIDTH * math.exp(rest[1])
    for i in range(LEVELS):
        position = -1.0 + 2.0 * i / (LEVELS - 1)
        apart = (position - expected - rest[0]) / width
        out[first + i] = -0.5 * (apart * apart)
