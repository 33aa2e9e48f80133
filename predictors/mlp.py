"""The network of the VCRoute paper (arXiv 2310.05054, IV-B2): from transmit delay and jitter to end-to-end delay.

It has 2 inputs, three hidden layers of 64 units with ReLU, and one linear output: 8,577 trainable parameters. Inputs and output are
standardised by fixed means and standard deviations, which the paper does not give and which are not trained.

All arithmetic is float32 without contraction (no fused multiply-add). The order of summation is the same for any vector width: groups of
four inputs, (a + b) + (c + d), are added to the bias. Weights are stored by input, so the contributions of one input to all 64 outputs are
contiguous. Four rows of inputs are evaluated in lockstep: each weight is read once for the four, and each row gives the same bits as alone.

Left out: how it is trained.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.network.kernels.jit import kernel
from vcgym.predictors.predictor import check_predictor, predict_e2e, predict_row
from vcgym.predictors.scratch import SCRATCH, scratch

Floats = NDArray[np.float32]

HIDDEN = SCRATCH  # units per hidden layer
# Shapes of weights (inputs, outputs), where the single output has no axis, and of biases.
LAYERS = (((2, HIDDEN), (HIDDEN,)), *(((HIDDEN, HIDDEN), (HIDDEN,)),) * 2, ((HIDDEN,), (1,)))
RANGES_MS = ((0.0, 1000.0), (0.0, 500.0))  # transmit delays and jitters that a forecast meets

_ZERO = np.float32(0.0)
_CACHE_LINE = 64  # bytes; unaligned weights take a third longer to read


class Network(NamedTuple):
    """Parameters, C-contiguous float32 arrays; made by `make_network`. Inputs are in the order transmit delay, jitter."""

    input_mean_ms: Floats  # (2,)
    input_per_sd: Floats  # (2,) 1 / standard deviation, per ms
    weights_1: Floats  # (2, 64): inputs, outputs
    biases_1: Floats  # (64,)
    weights_2: Floats  # (64, 64)
    biases_2: Floats  # (64,)
    weights_3: Floats  # (64, 64)
    biases_3: Floats  # (64,)
    weights_4: Floats  # (64,)
    biases_4: Floats  # (1,)
    output_mean_ms: Floats  # (1,)
    output_sd_ms: Floats  # (1,)


_SHAPES = ((2,), (2,), *(shape for layer in LAYERS for shape in layer), (1,), (1,))


@check_predictor.register(Network)
def require_network(params: Network) -> None:
    """Raise an error for arrays that the kernel would misread.

    Raises:
        TypeError: a field is not a float32 array.
        ValueError: a field has a wrong shape or memory order, or a non-finite value; a standard deviation is not positive.
    """
    for name, values, shape in zip(Network._fields, params, _SHAPES, strict=True):
        where = f"Network.{name}"
        if not isinstance(values, np.ndarray) or values.dtype != np.float32:
            found = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
            raise TypeError(f"{where} is of type {found}; allowed is an array of float32")
        if values.shape != shape or not values.flags.c_contiguous:
            order = "C-contiguous" if values.flags.c_contiguous else "not C-contiguous"
            raise ValueError(f"{where} has shape {values.shape}, {order}; allowed is {shape}, C-contiguous")
        if not np.isfinite(values).all():
            raise ValueError(f"{where} holds {values[~np.isfinite(values)][0]}; allowed are finite numbers")
        if name in ("input_per_sd", "output_sd_ms") and values.min() <= 0.0:
            raise ValueError(f"{where} holds {values.min()}; allowed are numbers above 0")


def make_network(
    layers: Sequence[tuple[Floats, Floats]],
    input_mean_ms: tuple[float, float],
    input_sd_ms: tuple[float, float],
    output_mean_ms: float,
    output_sd_ms: float,
) -> Network:
    """Build a network from copies of the given arrays.

    Args:
        layers: weights and biases, float32, of shapes `LAYERS`.
        input_mean_ms: means of transmit delay and jitter.
        input_sd_ms: standard deviations of both, above 0.
        output_mean_ms: mean of the end-to-end delay.
        output_sd_ms: standard deviation of the end-to-end delay, above 0.

    Raises:
        TypeError: an array is not float32.
        ValueError: a wrong number of layers, a wrong shape, a non-finite number, or a standard deviation that is not positive.
    """
    if len(layers) != len(LAYERS):
        raise ValueError(f"layers has {len(layers)} entries; allowed is {len(LAYERS)}, of the shapes {LAYERS}")
    if not all(sd_ms > 0.0 for sd_ms in input_sd_ms):
        raise ValueError(f"input_sd_ms is {input_sd_ms}; allowed are numbers above 0")
    scaling = [np.asarray(numbers, np.float32) for numbers in (input_mean_ms, 1.0 / np.asarray(input_sd_ms))]
    out = [np.asarray([number], np.float32) for number in (output_mean_ms, output_sd_ms)]
    given = Network(*scaling, *(array for layer in layers for array in layer), *out)
    require_network(given)
    return aligned(given)


def aligned(network: Network) -> Network:
    """Return a copy whose arrays are aligned to cache lines, which the kernel reads fastest."""
    return Network(*map(_aligned, network))


def _aligned(values: Floats) -> Floats:
    memory = np.empty(values.nbytes + _CACHE_LINE, np.uint8)
    skip = -memory.ctypes.data % _CACHE_LINE
    copy = memory[skip : skip + values.nbytes].view(np.float32).reshape(values.shape)
    copy[...] = values
    return copy


@predict_e2e.register(Network)
def network_e2e(params, transmit_delay_ms, jitter_ms):
    odd, even = scratch(), scratch()
    _first(params, transmit_delay_ms, jitter_ms, odd)
    _hidden(params.weights_2, params.biases_2, odd, even)
    _hidden(params.weights_3, params.biases_3, even, odd)
    return np.float64(_last(params, odd))


@predict_row.register(Network)
def network_row(params, transmit_delay_ms, jitter_ms, forecast_ms):
    together = forecast_ms.size - forecast_ms.size % 4
    for i in range(0, together, 4):
        _four(params, transmit_delay_ms[i : i + 4], jitter_ms[i : i + 4], forecast_ms[i : i + 4])
    for i in range(together, forecast_ms.size):
        forecast_ms[i] = predict_e2e(params, transmit_delay_ms[i], jitter_ms[i])


@kernel
def _first(params, transmit_delay_ms, jitter_ms, outputs):
    transmit = (np.float32(transmit_delay_ms) - params.input_mean_ms[0]) * params.input_per_sd[0]
    jitter = (np.float32(jitter_ms) - params.input_mean_ms[1]) * params.input_per_sd[1]
    for o in range(HIDDEN):
        outputs[o] = max(params.biases_1[o] + (transmit * params.weights_1[0, o] + jitter * params.weights_1[1, o]), _ZERO)


@kernel
def _hidden(weights, biases, inputs, outputs):
    for o in range(HIDDEN):
        outputs[o] = biases[o]
    # Four inputs at a time: sums are loaded and stored a quarter as often, and dependency chains are shorter.
    for i in range(0, HIDDEN, 4):
        a, b, c, d = inputs[i], inputs[i + 1], inputs[i + 2], inputs[i + 3]
        for o in range(HIDDEN):
            outputs[o] += (a * weights[i, o] + b * weights[i + 1, o]) + (c * weights[i + 2, o] + d * weights[i + 3, o])
    for o in range(HIDDEN):
        outputs[o] = max(outputs[o], _ZERO)


@kernel
def _four(params, transmit_delay_ms, jitter_ms, forecast_ms):
    odd, even = (scratch(), scratch(), scratch(), scratch()), (scratch(), scratch(), scratch(), scratch())
    for n in range(4):
        _first(params, transmit_delay_ms[n], jitter_ms[n], odd[n])
    _hidden_four(params.weights_2, params.biases_2, odd, even)
    _hidden_four(params.weights_3, params.biases_3, even, odd)
    for n in range(4):
        forecast_ms[n] = np.float64(_last(params, odd[n]))


@kernel
def _hidden_four(weights, biases, inputs, outputs):
    """Run `_hidden` for four rows, each with the same order of summation."""
    (p, q, r, s), (p_out, q_out, r_out, s_out) = inputs, outputs
    for o in range(HIDDEN):
        p_out[o] = q_out[o] = r_out[o] = s_out[o] = biases[o]
    for i in range(0, HIDDEN, 4):
        for o in range(HIDDEN):
            a, b, c, d = weights[i, o], weights[i + 1, o], weights[i + 2, o], weights[i + 3, o]
            p_out[o] += (p[i] * a + p[i + 1] * b) + (p[i + 2] * c + p[i + 3] * d)
            q_out[o] += (q[i] * a + q[i + 1] * b) + (q[i + 2] * c + q[i + 3] * d)
            r_out[o] += (r[i] * a + r[i + 1] * b) + (r[i + 2] * c + r[i + 3] * d)
            s_out[o] += (s[i] * a + s[i + 1] * b) + (s[i + 2] * c + s[i + 3] * d)
    for o in range(HIDDEN):
        p_out[o], q_out[o] = max(p_out[o], _ZERO), max(q_out[o], _ZERO)
        r_out[o], s_out[o] = max(r_out[o], _ZERO), max(s_out[o], _ZERO)


@kernel
def _last(params, inputs):
    """Return the output in ms. Four groups of sixteen are summed, then four of four: sequential sums have longer dependency chains."""
    weights, sixteen, four = params.weights_4, scratch(), scratch()
    for i in range(16):
        left = inputs[i] * weights[i] + inputs[i + 16] * weights[i + 16]
        sixteen[i] = left + (inputs[i + 32] * weights[i + 32] + inputs[i + 48] * weights[i + 48])
    for i in range(4):
        four[i] = (sixteen[i] + sixteen[i + 4]) + (sixteen[i + 8] + sixteen[i + 12])
    total = (four[0] + four[1]) + (four[2] + four[3])
    return params.output_mean_ms[0] + params.output_sd_ms[0] * (params.biases_4[0] + total)
