"""A policy that can learn: a learned rule in the form in which it can also learn inside the loop (`vcgym.agents.inside`), five functions.

    observe(params, state, s, record) -> bool    learn from a record; True: a decision is due
    due(params, state, s, now_us) -> bool        True: a decision is due at this instant, in which the batch asks for the rule's answer
    output(params, state, s) -> float32          output of the network for the features in `state.x[s]`
    act(params, state, s, out, now_us)           carry a decision out, for an output or for what was drawn from it
    answer(params, state, s) -> int              decision in force, as of `vcgym.baselines.rule.decide`

A due decision finds its features in the part `x` of the state, float32 (sessions, features); `LAYERS` is the part `layers`. From these
functions follow `update` and `decide` of the rule as it is ranked, and of the same rule while it explores. A send order has two others,
since its batch asks for packets:

    consider(params, state, s, queue, now_us, rtt_us) -> int    index of the packet that a decision is due about; -1: none is
    place(params, queue, index, now_us, rtt_us, out) -> int     decision about it, as of `vcgym.baselines.order.scheduler.choose`
"""

from typing import Any

import numpy as np

from vcgym.baselines.declared import add_methods
from vcgym.baselines.rule import Rows, Rule, decide, update
from vcgym.network.kernels.generic import generic
from vcgym.network.kernels.jit import kernel


@generic(inlined=True)
def observe(params: Any, state: Any, s: int, record: Any) -> bool:
    """Learn from one record; return True if a decision is due. By default nothing is learned and none is due.

    Args:
        params: parameters of the policy.
        state: its state; row `s` is updated.
        s: int64, row.
        record: as for `update`; with its `arrived_us` the time of a decision that is due.
    """
    return False


@generic(inlined=True)
def due(params: Any, state: Any, s: int, now_us: int) -> bool:
    """Return True if a decision is due at this instant; by default none is.

    Args:
        params: parameters of the policy.
        state: its state; row `s` may be updated.
        s: int64, row.
        now_us: int64, current time.
    """
    return False


@generic(inlined=True)
def output(params: Any, state: Any, s: int) -> Any:
    """Return the output of the network for the features of row `s`, float32; by default of two layers, see `two_layers`."""
    return two_layers(params, state.x[s], state.layers[s])


@generic(abstract=True, inlined=True)
def act(params: Any, state: Any, s: int, out: Any, now_us: int) -> None:
    """Carry out the decision that is due.

    Args:
        params: parameters of the policy.
        state: its state; row `s` is updated.
        s: int64, row.
        out: float32, output of the network; while the policy explores, what was drawn from it.
        now_us: int64, time of the decision.
    """


@generic(abstract=True, inlined=True)
def answer(params: Any, state: Any, s: int) -> Any:
    """Return the decision in force of row `s`: path index, lag or target in microseconds, or rate in bit/s."""


@generic(abstract=True)
def consider(params: Any, state: Any, s: int, queue: Any, now_us: int, rtt_us: int) -> Any:
    """Return the index of the packet that a decision is due about, with its features in `state.x[s]`; -1 if none is.

    Args:
        params: parameters of the policy.
        state: its state; row `s` is updated.
        s: int64, row.
        queue: record of SendQueue, not empty; read only.
        now_us: int64, time of the transmission opportunity.
        rtt_us: int64, smoothed round trip, 0 before the first report.
    """


@generic(abstract=True)
def place(params: Any, queue: Any, index: int, now_us: int, rtt_us: int, out: Any) -> Any:
    """Return the decision about a packet: its index, or `vcgym.baselines.order.scheduler.drop` of it.

    Args:
        params: parameters of the policy.
        queue: record of SendQueue, not empty; read only.
        index: int64, index of the packet.
        now_us: int64, time of the transmission opportunity.
        rtt_us: int64, smoothed round trip, 0 before the first report.
        out: float32, as for `act`.
    """


add_methods(observe, due, output, act, answer, consider, place)

LAYERS = Rows(np.float32, lambda params, paths: 2 * params.second.shape[-1])
"""Work space of `two_layers`."""


def policy(cls: Rule) -> Rule:
    """Register `update` and `decide` of a rule, as they follow from the five functions."""
    update.register(cls)(_update)
    decide.register(cls)(_decide)
    return cls


def _update(params, state, s, record):
    if observe(params, state, s, record):
        act(params, state, s, output(params, state, s), record.arrived_us)


def _decide(params, state, s, now_us):
    if due(params, state, s, now_us):
        act(params, state, s, output(params, state, s), now_us)
    return answer(params, state, s)


def require_numbers(name: str, values: Any, count: int) -> None:
    """Check that an array has `count` finite numbers.

    Raises:
        ValueError: it has not.
    """
    if values.shape != (count,) or not np.isfinite(values).all():
        raise ValueError(f"{name} = {values}: allowed are {count} finite numbers")


def require_network(params: Any, width: int) -> None:
    """Check the network of a rule (`first`, `second`, `last`) for `width` features.

    Raises:
        ValueError: the layers do not fit together, or a number of the rule is not finite.
    """
    hidden = int(params.first.shape[-1]) if params.first.ndim else 0
    if params.first.shape != (width + 1, hidden) or params.second.shape != (hidden + 1, hidden) or params.last.shape != (hidden + 1,):
        shapes = params.first.shape, params.second.shape, params.last.shape
        raise ValueError(f"weights have shapes {shapes}: allowed are ({width + 1}, h), (h + 1, h) and (h + 1,)")
    if not all(np.isfinite(layer).all() for layer in params):
        raise ValueError("weights have a value that is not finite; allowed are finite ones")


@kernel
def two_layers(params, x, layers):
    """Return w3 relu(W2 relu(W1 x + b1) + b2) + b3, float32.

    Args:
        params: with `first`, `second` and `last`, float32 weights, the last row of each the bias.
        x: float32 (features,).
        layers: float32 (2 hidden,), work space.
    """
    hidden = layers.size // 2
    _layer(params.first, x, layers[:hidden])
    _layer(params.second, layers[:hidden], layers[hidden:])
    out = params.last[hidden]
    for j in range(hidden):
        out += params.last[j] * layers[hidden + j]
    return out


@kernel
def _layer(weights, x, out):
    """Write relu(x weights + bias) into `out`."""
    for j in range(out.size):
        out[j] = weights[x.size, j]
    for i in range(x.size):
        for j in range(out.size):
            out[j] += weights[i, j] * x[i]
    for j in range(out.size):
        out[j] = max(out[j], np.float32(0.0))
