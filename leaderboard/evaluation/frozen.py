"""Suites are frozen: what each one says, and a sample of the worlds that it draws, by hash.

A definition that is edited, or a generator whose worlds come out otherwise, changes a hash, and a test fails. Then the suite is no longer
the one that older results name: give it a new version and freeze that.
"""

import hashlib
import json
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.evaluation.suites import Part, Suite, worlds
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split

SAMPLED = 3  # worlds of each part: first, middle and last


class Frozen(NamedTuple):
    """Sixteen hex digits each of the SHA-256 of a suite's definition and of its sampled worlds."""

    definition: str
    worlds: str


FROZEN = {
    "first": Frozen("a920e1aff3d1846f", "a64004b3b256dd07"),
    "paper-v0": Frozen("a869953635d03d32", "30c8355ab4190308"),
    "correlated-v0": Frozen("c3483a6d88bb6f04", "6264415cce056cae"),
    "replay-v0": Frozen("df35390d7b59c6eb", "5114b647f944419a"),
    "stress-v0": Frozen("4f6ad667ece4d6a5", "19d0d62b3a9ce0ce"),
    "scale-v0": Frozen("8d20666537c0ab21", "40789183f0a0711d"),
}


def definition_hash(suite: Suite) -> str:
    """Of everything a suite says."""
    said = [suite.name, suite.version, suite.packets, [list(part[:-1]) for part in suite.parts]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def worlds_hash(suite: Suite) -> str:
    """Of pair, seed, history and first block of the sampled worlds; replay worlds need the measured series."""
    digest = hashlib.sha256()
    for part in suite.parts:
        _add(digest, part, part.open(suite.packets))
    return digest.hexdigest()[:16]


@unlock_test_split()
def _add(digest: "hashlib._Hash", part: Part, scenario: Scenario) -> None:
    which = worlds(part, scenario)
    world = scenario.world(1)
    for place in np.linspace(0, len(which) - 1, SAMPLED).astype(int).tolist():
        pair, seed = which[place]
        draw = scenario.draw(part.split, seed, pair, part.stratum)
        history = world.start(0, draw)
        digest.update(repr((part.scenario, part.mode, pair, seed, draw.stratum, len(which))).encode())
        digest.update(np.round(history * 1000.0).astype("<i8").tobytes())
        digest.update(world.delay_us[0].astype("<i4").tobytes())
