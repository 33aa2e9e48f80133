"""Calls over a bottleneck and no paths: systems of rate and order, and agents of `vcgym/Rate-v1` and `vcgym/SendOrder-v1`.

`links_hash` is the hash of sampled bottlenecks, as under which suites are frozen.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls import control
from vcgym.baselines.controls.control import controls_of
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind, Take, WorldKeys, delays_of, measured_time
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import ORDER_ENV, RATE_ENV, SEND_ENV, Agent
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.kinds import ORDER, RATE, RMCAT
from vcgym.leaderboard.results.sender_metrics import ACCOUNTING, capacity_bps, case_delays, case_metrics, delay_cdf, metrics
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import unlock_test_split

MAX_PACKETS = 1 << 17  # capacity of a call's log
# Fields of worlds that were added after older suites were frozen.
ADDED_LATER = (
    "discipline", "pauses_s", "backwards", "reverse", "file_bytes", "idle_s", "second", "at_second", "priority", "air", "station_mbps",
)  # fmt: skip
MEASURED = ("rate-measured", "rate-replay")
"""Scenarios whose capacity was measured."""
RENAMED = {"min_kbps": "least_kbps"}  # fields by the names under which older suites were frozen
_HASHED_APART: Any = None  # traces are hashed by content


class SenderCall(NamedTuple):
    """Finished call: its world, its metrics, and its delay distribution by accounting."""

    link: SharedLink
    metrics: dict[str, float]
    delays: Mapping[str, DelayCdf]


def play_sender(system: System, links: Sequence[SharedLink], threads: int = 1, cases: bool = False) -> FinishedCalls:
    """Play a system on each world; the time per decision is that per sent packet.

    Args:
        system: system with rules for rate and order.
        links: the worlds.
        threads: threads that share the calls; no effect on the result.
        cases: true if the worlds are test cases with several media flows; metrics then cover all of them.

    Returns:
        The finished calls, whose field `calls` is a list of `SenderCall`.

    Raises:
        OverflowError: a call sends more packets than its log holds.
    """
    batch = started_batch(system, links, threads)
    began = time.perf_counter()
    batch.play(np.arange(len(links)))
    took_s = time.perf_counter() - began
    calls = [(_measured_case if cases else _measured)(link, batch, row) for row, link in enumerate(links)]
    return FinishedCalls(calls, 1e6 * took_s / max(1, int(batch.totals().sent.sum())), took_s)


def started_batch(system: System, links: Sequence[SharedLink], threads: int = 1) -> SendingBatch:
    """Return started calls, one per world, with logs of `MAX_PACKETS` packets; for the arguments see `play_sender`."""
    worlds, pacing = Worlds.of(*links), system.pacing or 0.0
    batch = SendingBatch(len(links), system.rate, system.order, worlds, pacing=pacing, log_packets=MAX_PACKETS, threads=threads)
    for row, link in enumerate(links):
        batch.start(row, link)
    return batch


def _measured(link: SharedLink, batch: SendingBatch, row: int) -> SenderCall:
    log = batch.log(row)
    _require_whole(link, log)
    return SenderCall(link, metrics(link, log, batch.totals(), row, batch.tables.targets[row]), delay_cdf(link, log))


def _measured_case(link: SharedLink, batch: SendingBatch, row: int) -> SenderCall:
    flows = batch.flows(row)
    for flow in flows:
        _require_whole(link, flow.log)
    return SenderCall(link, case_metrics(link, flows), case_delays(flows))


def _require_whole(link: SharedLink, log: NDArray[Any]) -> None:
    if len(log) >= MAX_PACKETS:
        raise OverflowError(f"{link.name}: more than {MAX_PACKETS} packets were sent")


@dataclass(frozen=True)
class SenderKind(Kind):
    """Calls over a bottleneck; with `cases`, worlds are test cases with several media flows, all of which have the rules of the system."""

    cases: bool = False

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

    def play_rules(
        self, systems: Sequence[System], scenario: SendingScenario, draws: Sequence[SharedLink], threads: int
    ) -> Iterator[FinishedCalls]:  # fmt: skip
        for system in systems:
            yield play_sender(system, draws, threads, self.cases)

    @unlock_test_split()
    def envs(
        self, agent: Agent, part: Part, scenario: str | SendingScenario, reads: str, calls: int = 1, threads: int = 1,
        log: bool = False,
    ) -> Any:  # fmt: skip
        arguments = dict(agent.arguments) | {"scenario": scenario, "send_queue": None, "log_packets": MAX_PACKETS if log else 0}
        return gymnasium.make_vec(agent.env, num_envs=calls, split=part.split, **arguments).unwrapped

    def reset_options(self, part: Part, pair: str) -> dict[str, Any]:
        return {"kind": pair}

    def taking(self, envs: Any) -> tuple[list[SenderCall | None], Take]:
        calls: list[SenderCall | None] = [None] * envs.num_envs

        def take(done: NDArray[np.int64]) -> None:
            for row in done.tolist():
                calls[row] = _measured(envs.batch.links[row], envs.batch, row)

        return calls, take

    def rows(self, part: Part, scenario: SendingScenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        calls: list[SenderCall] = finished.calls
        times = measured_time([_stretches(call.link) if part.scenario in MEASURED else [] for call in calls], 1000.0)
        return [
            {"stratum": str(part.stratum), "trace": link.trace.name, "capacity_kbps": capacity_bps(link) / 1000.0, **measured}
            | {"delays": delays_of({ACCOUNTING: delays[ACCOUNTING]})}
            | {name: times[name][n] for name in times}
            for n, (link, measured, delays) in enumerate(calls)
        ]


def _stretches(link: SharedLink) -> list[tuple[str, int, int]]:
    """Return the parts of its trace, which is played in a circle, that a call has, in microseconds."""
    name, whole_us, begin_us = link.trace.name, link.trace.length_us, link.start_us
    end_us = begin_us + round(link.seconds * 1e6)
    if end_us - begin_us >= whole_us:
        return [(name, 0, whole_us)]
    return [(name, begin_us, min(end_us, whole_us)), *([(name, 0, end_us - whole_us)] if end_us > whole_us else [])]


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


SENDER = SenderKind("sender", controls_of(control.BOTTLENECK), RATE, (RATE_ENV, ORDER_ENV, SEND_ENV), tuned_apart=True)
ORDERED = replace(SENDER, name="ordered", columns=ORDER, env_ids=(ORDER_ENV, RATE_ENV, SEND_ENV))
"""Calls that a suite ranks by what their order decides."""
CASES = replace(SENDER, name="cases", columns=RMCAT, env_ids=(), cases=True)
