"""The tables of docs/envs.md, made from the code: ``python -m vcgym.envs.tables > docs/envs.md``."""

import inspect
import re
import sys
from collections.abc import Iterable
from typing import Any

from vcgym.baselines.rule import Record
from vcgym.envs.actions import FORMS, LEVEL_LEAST_US, LEVEL_MOST_US, LEVELS, action_space
from vcgym.envs.batch import PLACES
from vcgym.envs.call import CallVectorEnv
from vcgym.envs.features import CALL_FEATURES, FORECAST_FEATURE, PATH_FEATURES, Feature
from vcgym.envs.observe import RECORDS_SHOWN
from vcgym.envs.playout import PlayoutVectorEnv
from vcgym.envs.relay import RelayVectorEnv
from vcgym.envs.vector import LeverVectorEnv
from vcgym.network.quality import CONCEALED_PRICE, LOSS_PRICE, R_DEFAULT, REDUCED_KNEE_MS, REDUCED_KNEE_SLOPE_PER_MS, REDUCED_SLOPE_PER_MS
from vcgym.network.scenario import MODES

# Class; whether the agent holds the path; whether it holds the level.
_ENVS = {
    "Relay": (RelayVectorEnv, True, False),
    "Playout": (PlayoutVectorEnv, False, True),
    "Call": (CallVectorEnv, True, True),
}
_OWN_ARGUMENTS = {
    "receiver": "rule that holds the level",
    "router": "rule that holds the path",
    "interval": "packets from decision to decision",
    "mechanism": "what holds the level: a watermark (the level is its lag) or a count buffer, ours or the published one (its target)",
}
_RECORD_MEANING = {
    "kind": "0 media, 1 probe",
    "packet": "number of the packet; of a probe, the slot it was sent in",
    "path": "path it took",
    "sent_us": "when it was sent",
    "arrived_us": "when it reached the receiver",
    "known_us": "when this record reached the agent's place",
    "lag_us": "the receiver's level in force when it arrived",
    "late": "1: the receiver discarded it",
}


_INTRODUCTION = """\
Made from the code by `python -m vcgym.envs.tables`; do not edit. Every id exists as one call (`gymnasium.make`) and as a native batch
(`gymnasium.make_vec`). What an agent meets in each environment stands in its docstring."""
_FEATURES = """\
`observation="features"`: float32, each clipped to its range. The age says how old a value may be at a decision. Relay and Call see the
first table once per path, path after path, then the second; Playout sees the second alone."""
_FORECAST = f"""\
`{FORECAST_FEATURE.name}` is there with `predictor` alone: `shipped` is the network that comes with vcgym, and any predictor of
`vcgym.predictors` may take its place. Its inputs are `newest_delay` of the path and the lag of Algorithm 2 of the VCRoute paper, run at the
place on the media records that have come there."""
_RECORDS = f"""\
`observation="records"`: a dict of `records` ({RECORDS_SHOWN}, {len(Record._fields)}) int64, of which the first `count` are new, in order of
arrival at the place; `history` (paths, 3) float64: n, mean and sd in ms of the slots before the call; `key` uint64 for the policy's own
draws; `slot`: packets sent so far."""
_LEVELS = f"""\
A level on the log scale: x in 0..1 stands for {LEVEL_LEAST_US // 1000} ms * {LEVEL_MOST_US // LEVEL_LEAST_US} ** x; discrete:
x = level / {LEVELS - 1}; continuous: x = (value + 1) / 2. In continuous form the largest score names the path. Exact is for rules: whole
microseconds, and no grid in between."""
_REWARDS = {
    "`emodel`": f"""per 10-ms tick that is not silent: ({R_DEFAULT} - Id(P) - {CONCEALED_PRICE} concealed) / 100, with P the playout \
offset in ms and Id = {REDUCED_SLOPE_PER_MS} P + {REDUCED_KNEE_SLOPE_PER_MS} max(0, P - {REDUCED_KNEE_MS})""",
    "`event`": f"""per packet emitted: minus its end-to-end delay in units of 100 ms; per packet lost or late: minus {LOSS_PRICE:g}; \
flushed at the end: nothing""",
}
_PLACES = """\
c is the mean delay of the direct path in the history. Playout's agent sits at the receiver: it sees each arrival, and its level holds, at
once. The first command of a call belongs to its set-up and holds at once."""


def markdown() -> str:
    """The whole page."""
    records = ((column, f"`{name}`", _RECORD_MEANING[name]) for column, name in enumerate(Record._fields))
    places = ((f"`{name}`", _part(1.0 - part), _part(part), _part(1.0 - part)) for name, part in PLACES.items())
    parts = (
        "# Environments", _INTRODUCTION,
        "## Arguments and defaults", _defaults(), _scenarios(),
        "## Actions", _actions(), _LEVELS,
        "## Features", _FEATURES,
        "### Of each path (Relay, Call)", _features((*PATH_FEATURES, FORECAST_FEATURE)), _FORECAST,
        "### Of the call (Relay, Playout, Call)", _features(CALL_FEATURES),
        "## Records", _RECORDS, _table(("column", "field", "meaning"), records),
        "## Rewards", _table(("reward", "what is paid"), _REWARDS.items()),
        "The rewards of an episode add up to its row's `return_emodel` or `return_event`.",
        "## Places", _PLACES, _table(("place", "feedback from the receiver", "command to the sender", "command to the receiver"), places),
    )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _scenarios() -> str:
    modes = "; ".join(f"`{name}`: {', '.join(modes)}" for name, modes in MODES.items())
    return f"Scenarios and their modes: {modes}. `reset(options={{...}})` takes `pair` and `stratum`, and for a batch `reset_mask`."


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _part(share: float) -> str:
    return {0.0: "0", 1.0: "c"}.get(share, f"{share:g} c")


def _defaults() -> str:
    shared = dict(inspect.signature(LeverVectorEnv).parameters)
    # What the docstring says of each argument; getdoc takes the common indentation away.
    meanings = dict(re.findall(r"^    (\w+): (.+?)\.?$", inspect.getdoc(LeverVectorEnv) or "", re.MULTILINE))
    for held_elsewhere in ("held", "router", "receiver"):
        del shared[held_elsewhere], meanings[held_elsewhere]
    signatures = [shared | dict(inspect.signature(env).parameters) for env, *_ in _ENVS.values()]
    rows = (
        (f"`{name}`", *(_shown(of_env.get(name)) for of_env in signatures), meaning)
        for name, meaning in (meanings | _OWN_ARGUMENTS).items()
    )
    return _table(("argument", *_ENVS, "meaning"), rows)


def _shown(parameter: inspect.Parameter | None) -> str:
    if parameter is None:
        return ""
    value = parameter.default
    return f"`{type(value).__name__}`" if isinstance(value, tuple) else f"`{getattr(value, 'name', value)}`"


def _actions() -> str:
    rows = []
    for name, (_, with_path, with_level) in _ENVS.items():
        for form in FORMS:
            space = re.sub(r"\s+", " ", str(action_space(form, 17, with_path, with_level)))
            rows.append((name, f"`{form}`", f"`{space}`"))
    return _table(("env", "action", "space with 17 paths"), rows)


def _features(features: Iterable[Feature]) -> str:
    return _table(
        ("feature", "unit", "range", "age"),
        ((f"`{f.name}`", f.unit.replace("|", "\\|"), f"{f.low:g} to {f.high:g}", f.age) for f in features),
    )


if __name__ == "__main__":
    sys.stdout.write(markdown())
