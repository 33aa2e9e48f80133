"""Suites: worlds on which systems are ranked, as conf/suites.yaml and added stages declare them, or of your own traces (`replay_suite`)."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.baselines.controls.control import added_stages
from vcgym.leaderboard.evaluation.kinds.kind import Kind
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.kinds.protected import LINKED, PROTECTED
from vcgym.leaderboard.evaluation.kinds.sender import CASES, ORDERED, SENDER
from vcgym.leaderboard.evaluation.kinds.whole import WHOLE
from vcgym.leaderboard.evaluation.part import FITTED, Part, declared
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.files import columns_with
from vcgym.network.bottleneck.capacity.sets import FOLDER as BANDWIDTH
from vcgym.network.scenarios.paths.leo import FOLDER as LEO
from vcgym.network.traces.cards import DATA_VARIABLE, data_root

BOTTLENECK = "bottleneck"
"""Column `mode` of calls over a bottleneck, whose worlds have no mode."""
MEASURED = "rate-measured"

_FOLDERS = {"leo": LEO, MEASURED: BANDWIDTH}
"""Scenario -> folder of the data root without which it cannot be played."""


class Suite(NamedTuple):
    """Parts, ranked by mode, and the kind of their calls.

    `packets` is the length of calls over paths; `systems` play by default, or all that fit if it is empty.
    """

    name: str
    version: str
    packets: int
    parts: tuple[Part, ...]
    kind: Kind = PATHS
    systems: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Names of the scenarios, without duplicates."""
        return tuple(dict.fromkeys(part.scenario for part in self.parts))

    @property
    def columns(self) -> Columns:
        """Columns of its rows."""
        return self.kind.columns


PACKETS = 6000
REPLAY_SEEDS = 24  # worlds of each pair of traces of the user's own ...
RUNS = 30  # ... and over capacity traces
_ADDED: list[Kind] = [resolve_name(stage.kind) for stage in added_stages()]
KINDS = {kind.name: kind for kind in (PATHS, PROTECTED, LINKED, SENDER, ORDERED, CASES, WHOLE, *_ADDED)}


def _suite(
    key: str, parts: Sequence[Mapping[str, Any]], frozen: Sequence[str], version: str = "", kind: str = PATHS.name, packets: int = 0,
    systems: Sequence[str] = (), budgets: Sequence[int] = (), loads: Sequence[float] = (0.0,),
) -> Suite:  # fmt: skip
    """Return the suite of an entry of conf/suites.yaml."""
    plain = tuple(part for entry in parts for part in _parts(**entry))
    limited = (_limited(part, budget, load) for load in loads for budget in budgets for part in plain)
    name, _, last = (key, "", version) if version else key.rpartition("-")
    return Suite(name, last, packets, tuple(limited) if budgets else plain, KINDS[kind], tuple(systems))


def _parts(
    seeds: int = 0, first_seed: int = 0, strata: Sequence[str | None] | Mapping[str, int] = (None,), apart: int = 0,
    settings: Mapping[str, Any] = MappingProxyType({}), **same: Any,
) -> Iterator[Part]:  # fmt: skip
    """Yield the parts of an entry, one for each stratum."""
    part = Part(**same, seeds=seeds, settings=tuple(settings.items()))
    for number, stratum in enumerate(strata):
        own = strata[str(stratum)] if isinstance(strata, Mapping) else seeds
        yield part._replace(seeds=own, stratum=stratum, first_seed=first_seed + number * apart)


def _limited(part: Part, budget: int, load: float) -> Part:
    """Return a part with a budget in % of the plain bytes, and with the load of a link, named in its mode."""
    mode = f"{part.mode}{f', load {load:g}' if load else ''}, {budget} %"
    return part._replace(mode=mode, budget=budget / 100.0, load=load)


SUITES = {key: _suite(key, **entry) for key, entry in declared()["suites"].items()}

REPLAYS: dict[str, Kind] = {"replay": PATHS, "rate-replay": SENDER, FITTED: PATHS}
"""Suites of traces of your own, or of a file fitted to them, scenarios of the same names, and the kind of their calls."""


def replay_suite(
    name: str, traces: Sequence[str], packets: int = PACKETS, split: str = "test", offsets: str = "own", direct: str | None = None
) -> Suite:
    """Make a suite of `REPLAYS`: `REPLAY_SEEDS` worlds per pair, or `RUNS` over a bottleneck; its version identifies the data.

    Args:
        name: key of `REPLAYS`.
        traces: trace files or their folder; the scenario file of suite `fitted`.
        packets: length of calls over paths, in slots.
        split: test, or all of what was measured.
        offsets: see `vcgym.network.scenarios.settings.WorldSettings`.
        direct: see the same.

    Raises:
        DataError: the traces cannot be played.
    """
    if REPLAYS[name] is PATHS:
        mode, chosen = "correlated" if name == FITTED else "replay", (("offsets", offsets), ("direct", direct))
        part = Part(name, mode, REPLAY_SEEDS, split, traces=tuple(traces), settings=chosen)
    else:
        part, packets = Part(name, BOTTLENECK, RUNS, split, stratum="replay", traces=tuple(traces)), 0
    suite = Suite(name, "", packets, (part,), REPLAYS[name])
    return suite._replace(version=suite.kind.card(suite.kind.open(part, packets))[:8])


def playable(suite: Suite) -> list[Part]:
    """Return the parts whose data are available: measured series and capacity are in folders of the data root."""
    return [part for part in suite.parts if has_data(part.scenario)]


def has_data(scenario: str) -> bool:
    """Return True if the data root has the folder that a scenario needs, if any; without the variable VCGYM_DATA there is no root."""
    return scenario not in _FOLDERS or (bool(os.environ.get(DATA_VARIABLE)) and (data_root() / _FOLDERS[scenario]).is_dir())


def prepare(suite: Suite) -> list[tuple[Part, Any]]:
    """Return the playable parts with their scenarios; missing or broken data raise an error before any call is played."""
    return opened(suite, playable(suite))


def opened(suite: Suite, parts: Iterable[Part]) -> list[tuple[Part, Any]]:
    """Return parts of a suite with their scenarios, each made once; for errors see `vcgym.leaderboard.evaluation.kinds.kind.Kind.open`."""
    made: dict[tuple[object, ...], Any] = {}
    found = []
    for part in parts:
        key = part.scenario, part.mode, part.traces, part.settings, part.budget, part.load
        if key not in made:
            made[key] = suite.kind.open(part, suite.packets)
        found.append((part, made[key]))
    return found


def columns_of(results: pa.Table) -> Columns:
    """Return the columns of the suite of results; for an unknown suite, those that its rows show (`columns_with`)."""
    named = set(zip(results["suite"].to_pylist(), results["suite_version"].to_pylist(), strict=True))
    known = [suite.columns for suite in SUITES.values() if (suite.name, suite.version) in named]
    fitting = [columns for columns in known if columns.ranked_by in results.schema.names]
    return next(iter(fitting), columns_with(results.schema.names))
