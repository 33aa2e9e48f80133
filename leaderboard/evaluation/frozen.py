"""Frozen suites: hashes of the definition of each suite and of the worlds that it samples.

An edited definition, or a generator that gives other worlds, changes a hash, and a test fails. The suite then differs from the one that
older results name: give it a new version and freeze that.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from vcgym.leaderboard.evaluation.suites import SUITES, AnyScenario, Part, Suite, conferences, data_hash, links, worlds
from vcgym.leaderboard.results.conference_columns import CONFERENCE
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.conference import ConferenceScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.cards import DataError

SAMPLED = 3  # hashed worlds per part over paths: first, middle and last
# Fields of worlds that were added after older suites were frozen.
ADDED_LATER = (
    "discipline", "pauses_s", "backwards", "reverse", "file_bytes", "idle_s", "second", "at_second", "priority", "air", "station_mbps",
)  # fmt: skip
RENAMED = {"min_kbps": "least_kbps"}  # fields by the names under which older suites were frozen
_HASHED_APART: Any = None  # traces are hashed by content
_OWN = Part._fields.index("traces")  # from this field on, a part is of the user's own traces


class Frozen(NamedTuple):
    """First 16 hex digits of the SHA-256 of a suite's definition and of its worlds; for bottlenecks one hash per scenario."""

    definition: str
    worlds: str


FROZEN = {
    "quick-v2": Frozen("2a7a038508cb7136", "48fd4240506e5870"),
    "first": Frozen("493fbd203aab7bea", "a64004b3b256dd07"),
    "paper-v0": Frozen("27ab21b4de41fc81", "30c8355ab4190308"),
    "correlated-v0": Frozen("68ddaf521e408245", "6264415cce056cae"),
    "replay-v0": Frozen("0ed53456894d78ce", "5114b647f944419a"),
    "stress-v0": Frozen("f7447c15320d3af5", "19d0d62b3a9ce0ce"),
    "stress-v1": Frozen("efaed209cc9ed1c8", "f9cf16833a8360aa"),
    "scale-v0": Frozen("9725ba1864b52e1d", "40789183f0a0711d"),
    "order-v0": Frozen("4a48b4698ae22031", "1eb940c7fd9ea1a7"),
    "rate-v0": Frozen("7d75aa84d03c5a60", "8abd9db936302428 ba00f9126b0c8e90"),
    "calls-v0": Frozen("0350b89c8e0a5ef2", "ae398e92065724ed"),
    "rmcat-v0": Frozen("1b016d83415c61a0", "e7914cfb2e6c300e"),
    "rmcat-v1": Frozen("3410c2ee8efe961a", "f0295b95a5f1338b"),
    "conference-v0": Frozen("db4f951292994ddc", "30b8b9e22b26d756"),
}

DATA = {
    "calls": "b734de7b94380370", "cloud": "0b953e62c636ace8", "conference": "d685266f6ead5051", "leo": "121aac18492dcfd6",
    "order": "5f2601c6fb08d574", "rate": "241fd9e959fb379f", "rate-measured": "f12682dedc9f826c", "rmcat": "582a2c784ef35144",
    "rmcat-extended": "8f8b32510b26f581", "stress": "b573c804a23b259e", "synthetic-9": "1fea3fc0224dcf06",
    "synthetic-90": "9ccb89151f20d519",
    "synthetic-900": "0ffde77bd7461285", "table1": "ec1d86eba1e0a014", "wonderproxy": "b573c804a23b259e", "world": "d685266f6ead5051",
}  # fmt: skip
"""Sixteen hex digits of the hash of the data behind each scenario of these suites."""


def require_frozen_data(suite: Suite, parts: Iterable[tuple[Part, AnyScenario]]) -> None:
    """Raise DataError if the data differ from those on which a suite of `SUITES` is frozen: its worlds would differ.

    Args:
        suite: suite to be played; your own suites are not checked.
        parts: its parts with their scenarios.

    Raises:
        DataError: the message names the scenario and both hashes.
    """
    if suite not in [SUITES[name] for name in FROZEN if name in SUITES]:
        return
    for part, scenario in parts:
        found, wanted = data_hash(scenario)[:16], DATA[part.scenario]
        if found != wanted:
            allowed = f"{wanted}, the data of suite {suite.name}-{suite.version}; traces of your own play as suite=replay or rate-replay"
            raise DataError(part.scenario, "hash of the data", found, allowed)


def definition_hash(suite: Suite) -> str:
    """Return the hash of a suite's definition."""
    definition = [suite.name, suite.version, suite.packets, suite.columns.ranked_by, [list(part[:_OWN]) for part in suite.parts]]
    return hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:16]


def worlds_hash(suite: Suite) -> str:
    """Return the hash of the worlds: all bottlenecks and conferences; of other worlds pair, seed, history and first block of a sample."""
    if suite.columns is CONFERENCE:
        drawn = [(part, part.open(0)) for part in suite.parts]
        text = "".join(_text(conferences(one, part, worlds(part, one))) for part, one in drawn if isinstance(one, ConferenceScenario))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    if suite.packets == 0:
        return " ".join(links_hash(_links(suite, scenario)) for scenario in suite.scenarios)
    digest = hashlib.sha256()
    for part in suite.parts:
        scenario = part.open(suite.packets)
        assert isinstance(scenario, Scenario)
        _add(digest, part, scenario)
    return digest.hexdigest()[:16]


def links_hash(drawn: Iterable[SharedLink]) -> str:
    """Return the 16-digit hash of sampled bottlenecks, including their traces."""
    digest = hashlib.sha256()
    for link in drawn:
        beside = {name: which for name in ("reverse", "second") if (which := getattr(link, name)) is not None}
        apart = {name: which._replace(trace=_HASHED_APART) for name, which in beside.items()}
        digest.update(_text(link._replace(trace=_HASHED_APART, **apart)).encode())
        for trace in (link.trace, *(which.trace for which in beside.values())):
            digest.update(trace.name.encode() + trace.times_us.tobytes() + trace.rates_bps.tobytes())
    return digest.hexdigest()[:16]


def _text(value: Any) -> str:
    """Return `repr` of a sampled world without the fields of `ADDED_LATER` that have their defaults."""
    fields: dict[str, Any] | None = getattr(value, "_field_defaults", None)
    if fields is not None:
        shown = [name for name in value._fields if name not in ADDED_LATER or getattr(value, name) != fields[name]]
        return f"{type(value).__name__}({', '.join(f'{RENAMED.get(name, name)}={_text(getattr(value, name))}' for name in shown)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _links(suite: Suite, name: str) -> list[SharedLink]:
    parts = [part for part in suite.parts if part.scenario == name]
    scenario = parts[0].open(0)
    assert isinstance(scenario, SendingScenario)
    return [link for part in parts for link in links(scenario, part.split, worlds(part, scenario))]


@unlock_test_split()
def _add(digest: "hashlib._Hash", part: Part, scenario: Scenario) -> None:
    which = worlds(part, scenario)
    world = scenario.world(1)
    for number in np.linspace(0, len(which) - 1, SAMPLED).astype(int).tolist():
        pair, seed = which[number]
        draw = scenario.draw(part.split, seed, pair, part.stratum)
        history = world.start(0, draw)
        digest.update(repr((part.scenario, part.mode, pair, seed, draw.stratum, len(which))).encode())
        digest.update(np.round(history * 1000.0).astype("<i8").tobytes())
        digest.update(world.delay_us[0].astype("<i4").tobytes())
