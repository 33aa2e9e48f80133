"""Frozen suites: hashes of the definition of each suite and of the worlds that it samples.

An edited definition, or a generator that gives other worlds, changes a hash, and a test fails. The suite then differs from the one that
older results name: give it a new version and freeze that.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, opened
from vcgym.network.traces.cards import DataError

_OWN = Part._fields.index("traces")  # from this field on, a part is of the user's own traces


class Frozen(NamedTuple):
    """First 16 hex digits of the SHA-256 of a suite's definition and of its worlds; for bottlenecks one hash per scenario."""

    definition: str
    worlds: str


FROZEN = {
    "default": Frozen("65695edcdca1f982", "9dac856a51e25433"),
    "paper-v0": Frozen("27ab21b4de41fc81", "30c8355ab4190308"),
    "correlated-v0": Frozen("68ddaf521e408245", "6264415cce056cae"),
    "measured-v0": Frozen("7ca2cd1a85a45598", "40c9c2caf523e600"),
    "replay-v0": Frozen("0ed53456894d78ce", "5114b647f944419a"),
    "stress-v1": Frozen("efaed209cc9ed1c8", "f9cf16833a8360aa"),
    "scale-v0": Frozen("9725ba1864b52e1d", "40789183f0a0711d"),
    "order-v0": Frozen("4a48b4698ae22031", "1eb940c7fd9ea1a7"),
    "rate-v0": Frozen("7d75aa84d03c5a60", "8abd9db936302428 ba00f9126b0c8e90"),
    "calls-v0": Frozen("0350b89c8e0a5ef2", "ae398e92065724ed"),
    "rmcat-v0": Frozen("1b016d83415c61a0", "e7914cfb2e6c300e"),
    "rmcat-v1": Frozen("3410c2ee8efe961a", "f0295b95a5f1338b"),
    "conference-v0": Frozen("db4f951292994ddc", "30b8b9e22b26d756"),
    "protected-v0": Frozen("4093ec6b01ff7122", "45130ec112789b9b"),
    "protected-link-v0": Frozen("1c387f37fe3106b8", "3bd0aa17ccb935d6"),
    "whole-v0": Frozen("3325792e4c8342e7", "394a2cd1cd43df84 3ee4d2bf609a56d4"),
}

DATA = {
    "5g-urban": "58f044da27d1f75b", "5g-weak": "58f044da27d1f75b", "starlink-ping": "41d81ee7193b2f1a",
    "calls": "b734de7b94380370", "cloud": "0b953e62c636ace8", "conference": "d685266f6ead5051", "leo": "121aac18492dcfd6",
    "order": "5f2601c6fb08d574", "rate": "241fd9e959fb379f", "rate-measured": "f12682dedc9f826c", "rmcat": "582a2c784ef35144",
    "rmcat-extended": "8f8b32510b26f581", "stress": "b573c804a23b259e", "synthetic-9": "1fea3fc0224dcf06",
    "synthetic-90": "9ccb89151f20d519",
    "synthetic-900": "0ffde77bd7461285", "table1": "ec1d86eba1e0a014", "wonderproxy": "b573c804a23b259e",
    "wonderproxy correlated": "b573c804a23b259e", "wonderproxy paper": "b573c804a23b259e", "table1 correlated": "ec1d86eba1e0a014",
    "table1 paper": "ec1d86eba1e0a014", "stress correlated": "b573c804a23b259e", "starlink-ping replay": "41d81ee7193b2f1a",
    "5g-weak replay": "58f044da27d1f75b",
    "wonderproxy+calls": "47f6b6ac9f307a42", "wonderproxy+rate": "3f5961488f39281f", "world": "d685266f6ead5051",
}  # fmt: skip
"""Sixteen hex digits of the hash of the data behind each scenario of these suites."""


def require_frozen_data(suite: Suite, parts: Iterable[tuple[Part, Any]]) -> None:
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
        found, wanted = suite.kind.card(scenario)[:16], DATA[part.scenario]
        if found != wanted:
            allowed = f"{wanted}, the data of suite {suite.name}-{suite.version}; traces of your own play as suite=replay or rate-replay"
            raise DataError(part.scenario, "hash of the data", found, allowed)


def definition_hash(suite: Suite) -> str:
    """Return the hash of a suite's definition."""
    parts = [[*part[:_OWN], *part.settings] for part in suite.parts]
    definition = [suite.name, suite.version, suite.packets, suite.columns.ranked_by, parts]
    return hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:16]


def worlds_hash(suite: Suite) -> str:
    """Return the hash of the worlds: all bottlenecks, one hash per scenario, or all conferences; of calls over paths a sample."""
    return suite.kind.fingerprint(opened(suite, suite.parts))
