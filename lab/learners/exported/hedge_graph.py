"""The hedge of `vcgym.agents.controllers.hedged_lag` in an ONNX graph: vectors over its experts in place of loops."""

import numpy as np

from lab.learners.exported.graph import Graph, GraphValue, merged, where
from vcgym.agents.controllers.hedged_lag import CALL_ARRIVALS, MAX_CREDIT_MS, QUANTILE_HEADROOM_MS, UNIT_MS, HedgedLag
from vcgym.baselines.playout.playout_delay import JUMP_MS, PACE
from vcgym.network.playout import quality

State = dict[str, GraphValue]
EXPERT = ("target_ms", "playout_ms", "credit_ms", "sum_ms", "concealed_ms")


def new_experts(graph: Graph, params: HedgedLag) -> State:
    """Return the state of the experts at the start of a call."""
    zero = graph.constant(np.zeros(params.prior.size))
    return dict.fromkeys(EXPERT, zero) | {"credit_ms": graph.constant(np.full(params.prior.size, MAX_CREDIT_MS))}


def targets_of(headrooms_ms: list[GraphValue], delay_ms: GraphValue, quantile_ms: GraphValue) -> GraphValue:
    """Return the target of each expert: those of the networks, then those of the running quantiles."""
    graph = delay_ms.graph
    networks = [graph.node("Reshape", "float64", delay_ms + one, graph.constant([-1])) for one in headrooms_ms]
    return graph.node("Concat", "float64", *networks, quantile_ms.at_least(delay_ms) + QUANTILE_HEADROOM_MS, axis=0)


def hedge(
    params: HedgedLag, experts: State, targets_ms: GraphValue, played: GraphValue, passed_ms: GraphValue, delay_ms: GraphValue,
    overtaken: GraphValue,
) -> tuple[GraphValue, State]:  # fmt: skip
    """Return the target and the state of the experts after an arrival.

    Args:
        params: the rule.
        experts: float64 (experts,) each, state before the arrival.
        targets_ms: float64 (experts,), targets from the arrival on.
        played: float64, arrivals before this one.
        passed_ms: float64, time since the last one.
        delay_ms: float64, its delay.
        overtaken: bool, a newer packet arrived earlier.
    """
    experts = merged(played > 0.0, _played(experts, passed_ms, delay_ms, overtaken), experts)
    arrivals = played.at_least(1.0)
    r = _rating(experts["sum_ms"] / arrivals + MAX_CREDIT_MS, experts["concealed_ms"] / (UNIT_MS * arrivals))
    logarithm = r * played / (CALL_ARRIVALS * params.temperature) + np.log(params.prior)
    weight = (logarithm - logarithm.apply("ReduceMax", keepdims=0)).apply("Exp")
    target_ms = (weight * targets_ms).apply("ReduceSum", keepdims=0) / weight.apply("ReduceSum", keepdims=0)
    playout_ms = where(played > 0.0, experts["playout_ms"], targets_ms)
    return target_ms, experts | {"target_ms": targets_ms, "playout_ms": playout_ms}


def _played(experts: State, passed_ms: GraphValue, delay_ms: GraphValue, overtaken: GraphValue) -> State:
    target_ms, playout_ms = experts["target_ms"], experts["playout_ms"]
    reach_ms = (experts["credit_ms"] + PACE * passed_ms).at_most(MAX_CREDIT_MS)
    jumps = playout_ms > target_ms + JUMP_MS
    moved_ms = (target_ms - playout_ms).at_least(-reach_ms).at_most(reach_ms)
    drawn_ms = where(jumps, target_ms, playout_ms + moved_ms)
    late_ms = (delay_ms - drawn_ms).at_least(0.0)
    playout_ms = where(overtaken, drawn_ms, drawn_ms + late_ms)
    return {
        "playout_ms": playout_ms,
        "credit_ms": where(jumps, reach_ms, reach_ms - moved_ms.apply("Abs")),
        "sum_ms": experts["sum_ms"] + playout_ms,
        "concealed_ms": experts["concealed_ms"] + where(overtaken, where(late_ms > 0.0, UNIT_MS, late_ms), late_ms),
    }


def _rating(delay_ms: GraphValue, concealed_share: GraphValue) -> GraphValue:
    above_ms, percent = (delay_ms - quality.REDUCED_KNEE_MS).at_least(0.0), 100.0 * concealed_share
    loss = quality.IE_MAX * percent / (percent + quality.BPL_G711_CONCEALED)
    delayed = quality.REDUCED_SLOPE_PER_MS * delay_ms + quality.REDUCED_KNEE_SLOPE_PER_MS * above_ms
    return (quality.R_DEFAULT - delayed - loss).at_least(0.0)
