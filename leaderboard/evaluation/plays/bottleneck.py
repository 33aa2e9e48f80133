"""Calls over a bottleneck and no paths: systems of rate and order, and agents of `vcgym/Rate-v1` and `vcgym/SendOrder-v1`.

`links_hash` is the hash of sampled bottlenecks, as under which suites are frozen.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vcgym.agents.evaluation.play import Policy
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play, PlayedRows, WorldKeys, measured_time
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import SenderRollout, play_sender, play_sender_agent, sender_envs
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.sender_metrics import ACCOUNTING, capacity_bps
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import unlock_test_split

# Fields of worlds that were added after older suites were frozen.
ADDED_LATER = (
    "discipline", "pauses_s", "backwards", "reverse", "file_bytes", "idle_s", "second", "at_second", "priority", "air", "station_mbps",
)  # fmt: skip
MEASURED = ("rate-measured", "rate-replay")
"""Scenarios whose capacity was measured."""
RENAMED = {"min_kbps": "least_kbps"}  # fields by the names under which older suites were frozen
_HASHED_APART: Any = None  # traces are hashed by content


class BottleneckPlay(Play):
    """Calls over a bottleneck."""

    cases = False
    """True if worlds are test cases with several media flows, which the metrics cover."""

    def open(self, part: Part, packets: int) -> SendingScenario:
        return SendingScenario(part.scenario, traces=part.traces or None)

    def card(self, scenario: SendingScenario) -> str:
        return data_hash(scenario)

    @unlock_test_split()
    def draw(self, part: Part, scenario: SendingScenario, which: WorldKeys) -> list[SharedLink]:
        return [scenario.draw(part.split, seed, kind) for kind, seed in which]

    def fingerprint(self, parts: Iterable[tuple[Part, SendingScenario]]) -> str:
        """Return one hash of all worlds per scenario."""
        links: dict[str, list[SharedLink]] = {}
        for part, scenario in parts:
            links.setdefault(part.scenario, []).extend(self.draw(part, scenario, self.worlds(part, scenario)))
        return " ".join(map(links_hash, links.values()))

    def play(
        self, systems: Sequence[System], scenario: SendingScenario, draws: Sequence[SharedLink], threads: int
    ) -> Iterator[SenderRollout]:  # fmt: skip
        for system in systems:
            yield play_sender(system, draws, scenario.traces, scenario.flows, threads, self.cases)

    def play_agent(
        self, agent: PublishedAgent | LocalAgent, policy: Policy, part: Part, scenario: SendingScenario, which: WorldKeys, threads: int
    ) -> SenderRollout:  # fmt: skip
        return play_sender_agent(agent, policy, scenario, which)

    @unlock_test_split()
    def envs(self, agent: LocalAgent, part: Part, scenario: SendingScenario) -> Any:
        return sender_envs(agent, scenario, 1, part.split)

    def rows(self, part: Part, scenario: SendingScenario, which: WorldKeys, rollout: SenderRollout) -> PlayedRows:
        kind = str(part.stratum)
        played = [_stretches(link) if part.scenario in MEASURED else [] for link in rollout.links]
        times = measured_time(played, 1000.0)
        rows = [
            {"trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0, **{name: times[name][n] for name in times}, **measured}
            for n, (link, measured) in enumerate(zip(rollout.links, rollout.metrics, strict=True))
        ]
        delays = {kind: {ACCOUNTING: DelayCdf.of_all(cdfs[ACCOUNTING] for cdfs in rollout.delays)}}
        return PlayedRows([kind] * len(rows), rows, delays)


def _stretches(link: SharedLink) -> list[tuple[str, int, int]]:
    """Return the parts of its trace, which is played in a circle, that a call has, in microseconds."""
    name, whole_us, begin_us = link.trace.name, link.trace.length_us, link.start_us
    end_us = begin_us + round(link.seconds * 1e6)
    if end_us - begin_us >= whole_us:
        return [(name, 0, whole_us)]
    return [(name, begin_us, min(end_us, whole_us)), *([(name, 0, end_us - whole_us)] if end_us > whole_us else [])]


class CasesPlay(BottleneckPlay):
    """Test cases with several media flows, all of which have the rules of the system."""

    cases = True


def links_hash(drawn: Iterable[SharedLink]) -> str:
    """Return the 16-digit hash of sampled bottlenecks, including their traces."""
    digest = hashlib.sha256()
    for link in drawn:
        beside = {name: which for name in ("reverse", "second") if (which := getattr(link, name)) is not None}
        apart = {name: which._replace(trace=_HASHED_APART) for name, which in beside.items()}
        digest.update(_text(link._replace(trace=_HASHED_APART, **apart)).encode())
        for trace in (link.trace, *(which.trace for which in beside.values())):
            digest.update(trace.name.encode() + trace.times_us.tobytes() + trace.rates_bps.tobytes())
            digest.update(b"".join(values.tobytes() for values in trace.conditions or ()))
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
