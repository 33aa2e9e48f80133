"""Frozen suites: hashes of the definition of each suite and of the worlds that it samples.

An edited definition, or a generator that gives other worlds, changes a hash, and a test fails. The suite then differs from the one that
older results name: give it a new version and freeze that.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from vcgym.leaderboard.evaluation.part import Part, declared
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, opened
from vcgym.network.traces.cards import DataError

_OWN = Part._fields.index("traces")  # from this field on, a part is of the user's own traces


class Frozen(NamedTuple):
    """First 16 hex digits of the SHA-256 of a suite's definition and of its worlds; for bottlenecks one hash per scenario."""

    definition: str
    worlds: str


FROZEN = {key: Frozen(*entry["frozen"]) for key, entry in declared()["suites"].items()}

DATA: dict[str, str] = declared()["data"]
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
    """Return the hash of the worlds: all of a kind, over bottlenecks one hash per scenario; of calls over paths a sample."""
    return suite.kind.fingerprint(opened(suite, suite.parts))
