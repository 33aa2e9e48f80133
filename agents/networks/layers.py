"""Layers of a small network, evaluated so that a row never depends on the batch it is in: each output adds its inputs in order."""

import math

import numpy as np

from vcgym.network.kernels.jit import allocating_kernel


@allocating_kernel
def affine(inputs, weight, bias):
    """(rows, outputs) float64: weight (outputs, inputs) times each row of `inputs`, and bias (outputs,)."""
    outputs = np.empty((inputs.shape[0], weight.shape[0]))
    transposed = weight.T.copy()
    for s in range(inputs.shape[0]):
        for o in range(bias.shape[0]):
            outputs[s, o] = bias[o]
        for i in range(inputs.shape[1]):
            for o in range(bias.shape[0]):
                outputs[s, o] += inputs[s, i] * transposed[i, o]
    return outputs


@allocating_kernel
def squash(values, tanh):
    """Activation in place: tanh, or the part above zero."""
    for s in range(values.shape[0]):
        for o in range(values.shape[1]):
            values[s, o] = math.tanh(values[s, o]) if tanh else max(values[s, o], 0.0)


@allocating_kernel
def compress(values):
    """The arcsinh of each value."""
    out = np.empty(values.shape)
    for s in range(values.shape[0]):
        for i in range(values.shape[1]):
            out[s, i] = math.asinh(values[s, i])
    return out
