"""A learned router as an ONNX graph: `vcgym.agents.controllers.learned_router`, expression by expression, in float64; or the gated one.

    inputs    begins     bool: a call begins; the input state is ignored
              history    (paths, 3) float64: samples, mean and standard deviation (ms) of each path
              learns     bool: `record` is new
              record     (8,) int64, the fields of `vcgym.baselines.records.Record`
              decides    bool: a path must be chosen
              now_us     int64
              call.*, arm.*   the state, numbers and (paths,) arrays
    outputs   path       int64: path in use
              next.call.*, next.arm.*   the state after it

It differs from the compiled rule only by the rounding of Exp.
"""

import math
from collections.abc import Callable

import numpy as np

from lab.learners.exported.graph import Graph, GraphValue, merged, where
from vcgym.agents.controllers import gated_router as gated
from vcgym.agents.controllers import learned_router as rule
from vcgym.agents.controllers.gated_router import GatedRouter
from vcgym.agents.controllers.learned_router import LearnedRouter
from vcgym.baselines.records import MEDIA, Record
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.playout.quality import REDUCED_KNEE_MS
from vcgym.network.worlds.world import HISTORY_BLOCKS

State = dict[str, GraphValue]
Prices = np.ndarray | GraphValue
_STATE = {"call": records(rule.Call).dtype, "arm": records(rule.Arm).dtype}
_CALL, _ARM = (dtype.names or () for dtype in _STATE.values())
_DTYPES = {"i": "int64", "f": "float64"}
_FIELDS = {f"{part}.{name}": _DTYPES[dtype[name].kind] for part, dtype in _STATE.items() for name in dtype.names or ()}


def router_graph(params: LearnedRouter | GatedRouter) -> bytes:
    """Build the graph of a learned router."""
    graph = Graph("learned_router")
    begins, history = graph.input("begins", "bool"), graph.input("history", "float64", ("paths", 3))
    learns, record = graph.input("learns", "bool"), graph.input("record", "int64", (len(Record._fields),))
    decides, now_us = graph.input("decides", "bool"), graph.input("now_us", "int64")
    state = {name: graph.input(name, dtype, _shape(name)) for name, dtype in _FIELDS.items()}
    state = merged(begins, _started(history), state)
    state = merged(learns, _learned(_prices(params, state), state, {name: record[i] for i, name in enumerate(Record._fields)}), state)
    state = merged(decides, _decided(_prices(params, state), state, now_us), state)
    graph.output("path", state["call.path"])
    for name, value in state.items():
        graph.output(f"next.{name}", value, _shape(name))
    return graph.content()


def _shape(name: str) -> tuple[str, ...]:
    return ("paths",) if name.startswith("arm.") else ()


def _prices(params: LearnedRouter | GatedRouter, state: State) -> Prices:
    """Return the prices in force."""
    if isinstance(params, LearnedRouter):
        return params.prices
    smooth, rough = (state["call.step_ms"].graph.constant(prices) for prices in params.prices)
    gate = ((state["call.step_ms"] / state["call.spread_ms"] - gated.SMOOTH) / (gated.ROUGH - gated.SMOOTH)).at_least(0.0).at_most(1.0)
    return smooth + where(state["call.packets"] >= float(gated.KNOWN_PACKETS), gate, 1.0) * (rough - smooth)


def _exp(value: float | GraphValue) -> float | GraphValue:
    return value.apply("Exp") if isinstance(value, GraphValue) else math.exp(value)


def _started(history: GraphValue) -> State:
    graph = history.graph
    samples, mean_ms, sd_ms = (graph.node("Gather", "float64", history, graph.constant(column), axis=1) for column in range(3))
    known = samples >= 1.0
    count = known.cast("int64").apply("ReduceSum", keepdims=0)
    paths = graph.node("Shape", "int64", mean_ms)
    ascending = graph.node("TopK", "float64", where(known, mean_ms, math.inf), paths, outputs=2, largest=0)
    middle = (ascending[((count - 1) / 2).at_least(0)] + ascending[(count / 2).at_most(paths[0] - 1)]) * 0.5
    usual_ms = where(known, mean_ms, where(count > 0, middle, 0.0))
    none = mean_ms * 0.0
    call = {name: graph.constant(0, _FIELDS[f"call.{name}"]) for name in _CALL}
    call |= {"path": graph.constant(-1), "newest": graph.constant(-1), "packets": graph.constant(float(rule.MEAN_PACKETS))}
    call |= {"sum_ms": float(rule.MEAN_PACKETS) * usual_ms.apply("ReduceMin", keepdims=0), "spread_ms": graph.constant(1.0)}
    arm = {name: none.cast(_FIELDS[f"arm.{name}"]) for name in _ARM}
    arm |= {"usual_ms": usual_ms, "sd_ms": sd_ms, "sent_us": arm["sent_us"] - 1, "packet": arm["packet"] - 1}
    arm["missing"] = 100.0 * (1.0 - samples / float(HISTORY_BLOCKS * BLOCK_SLOTS)).at_least(0.0)
    return {f"call.{name}": value for name, value in call.items()} | {f"arm.{name}": value for name, value in arm.items()}


def _learned(prices: Prices, state: State, record: State) -> State:
    kind, packet, path, sent_us, arrived_us, known_us, lag_us, _ = record.values()
    is_path = state["arm.usual_ms"].indices().is_equal(path)
    arm = {name: state[f"arm.{name}"][path] for name in _ARM}
    call = {name: state[f"call.{name}"] for name in _CALL}
    delay_ms, media = (arrived_us - sent_us).cast("float64") / 1000.0, kind.is_equal(MEDIA)
    call |= merged(media, {"sum_ms": call["sum_ms"] + delay_ms, "packets": call["packets"] + 1.0}, call)
    news_of_call, news_of_arm = _fed_back(call, arm, packet, known_us, lag_us, delay_ms)
    is_news = media & (packet > call["newest"])
    call |= merged(is_news, news_of_call, call)
    arm |= merged(is_news, news_of_arm, arm)
    arm |= merged(~media, {"missing_call": arm["missing_call"] * rule.PROBED}, arm)
    arm |= merged((sent_us - arm["sent_us"]) > 0, _excess(prices, call, arm, sent_us, delay_ms), arm)
    return {f"call.{name}": value for name, value in call.items()} | {
        f"arm.{name}": where(is_path, value, state[f"arm.{name}"]) for name, value in arm.items()
    }


def _fed_back(
    call: State, arm: State, packet: GraphValue, known_us: GraphValue, lag_us: GraphValue, delay_ms: GraphValue
) -> tuple[State, State]:
    follows = (arm["packet"] >= 0) & call["newest"].is_equal(arm["packet"])
    skipped = (packet - call["newest"] - 1).at_most(20).cast("float64")
    missing = (arm["missing_call"] * (1.0 - 1.0 / rule.MISSING_PACKETS) + 100.0 * skipped / rule.MISSING_PACKETS).at_most(100.0)
    weight = 1.0 / rule.ROUGH_PACKETS
    steps = {
        "step_ms": call["step_ms"] + weight * ((delay_ms - call["delay_ms"]).apply("Abs") - call["step_ms"]),
        "spread_ms": call["spread_ms"] + weight * ((delay_ms - call["mean_ms"]).apply("Abs") - call["spread_ms"]),
        "mean_ms": call["mean_ms"] + weight * (delay_ms - call["mean_ms"]),
    }
    rough = merged(follows, steps, call | {"mean_ms": delay_ms})
    known = {"delay_ms": delay_ms, "newest": packet, "lag_ms": lag_us.cast("float64") / 1000.0, "news_us": known_us}
    return rough | known, {"missing_call": where(follows, missing, arm["missing_call"]), "packet": packet}


def _excess(prices: Prices, call: State, arm: State, sent_us: GraphValue, delay_ms: GraphValue) -> State:
    first = arm["sent_us"] < 0
    since_ms = -(sent_us - arm["sent_us"]).cast("float64") / 1000.0
    smoothing = prices[rule.SHARED.log_smoothing_ms] + prices[rule.SHARED.smoothing_rough] * _roughness(call)
    weight = where(first, 1.0, 1.0 - (since_ms * (-smoothing).apply("Exp")).apply("Exp"))
    slow = where(first, 0.0, 1.0 - (since_ms * _exp(-prices[rule.SHARED.log_deviation_ms])).apply("Exp"))
    excess_ms = delay_ms - arm["usual_ms"]
    return {
        "deviation_ms": arm["deviation_ms"] + slow * ((excess_ms - arm["excess_ms"]).apply("Abs") - arm["deviation_ms"]),
        "excess_ms": arm["excess_ms"] + weight * (excess_ms - arm["excess_ms"]),
        "sent_us": sent_us,
    }


def _roughness(call: State) -> GraphValue:
    return ((call["step_ms"] / call["spread_ms"] - rule.SMOOTH) / (rule.ROUGH - rule.SMOOTH)).at_least(0.0).at_most(1.0)


def _decided(prices: Prices, state: State, now_us: GraphValue) -> State:
    graph = now_us.graph
    call = {name: state[f"call.{name}"] for name in _CALL}
    arms = {name: state[f"arm.{name}"] for name in _ARM}
    above_ms = call["sum_ms"] / call["packets"] - REDUCED_KNEE_MS - prices[rule.SHARED.blend_from_ms]
    above = above_ms * _exp(-prices[rule.SHARED.log_blend_ms])
    blend = 1.0 / (1.0 + (-above.at_least(-30.0).at_most(30.0)).apply("Exp"))

    def blended(which: int) -> GraphValue:
        return prices[which] + blend * (prices[len(rule.BELOW) + which] - prices[which])

    shared_ms, rough = _shared_ms(prices, arms, now_us), _roughness(call)
    begun = call["path"] >= 0
    current = call["path"].at_least(0)
    silent = begun & (_silent_ms(call, arms, current, now_us) > 0.0)
    silent = silent & arms["usual_ms"].indices().is_equal(current)
    arms["missing_call"] = where(silent, arms["missing_call"] + (100.0 - arms["missing_call"]) / rule.MISSING_PACKETS, arms["missing_call"])
    arms |= _costs(prices, arms, blended, now_us, shared_ms, rough)
    best = graph.node("ArgMin", "int64", arms["cost_ms"], axis=0, keepdims=0)
    usual_ms, expected_ms, cost_ms = (arms[name] for name in ("usual_ms", "expected_ms", "cost_ms"))
    slower_ms = usual_ms[best] + expected_ms[best] - usual_ms[current] - expected_ms[current] - prices[rule.SHARED.bridge] * call["lag_ms"]
    price_ms = blended(rule.BELOW.margin_ms) + blended(rule.BELOW.slower) * slower_ms.at_least(0.0)
    price_ms = price_ms + (blended(rule.BELOW.margin_shared) * shared_ms + prices[rule.SHARED.margin_rough_ms] * rough)
    changes = begun & ~best.is_equal(current) & (cost_ms[best] + price_ms < cost_ms[current])
    path = where(begun & ~changes, call["path"], best)
    changed = {"call.path": path, "call.news_us": where(changes, now_us, call["news_us"])}
    return changed | {f"arm.{name}": arms[name] for name in ("missing_call", "expected_ms", "cost_ms")}


def _shared_ms(prices: Prices, arms: State, now_us: GraphValue) -> GraphValue:
    fresh_us = 1000.0 * _exp(prices[rule.SHARED.log_fresh_ms])
    fresh = (arms["sent_us"] >= 0) & ((now_us - arms["sent_us"]).cast("float64") < fresh_us)
    min_ms = where(fresh, arms["excess_ms"], math.inf).apply("ReduceMin", keepdims=0)
    return where(min_ms < math.inf, min_ms, 0.0).at_least(0.0)


def _silent_ms(call: State, arms: State, current: GraphValue, now_us: GraphValue) -> GraphValue:
    silent_ms = (now_us - call["news_us"]).cast("float64") / 1000.0 - rule.SILENCE_MS
    return silent_ms - 2.0 * (arms["usual_ms"][current] + arms["expected_ms"][current].at_least(0.0))


def _costs(
    prices: Prices, arms: State, blended: Callable[[int], GraphValue], now_us: GraphValue, shared_ms: GraphValue, rough: GraphValue
) -> State:  # fmt: skip
    by_excess = (1.0 + blended(rule.BELOW.excess) + prices[rule.SHARED.excess_rough] * rough).at_least(0.0)
    rate = math.log(2.0) / 1000.0 * (-blended(rule.BELOW.log_half_life_ms)).apply("Exp")
    floor_ms = blended(rule.BELOW.guard) * shared_ms
    heard = arms["sent_us"] >= 0
    # An age of -1 for a path without feedback keeps Exp finite.
    age_us = where(heard, now_us - arms["sent_us"], -1).cast("float64")
    fade = where(heard, (-rate * age_us).apply("Exp"), 0.0)
    expected_ms = arms["excess_ms"] * fade
    expected_ms = where(floor_ms > 0.0, expected_ms.at_least(floor_ms), expected_ms)
    spread_ms = blended(rule.BELOW.deviation) * arms["deviation_ms"] + blended(rule.BELOW.sd_history) * arms["sd_ms"]
    spread_ms = where(heard, spread_ms, blended(rule.BELOW.sd_unreported) * arms["sd_ms"])
    cost_ms = arms["usual_ms"] + by_excess * expected_ms + spread_ms + blended(rule.BELOW.missing_history) * arms["missing"]
    return {"expected_ms": expected_ms, "cost_ms": cost_ms + blended(rule.BELOW.missing_call) * arms["missing_call"]}
