"""The tables of docs/envs.md, made from the code: ``python -m vcgym.envs.tables > docs/envs.md``."""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from vcgym.baselines.records import PacketFeedback, Record
from vcgym.envs.call.batch import LOCATIONS
from vcgym.envs.call.features.call import CALL_FEATURES
from vcgym.envs.call.features.forecast import FORECAST_FEATURE
from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.features.path import PATH_FEATURES
from vcgym.envs.call.features.records import RECORDS_SHOWN
from vcgym.envs.call.features.relative import HALF_LIFE_S, SLOT_FEATURES, relative_call_features
from vcgym.envs.call.features.scales import MAX_LAG_US, MIN_LAG_US
from vcgym.envs.call.features.sender.queue import QUEUE_FEATURES
from vcgym.envs.call.features.sender.records import FEEDBACK_WIDTH, ITEM_WIDTH, MAX_FEEDBACK_ROWS
from vcgym.envs.call.features.sender.remote import ORDER_COMMANDED, RATE_COMMANDED, REMOTE_FEATURES
from vcgym.envs.call.features.sender.sender import ORDER_FEATURES
from vcgym.envs.call.rewards.emodel import TICKS_PER_MINUTE
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.utility import Utility
from vcgym.envs.call.sender.controllers import ORDERS
from vcgym.envs.faces.call import CallVectorEnv
from vcgym.envs.faces.playout import PlayoutVectorEnv
from vcgym.envs.faces.rate import STEPS, RateVectorEnv
from vcgym.envs.faces.relay import RelayVectorEnv
from vcgym.envs.faces.send_order import SEND_QUEUE, SendOrderVectorEnv
from vcgym.envs.faces.vector.actions import FORMS, HEADROOMS_US, LEVELS, action_space
from vcgym.envs.faces.vector.paths import PathsVectorEnv
from vcgym.envs.faces.vector.sender import SenderVectorEnv
from vcgym.network.bottleneck.send_queue import AUDIO, ITEM, VIDEO
from vcgym.network.playout.quality import (
    CONCEALED_PRICE,
    LOSS_PRICE,
    R_DEFAULT,
    REDUCED_KNEE_MS,
    REDUCED_KNEE_SLOPE_PER_MS,
    REDUCED_SLOPE_PER_MS,
)
from vcgym.network.scenarios.bottleneck.sending_scenarios import SENDING_SCENARIOS, SendingScenario
from vcgym.network.scenarios.scenario import MODES

# Class; whether the agent sets the path; whether it sets the lag.
_ENVS = {
    "Relay": (RelayVectorEnv, True, False),
    "Playout": (PlayoutVectorEnv, False, True),
    "Call": (CallVectorEnv, True, True),
}
_SENDERS = {"Rate": RateVectorEnv, "SendOrder": SendOrderVectorEnv}
_SENDERS_OWN_ARGUMENTS = {
    "rate": "rule that sets the rate",
    "order": "rule that sets the order",
    "overflow": "rule that chooses the packet to drop from a full queue",
    "empty_slot": "meaning of an action beyond what waits: newest, the newest packet that waits, or refuse",
}
_FIELD_MEANING = {
    "packet": "number, from 0 in order of sending",
    "size_bytes": "all headers included",
    "sent_us": "when it was sent",
    "arrived_us": "when it reached the receiver; -1: passed over by a later one",
    "known_us": "when the report that told of it was back",
    "marked": "1: a queue marked it (congestion experienced, RFC 3168)",
}
_ITEM_MEANING = {
    "created_us": "when it was captured",
    "expires_us": "when it is worthless at the receiver",
    "size_bytes": "all headers included",
    "kind": f"{VIDEO} video, {AUDIO} audio",
    "frame": "number of the frame",
}
_OWN_ARGUMENTS = {
    "receiver": "rule that sets the lag; None: the agent does",
    "router": "rule that sets the path; None: the agent does",
    "interval": "packets from decision to decision",
    "mechanism": "what the agent sets: the lag of a watermark, or the target of a count buffer, ours or the published one",
    "uplink": "scenario of a bottleneck before the paths, see docs/sending.md; None: packets leave at once",
    "rate": "with an uplink, rule that sets the rate; None: the agent does",
    "order": "with an uplink, rule that sets the order of sending; None: the agent does",
    "pacing": "with an uplink: transmission opportunities per packet time at the target; 0: packets of mean size in a row, at the target",
}
_RECORD_MEANING = {
    "kind": "0 media, 1 probe",
    "packet": "number of the packet; of a probe, the slot it was sent in",
    "path": "path it took",
    "sent_us": "when it was sent",
    "arrived_us": "when it reached the receiver",
    "known_us": "when this record reached the agent's location",
    "lag_us": "the receiver's lag in force when it arrived",
    "late": "1: the receiver discarded it",
}


_INTRODUCTION = """\
Made from the code by `python -m vcgym.envs.tables`; do not edit. Every id exists as one call (`gymnasium.make`) and as a native batch
(`gymnasium.make_vec`). Each environment's docstring specifies observation, action and reward."""
_FEATURES = """\
`observation="features"`: float32, each clipped to its range; `observation="dict"`: the same by parts, `paths` (P, features), `call`,
`sender`, `queue` (L, features). The age says how old a value may be at a decision. Relay and Call see the
first table once per path, path after path, then the second; Playout sees the second alone."""
_SLOTS = f"""\
`action="relative"` is made for plain algorithms: few slots instead of all paths, staying as an action of its own, values of order one.
Slot 0 is the path in use, slot 1 the other path of least expected delay: the newest delay, drawn back to the historical mean with its age
(half life {HALF_LIFE_S:g} s). Compressed is x / sqrt(1 + x^2). The observation is the first table once per slot, then the second; Playout's
the second alone; features that are added, and those of the sender, stand where they always do. `env.slots.order` of the native batch names
the path in each slot."""
_FORECAST = f"""\
`{FORECAST_FEATURE.name}` is there with `predictor` alone: `shipped` is the network that comes with vcgym, and any predictor of
`vcgym.predictors` may take its place. Its inputs are `newest_delay` of the path and the lag of Algorithm 2 of the VCRoute paper, run at the
location on the media records that have come there."""
_SENDER = """\
Call with an uplink has these behind those of the call, as they were when they left the sender: as old as a command from the location to it
(`command`). `rate_commanded` is there if the agent sets the rate; `order_commanded`, once for each order but the first, if it sets the
order."""
_RECORDS = f"""\
`observation="records"`: a dict of `records` ({RECORDS_SHOWN}, {len(Record._fields)}) int64, of which the first `count` are new, in order of
arrival at the location; `history` (paths, 3) float64: n, mean and sd in ms of the slots before the call; `key` uint64 for the policy's own
draws; `slot`: packets sent so far.

Call with an uplink: a media packet was sent when it went onto its path, behind the bottleneck, and captured 10 ms times its number after
the call began. Besides, `feedback` ({MAX_FEEDBACK_ROWS}, {FEEDBACK_WIDTH}) int64, of which the first `feedback_count` are new:
the packet feedback of Rate below; `rates` (1, 3) float64: start, minimum and maximum rate in bit/s."""
_SCALES = f"""\
A lag on the log scale: x in 0..1 stands for {MIN_LAG_US // 1000} ms * {MAX_LAG_US // MIN_LAG_US} ** x; discrete:
x = a / {LEVELS - 1}; continuous: x = (value + 1) / 2. In continuous form the largest score names the path. Exact is for rules: whole
microseconds, and no grid in between.

Relative: path 0 stays on the path in use, 1 takes the path in slot 1 (see below). The lag is said as a headroom above the newest
delay, {HEADROOMS_US[0] // 1000} ms * {HEADROOMS_US[-1] // HEADROOMS_US[0]} ** (a / {len(HEADROOMS_US) - 1}). At each arrival the receiver
turns it into a lag: target = newest delay + headroom; P follows it by 10 ms in 100 ms, as the player does, and is never below the newest
delay; lag = max(target, P) - smallest delay of the last 2 s.

With an uplink the rate follows, on the same scales from the call's minimum to its maximum target, exact in bit/s (0: as it is), and the
order: {", ".join(f"{i} `{name}`" for i, name in enumerate(ORDERS))}. A control that a rule sets is not in the action; one control
alone is `Discrete`."""
_REWARDS = {
    "`emodel`": f"""per 10-ms tick that is not silent: ({R_DEFAULT} - Id(P) - {CONCEALED_PRICE} concealed) / 100, with P the playout \
offset in ms and Id = {REDUCED_SLOPE_PER_MS} P + {REDUCED_KNEE_SLOPE_PER_MS} max(0, P - {REDUCED_KNEE_MS})""",
    "`event`": f"""per packet emitted: minus its end-to-end delay in units of 100 ms; per packet lost or late: minus {LOSS_PRICE:g}; \
flushed at the end: nothing""",
    "`impairment`": f"""per 10-ms tick that is not silent: -(Id(P) + {CONCEALED_PRICE} concealed) / {TICKS_PER_MINUTE}, what is lost of R \
in R times minutes; zero is a perfect call""",
    "`rating`": f"what R of the call so far has changed by, from {R_DEFAULT} at the start; adds up to the leaderboard's R less {R_DEFAULT}",
    "with an uplink": f"more, per video packet that arrives by its expiry: {OnTime().video:g}",
}
_LOCATIONS = """\
c is the mean delay of the direct path in the history. Playout's agent sits at the receiver: it sees each arrival, and its lag is in force
at once. The first command of a call belongs to its set-up and is in force at once."""


def markdown() -> str:
    """Return the whole page."""
    records = ((column, f"`{name}`", _RECORD_MEANING[name]) for column, name in enumerate(Record._fields))
    locations = ((f"`{name}`", _part(1.0 - part), _part(part), _part(1.0 - part)) for name, part in LOCATIONS.items())
    parts = (
        "# Environments", _INTRODUCTION,
        "## Arguments and defaults", _defaults(), _scenarios(),
        "## Actions", _actions(), _SCALES,
        "## Features", _FEATURES,
        "### Of each path (Relay, Call)", _features((*PATH_FEATURES, FORECAST_FEATURE)), _FORECAST,
        "### Of the call (Relay, Playout, Call)", _features(CALL_FEATURES),
        "### Of slots (Relay, Call, with action relative)", _SLOTS, _features(SLOT_FEATURES),
        "### Of the call (Relay, Playout, Call, with action relative)", _features(relative_call_features()),
        "### Of the sender (Call with an uplink)", _SENDER, _features((*REMOTE_FEATURES, RATE_COMMANDED, ORDER_COMMANDED)),
        "## Records", _RECORDS, _table(("column", "field", "meaning"), records),
        "## Rewards", _table(("reward", "what is paid"), _REWARDS.items()),
        "The rewards of an episode add up to its row's `return_emodel`, `return_event` or `r` less 93.2, and what its video has earned.",
        "## Locations", _LOCATIONS,
        _table(("location", "feedback from the receiver", "command to the sender", "command to the receiver"), locations),
        *_of_senders(),
    )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _of_senders() -> Iterable[str]:
    """Yield the part on senders that share a bottleneck."""
    shipped = [name for name in SENDING_SCENARIOS if name not in ("rate-measured", "rate-replay")]
    kinds = "; ".join(f"`{name}`: {', '.join(SendingScenario(name).kinds)}" for name in shipped)
    actions = (
        ("Rate", "`continuous`", "`Box(-1.0, 1.0, (1,), float32)`", "the target on a log scale from the minimum to the maximum"),
        ("Rate", "`discrete`", f"`Discrete({len(STEPS)})`", f"factor on the target: {', '.join(f'{step:g}' for step in STEPS)}"),
        ("Rate", "`exact`", "int64 (3,)", "bit/s (0: stays); us that the receiver collects (0: as usual); us until asked again (0: never)"),
        ("SendOrder", "`discrete`", f"`Discrete({2 * SEND_QUEUE})`", f"a < {SEND_QUEUE} sends the a-th oldest, {SEND_QUEUE} + a drops it"),
    )
    on_time, utility = OnTime(), Utility()
    rewards = {
        "`utility`": f"""per report, of each second it covers: {utility.rate_weight:g} ln({utility.rate_scale_per_mbps:g} r + 1) - \
{utility.delay_price_per_s:g} d - {utility.loss_price:g} l,\
 with r delivered in Mbit/s, d the mean delay from capture to arrival \
less propagation in s, l the share lost, rejected or discarded; per decision: \
minus {utility.change_price:g} abs(ln(target / target before))""",
        "`emodel`": f"""per 10 ms of audio settled: ({R_DEFAULT} - Id(P) - {CONCEALED_PRICE} concealed) / 100, P the expiry time; \
concealed: not there by then""",
        "`on_time`": f"per packet that arrives by its expiry: audio {on_time.audio:g}, video {on_time.video:g}",
    }
    shared = SenderVectorEnv, ("rate", "order"), _SENDERS_OWN_ARGUMENTS
    yield "## Rate and SendOrder: arguments and defaults"
    yield _defaults_of(_SENDERS, *shared)
    yield f"""Scenarios and their kinds of world: {kinds}; `rate-measured` needs data, `rate-replay` needs traces. \
`reset(options={{...}})` takes `kind`, and for a \
batch `reset_mask`."""
    yield "## Rate and SendOrder: actions"
    yield _table(("env", "action", "space", "meaning"), actions)
    yield "## Rate and SendOrder: features"
    yield "SendOrder sees the first table once per packet of its queue, oldest first, then the second; Rate the second less its last line."
    yield "### Of each packet in the queue (SendOrder)"
    yield _features(QUEUE_FEATURES)
    yield "### Of the call (Rate, SendOrder)"
    yield _features(ORDER_FEATURES)
    yield "## Rate and SendOrder: records"
    yield f"""\
Rate, `observation="records"`: a dict of `records` ({MAX_FEEDBACK_ROWS}, {FEEDBACK_WIDTH}) int64, of which the first `count` are new \
since the last decision, in order of sending; `history` (1, 3) float64: start, minimum and maximum rate in bit/s; `key` uint64; `now_us`."""
    yield _table(("column", "field", "meaning"), ((i, f"`{name}`", _FIELD_MEANING[name]) for i, name in enumerate(PacketFeedback._fields)))
    yield f"""\
SendOrder: `records` (L, {ITEM_WIDTH}) int64, what waits, oldest first, of which the first `count` are there; `now_us`; `rtt_us`, \
smoothed, 0 before the first report."""
    yield _table(("column", "field", "meaning"), ((i, f"`{name}`", _ITEM_MEANING[name]) for i, name in enumerate(ITEM.names or ())))
    yield "## Rate and SendOrder: rewards"
    yield _table(("reward", "what is paid, once a report has told of it"), rewards.items())


def _scenarios() -> str:
    modes = "; ".join(f"`{name}`: {', '.join(modes)}" for name, modes in MODES.items())
    return f"Scenarios and their modes: {modes}. `reset(options={{...}})` takes `pair` and `stratum`, and for a batch `reset_mask`."


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _part(share: float) -> str:
    return {0.0: "0", 1.0: "c"}.get(share, f"{share:g} c")


def _defaults() -> str:
    envs = {name: env for name, (env, *_) in _ENVS.items()}
    return _defaults_of(envs, PathsVectorEnv, ("controls", "router", "receiver"), _OWN_ARGUMENTS)


def _defaults_of(envs: Mapping[str, type], base: type, set_elsewhere: tuple[str, ...], set_here: dict[str, str]) -> str:
    """Defaults of the arguments of `envs`, those of their `base` included, and what they mean."""
    shared = dict(inspect.signature(base).parameters)
    shared.pop("arguments", None)
    groups = getattr(base, "settings", ())
    for field in (field for group in groups for field in dataclasses.fields(group)):
        shared[field.name] = inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
    # What the docstring says of each argument; getdoc takes the common indentation away.
    described = "\n".join(inspect.getdoc(one) or "" for one in (base, *(layer for group in groups for layer in group.__mro__[-2::-1])))
    meanings = dict(re.findall(r"^    (\w+): (.+?)\.?$", described, re.MULTILINE))
    meanings.pop("arguments", None)
    for name in set_elsewhere:
        del shared[name], meanings[name]
    signatures = [shared | dict(inspect.signature(env).parameters) for env in envs.values()]
    rows = ((f"`{name}`", *(_shown(of_env.get(name)) for of_env in signatures), meaning) for name, meaning in (meanings | set_here).items())
    return _table(("argument", *envs, "meaning"), rows)


def _shown(parameter: inspect.Parameter | None) -> str:
    if parameter is None:
        return ""
    value = parameter.default
    return f"`{type(value).__name__}`" if isinstance(value, tuple) else f"`{getattr(value, 'name', value)}`"


def _actions() -> str:
    rows = []
    for name, (_, with_path, with_lag) in _ENVS.items():
        for form in FORMS:
            space = re.sub(r"\s+", " ", str(action_space(form, 17, with_path, with_lag)))
            rows.append((name, f"`{form}`", f"`{space}`"))
    for form in FORMS:
        space = re.sub(r"\s+", " ", str(action_space(form, 17, True, True, True, len(ORDERS))))
        rows.append(("Call with an uplink", f"`{form}`", f"`{space}`"))
    return _table(("env", "action", "space with 17 paths"), rows)


def _features(features: Iterable[Feature]) -> str:
    return _table(
        ("feature", "unit", "range", "age"),
        ((f"`{f.name.partition('[')[0]}`", f.unit.replace("|", "\\|"), f"{f.low:g} to {f.high:g}", f.age) for f in features),
    )


if __name__ == "__main__":
    sys.stdout.write(markdown())
