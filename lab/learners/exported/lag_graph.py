"""A learned lag as an ONNX graph: `vcgym.agents.controllers.learned_lag` and its features, expression by expression.

    inputs    begins     bool: a call begins; the input state is ignored
              history    (paths, 3) float64: samples, mean and standard deviation (ms) of each path
              record     (8,) int64, the fields of `vcgym.baselines.records.Record`, of an arrival
              window.*, seen.*, own.*, expert.*   the state
    outputs   lag_us     int64
              next.*     the state after it

Features are computed in float64 and the network in float32, in the order of the compiled rule.
"""

import math

import numpy as np

from lab.learners.exported.graph import Graph, GraphValue, merged, where
from lab.learners.exported.hedge_graph import EXPERT, hedge, new_experts, targets_of
from vcgym.agents.controllers import arrival_features as arrivals
from vcgym.agents.controllers.hedged_lag import HedgedLag
from vcgym.agents.controllers.learned_lag import START_LAG_US, LearnedLag
from vcgym.baselines.playout.jitter_window import EMPTY_WINDOW, JITTER_WINDOW_US
from vcgym.baselines.playout.playout_delay import JUMP_MS, PACE
from vcgym.baselines.records import MEDIA, Record
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.quality import REDUCED_KNEE_MS

State = dict[str, GraphValue]
_DTYPES = {"i": "int64", "f": "float64"}
_PLACES = EMPTY_WINDOW.delay_us.shape[1]
_WINDOW = ("end", "newest_us", "last_delay_us", "started", "delay_us", "expiry_us")  # the other fields follow from these


def _fields() -> dict[str, tuple[str, tuple[int | str, ...]]]:
    seen = records(arrivals.Arrivals).dtype
    parts = {"window": (EMPTY_WINDOW.dtype, _WINDOW), "seen": (seen, seen.names or ())}
    found: dict[str, tuple[str, tuple[int | str, ...]]] = {
        f"{part}.{name}": (_DTYPES[dtype[name].base.kind], dtype[name].shape) for part, (dtype, names) in parts.items() for name in names
    }
    others = {"own.path_minimum_ms": ("float64", ("paths",)), "own.target_ms": ("float64", ()), "own.playout_ms": ("float64", ())}
    return found | others | {"own.lag_us": ("int64", ())}


FIELDS = _fields()


def lag_graph(params: LearnedLag | HedgedLag) -> bytes:
    """Build the graph of a learned lag; a hedged one has its experts in the state, as expert.*."""
    graph = Graph("learned_lag")
    fields = FIELDS | _expert_fields(params)
    begins, history = graph.input("begins", "bool"), graph.input("history", "float64", ("paths", 3))
    record = graph.input("record", "int64", (len(Record._fields),))
    state = {name: graph.input(name, *kind) for name, kind in fields.items()}
    state = merged(begins, _started(graph, history) | _new_experts(graph, params), state)
    arrival = {name: record[i] for i, name in enumerate(Record._fields)}
    state = merged(arrival["kind"].is_equal(MEDIA), _arrived(params, state, arrival, history), state)
    graph.output("lag_us", state["own.lag_us"])
    for name, value in state.items():
        graph.output(f"next.{name}", value, fields[name][1])
    return graph.content()


def _expert_fields(params: LearnedLag | HedgedLag) -> dict[str, tuple[str, tuple[int | str, ...]]]:
    return {f"expert.{name}": ("float64", params.prior.shape) for name in EXPERT} if isinstance(params, HedgedLag) else {}


def _new_experts(graph: Graph, params: LearnedLag | HedgedLag) -> State:
    return {f"expert.{name}": value for name, value in new_experts(graph, params).items()} if isinstance(params, HedgedLag) else {}


def _started(graph: Graph, history: GraphValue) -> State:
    zeros = {name: graph.constant(np.zeros([n for n in shape if n != "paths"], dtype)) for name, (dtype, shape) in FIELDS.items()}
    never = graph.constant(np.full(_PLACES, -(2**62)))
    unseen_ms = graph.node("Gather", "float64", history, graph.constant(1), axis=1) * 0.0 + math.inf
    return zeros | {
        "window.newest_us": never[0],
        "window.expiry_us": never,
        "seen.newest": graph.constant(-1),
        "seen.newest_us": graph.constant(-SLOT_US),
        "seen.path": graph.constant(-1),
        "seen.changed_us": graph.constant(-(1 << 40)),
        "own.path_minimum_ms": unseen_ms,
        "own.lag_us": graph.constant(START_LAG_US),
    }


def _arrived(params: LearnedLag | HedgedLag, state: State, record: State, history: GraphValue) -> State:
    window, jitter_us = _jitter(state, record)
    seen = {name.removeprefix("seen."): value for name, value in state.items() if name.startswith("seen.")}
    delay_ms = (record["arrived_us"] - record["sent_us"]).cast("float64") / 1000.0
    passed_ms = (record["arrived_us"] - seen["arrived_us"]).cast("float64") / 1000.0
    overtaken = record["packet"] < seen["newest"]
    minimum_ms = state["own.path_minimum_ms"]
    minimum_ms = where(minimum_ms.indices().is_equal(record["path"]), minimum_ms.at_most(delay_ms), minimum_ms)
    seen, of_arrival = _taken(seen, record, delay_ms, overtaken)
    features = _features(seen, minimum_ms, history) | of_arrival | {"above_minimum": jitter_us.cast("float64") / 1000.0 / arrivals.UNIT_MS}
    playout_ms = _followed_ms(state["own.playout_ms"], state["own.target_ms"], passed_ms, delay_ms, overtaken)
    experts = {name: value for name, value in state.items() if name.startswith("expert.")}
    if isinstance(params, HedgedLag):
        networks = [_headroom_ms(LearnedLag(*weights), features) for weights in zip(*params[:3], strict=True)]
        targets_ms = targets_of(networks, seen["delay_ms"], seen["quantile_ms"])
        before = {name.removeprefix("expert."): value for name, value in experts.items()}
        played = state["seen.packets"].cast("float64")
        target_ms, after = hedge(params, before, targets_ms, played, passed_ms, delay_ms, overtaken)
        experts = {f"expert.{name}": value for name, value in after.items()}
    else:
        target_ms = seen["delay_ms"] + _headroom_ms(params, features)
    smallest_ms = delay_ms - jitter_us.cast("float64") / 1000.0
    lag_us = ((playout_ms.at_least(target_ms) - smallest_ms) * 1000.0).apply("Round").cast("int64").at_least(0)
    seen = {f"seen.{name}": value for name, value in seen.items()}
    own = {"path_minimum_ms": minimum_ms, "target_ms": target_ms, "playout_ms": playout_ms, "lag_us": lag_us}
    return window | seen | experts | {f"own.{name}": value for name, value in own.items()}


def _jitter(state: State, record: State) -> tuple[State, GraphValue]:
    """Return the window after an arrival, and the newest delay minus the window's minimum (us)."""
    window = {name: state[f"window.{name}"] for name in _WINDOW}
    graph, begun = record["kind"].graph, window["started"] > 0
    delay_us, before_us = record["arrived_us"] - record["sent_us"], window["last_delay_us"]
    newest_us = window["newest_us"].at_least(record["sent_us"])
    last = (window["end"] - 1) % _PLACES
    stays = window["expiry_us"][last].is_equal(newest_us)
    ring_index = where(stays, last, window["end"] % _PLACES)
    value_us = where(stays, window["delay_us"][last].at_most(before_us), before_us)
    is_written = graph.constant(np.arange(_PLACES)).is_equal(ring_index)
    delays_us, expiry_us = where(is_written, value_us, window["delay_us"]), where(is_written, newest_us, window["expiry_us"])
    counts = expiry_us >= newest_us - JITTER_WINDOW_US
    smallest_us = where(counts, delays_us, np.iinfo(np.int64).max).apply("ReduceMin", keepdims=0)
    jitter_us = where(begun, (delay_us - smallest_us).at_least(0), 0)
    end = where(stays, window["end"], window["end"] + 1)
    grown = {"end": end, "newest_us": newest_us, "delay_us": delays_us, "expiry_us": expiry_us}
    window = merged(begun, grown, window) | {"last_delay_us": delay_us, "started": graph.constant(1)}
    return {f"window.{name}": value for name, value in window.items()}, jitter_us


def _taken(seen: State, record: State, delay_ms: GraphValue, overtaken: GraphValue) -> tuple[State, State]:
    """Return the statistics after an arrival, and the features of the arrival itself."""
    three = delay_ms + np.zeros(3)
    first = {"mean_ms": three, "quantile_ms": three, "delay_ms": delay_ms, "arrived_us": record["arrived_us"], "path": record["path"]}
    seen = merged(seen["packets"].is_equal(0), first, seen)
    gap_ms = (record["arrived_us"] - seen["arrived_us"]).cast("float64") / 1000.0
    skipped = (record["packet"] - seen["newest"]).cast("float64")
    since_ms = (record["sent_us"] - seen["newest_us"]).cast("float64") / 1000.0
    step_ms = delay_ms - seen["mean_ms"][0]
    moved = {name: seen[name] + step_ms for name in ("delay_ms", "mean_ms", "quantile_ms")}
    moved |= {"step_ms": -step_ms, "changed_us": record["arrived_us"], "path": record["path"]}
    followed = merged(~record["path"].is_equal(seen["path"]), moved, seen)
    missing = followed["missing"] * (1.0 - 1.0 / arrivals.MISSING_PACKETS) + (skipped - 1.0) / arrivals.MISSING_PACKETS
    newest = {"missing": missing, "newest": record["packet"], "newest_us": record["sent_us"], "delay_ms": delay_ms}
    old = seen | {"missing": (seen["missing"] - 1.0 / arrivals.MISSING_PACKETS).at_least(0.0)}
    slope = where(overtaken, 0.0, (delay_ms - followed["delay_ms"]) / arrivals.UNIT_MS)
    seen = merged(overtaken, old, followed | _averaged(followed, delay_ms, since_ms) | newest)
    counted = {"packets": seen["packets"] + 1, "sum_ms": seen["sum_ms"] + delay_ms, "arrived_us": record["arrived_us"]}
    bounded = where(overtaken, skipped.at_least(-arrivals.MAX_SKIPPED), (skipped - 1.0).at_most(arrivals.MAX_SKIPPED))
    return seen | counted, {"slope": slope, "gap": gap_ms / arrivals.UNIT_MS, "skipped": bounded}


def _averaged(seen: State, delay_ms: GraphValue, passed_ms: GraphValue) -> State:
    graph, memory_ms = delay_ms.graph, np.array([1.0, *arrivals.MEMORY_MS[1:]])
    fast = graph.constant([True, False, False])
    weight = where(fast, 1.0 / arrivals.PACKETS_FAST, 1.0 - (-passed_ms / memory_ms).apply("Exp"))
    fade = (-math.log(2.0) * passed_ms / arrivals.HALF_LIFE_MS).apply("Exp")
    deviation_ms = seen["deviation_ms"] + weight * ((delay_ms - seen["mean_ms"]).apply("Abs") - seen["deviation_ms"])
    mean_ms = seen["mean_ms"] + weight * (delay_ms - seen["mean_ms"])
    # The compiled loop runs from fast to slow: only the last iteration sees updated slow values.
    slowest = graph.constant([False, False, True])
    slow_mean_ms = where(slowest, mean_ms[2], seen["mean_ms"][2])
    slow_deviation_ms = where(slowest, deviation_ms[2], seen["deviation_ms"][2])
    step_ms = arrivals.QUANTILE_STEP * (slow_deviation_ms + arrivals.MIN_DEVIATION_MS)
    moves = where(delay_ms > seen["quantile_ms"], graph.constant(arrivals.QUANTILE), graph.constant(arrivals.QUANTILE - 1.0))
    return {
        "deviation_ms": deviation_ms,
        "mean_ms": mean_ms,
        "peak_ms": (seen["peak_ms"] * fade).at_least(delay_ms - slow_mean_ms),
        "quantile_ms": seen["quantile_ms"] + step_ms * moves,
    }


def _features(seen: State, minimum_ms: GraphValue, history: GraphValue) -> State:
    """Return the features computed from the statistics; None is a placeholder for a feature of the arrival."""
    delay_ms, imputed = seen["delay_ms"], history[seen["path"]]
    since_ms = (seen["arrived_us"] - seen["changed_us"]).cast("float64") / 1000.0
    fading = (-math.log(2.0) * since_ms / arrivals.CHANGE_HALF_LIFE_MS).apply("Exp")
    recent = where(since_ms < 20.0 * arrivals.CHANGE_HALF_LIFE_MS, fading, 0.0)
    return {
        "above": (delay_ms - seen["mean_ms"]) / arrivals.UNIT_MS,
        "deviation": seen["deviation_ms"] / arrivals.UNIT_MS,
        "peak": (seen["peak_ms"] + seen["mean_ms"][2] - delay_ms) / arrivals.UNIT_MS,
        "quantile": (seen["quantile_ms"] - delay_ms) / arrivals.UNIT_MS,
        "above_minimum": delay_ms,
        "above_path_minimum": (delay_ms - minimum_ms[seen["path"]]) / arrivals.UNIT_MS,
        "above_history": (delay_ms - imputed[1]) / arrivals.UNIT_MS,
        "history_sd": imputed[2] / arrivals.UNIT_MS,
        "slope": delay_ms,
        "gap": delay_ms,
        "skipped": delay_ms,
        "missing": 100.0 * seen["missing"],
        "since_change": recent,
        "change_step": recent * seen["step_ms"] / arrivals.UNIT_MS,
        "level_slow": (seen["mean_ms"][2] - REDUCED_KNEE_MS) / arrivals.UNIT_MS,
        "level_call": (seen["sum_ms"] / seen["packets"].cast("float64") - REDUCED_KNEE_MS) / arrivals.UNIT_MS,
    }


def _followed_ms(
    playout_ms: GraphValue, target_ms: GraphValue, passed_ms: GraphValue, delay_ms: GraphValue, overtaken: GraphValue
) -> GraphValue:
    pace_ms = PACE * passed_ms
    playout_ms = playout_ms + (target_ms - playout_ms).at_least(-pace_ms).at_most(pace_ms)
    playout_ms = where(overtaken, playout_ms, playout_ms.at_least(delay_ms))
    return where(playout_ms > target_ms + JUMP_MS, target_ms.at_least(delay_ms), playout_ms)


def _headroom_ms(params: LearnedLag, features: State) -> GraphValue:
    graph = features["gap"].graph
    flat = [graph.node("Reshape", "float64", feature, graph.constant([-1])) for feature in features.values()]
    x = graph.node("Concat", "float64", *flat, axis=0).cast("float32")
    x = x / (1.0 + x.apply("Abs")).apply("Sqrt")
    for layer in (params.first, params.second):
        x = _summed(graph.node("Reshape", "float32", x, graph.constant([-1, 1])), layer).apply("Relu")
    out = _summed(x, params.last).cast("float64")
    return arrivals.UNIT_MS * (out.at_least(0.0) + (1.0 + (-out.apply("Abs")).apply("Exp")).apply("Log"))


def _summed(x: GraphValue, layer: np.ndarray) -> GraphValue:
    """Return the bias, the last row, and then the products with each row added one by one: a matrix product would add in another order."""
    graph = x.graph
    terms = graph.node("Concat", "float32", graph.constant(layer[-1:]), x * layer[:-1], axis=0)
    return graph.node("CumSum", "float32", terms, graph.constant(0))[-1]
