"""Suites of senders. A suite's worlds never change; a changed suite gets a new version, and `FROZEN` tells when one has changed.

order-v0   every kind of the scenario `order`, 30 runs each, as S1
calls-v0   every kind of `calls`, 30 runs each
rate-v0    every kind of `rate`, and of `rate-measured` where the measured traces are there, 30 runs each
"""

import hashlib
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.cards import DATA_VARIABLE

MEASURED = "rate-measured"
RUNS = 30


_HASHED_APART: Any = None  # a trace is hashed by its content

class SendingSuite(NamedTuple):
    """What is played.

    Attributes:
        name: with its version.
        scenarios: all kinds of each.
        runs: of each kind, seeds counted from 0.
        primary: metric that senders are ranked by.
        reference: system that others are compared with.
    """

    name: str
    scenarios: tuple[str, ...]
    runs: int
    primary: str
    reference: str


SENDING_SUITES = {
    suite.name: suite
    for suite in (
        SendingSuite("order-v0", ("order",), RUNS, "audio_on_time", "UNMOD"),
        SendingSuite("rate-v0", ("rate", MEASURED), RUNS, "utility", "GCC-WEBRTC"),
        SendingSuite("calls-v0", ("calls",), RUNS, "utility", "GCC-WEBRTC"),
    )
}

FROZEN = {"order": "1eb940c7fd9ea1a7", "rate": "8abd9db936302428", "calls": "ae398e92065724ed", MEASURED: "ba00f9126b0c8e90"}
"""Sixteen hex digits of the SHA-256 of the worlds of each scenario in the suites."""


def playable(suite: SendingSuite) -> list[SendingScenario]:
    """The suite's scenarios whose data are there: measured traces need the environment variable VCGYM_DATA."""
    return [SendingScenario(name) for name in suite.scenarios if name != MEASURED or os.environ.get(DATA_VARIABLE)]


@unlock_test_split()
def links(scenario: SendingScenario, kind: str, runs: int) -> list[SharedLink]:
    """The worlds of one kind."""
    return [scenario.draw("test", seed, kind) for seed in range(runs)]


def worlds_hash(scenario: SendingScenario, runs: int = RUNS) -> str:
    """Of all worlds of a scenario in the suites."""
    return links_hash(link for kind in scenario.kinds for link in links(scenario, kind, runs))


def links_hash(drawn: Iterable[SharedLink]) -> str:
    """Sixteen hex digits of worlds with the traces in them."""
    digest = hashlib.sha256()
    for link in drawn:
        digest.update(repr(link._replace(trace=_HASHED_APART)).encode())
        digest.update(link.trace.name.encode() + link.trace.times_us.tobytes() + link.trace.rates_bps.tobytes())
    return digest.hexdigest()[:16]
