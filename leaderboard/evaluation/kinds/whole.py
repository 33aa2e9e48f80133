"""Calls over a shared bottleneck and then paths: systems of path, playout, rate and order,
and agents of `vcgym/Call-v1` with `uplink`.

A scenario is named PATHS+UPLINK, such as wonderproxy+rate; the stratum of a part is the kind of bottleneck. Strata of the paths are sampled
with the declared weights. A world is that of `vcgym/Call-v1` with `uplink` and the same seed.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls import control
from vcgym.baselines.controls.control import controls_of
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.sender.batch import PlayedFlow
from vcgym.envs.call.sender.uplink import LOG_PACKETS, UplinkBatch, uplink_seed
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls, Kind, Take, WorldKeys, delays_of
from vcgym.leaderboard.evaluation.kinds.paths import PATHS, conditions, path_envs, taking_calls
from vcgym.leaderboard.evaluation.kinds.sender import links_hash
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import AGENT_ENV, Agent
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import delay_cdf
from vcgym.leaderboard.results.kinds import WHOLE as COLUMNS
from vcgym.leaderboard.results.sender_metrics import capacity_bps, metrics
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

JOIN = "+"


class WholeScenario(NamedTuple):
    """Paths, and the bottleneck before them."""

    paths: Scenario
    uplink: SendingScenario

    @property
    def name(self) -> str:
        """Name of both."""
        return f"{self.paths.name}+{self.uplink.name}"


class WholeWorld(NamedTuple):
    """World of the paths, and the split, seed and kind of the world of the bottleneck."""

    paths: WorldDraw
    split: str
    seed: int
    kind: str


class WholeCalls(NamedTuple):
    """Finished calls.

    Attributes:
        played: audio of each call, packet by packet.
        flows: sender of each call.
        others_bytes: bytes that each other flow of each call's bottleneck delivered.
    """

    played: Played
    flows: list[PlayedFlow]
    others_bytes: list[list[int]]


@unlock_test_split()
def play_whole(system: System, scenario: WholeScenario, worlds: Sequence[WholeWorld], threads: int = 1) -> FinishedCalls:
    """Play a system on each world; the time per decision is that per packet of audio.

    Args:
        system: system with a rule for path, playout, rate and order.
        scenario: scenario of the worlds.
        worlds: the worlds.
        threads: threads that share the calls; no effect on the result.

    Returns:
        The finished calls, whose field `calls` is `WholeCalls`.

    Raises:
        OverflowError: a call sends more packets than its log holds.
    """
    uplink = UplinkBatch(
        len(worlds), scenario.paths.paths, scenario.uplink, system.rate, system.order, system.pacing or 0.0,
        keeps_order=scenario.paths.mode == "correlated", log_packets=LOG_PACKETS, seconds=scenario.paths.packets * SLOT_US * 1e-6,
    )  # fmt: skip
    batch = CallBatch(scenario.paths, len(worlds), log=True, threads=threads, uplink=uplink, **system.of(control.PATHS))
    for row, world in enumerate(worlds):
        uplink.draw(row, world.split, world.seed, world.kind)
        batch.start(row, world.paths)
    rows = np.arange(len(worlds))
    began = time.perf_counter()
    batch.play(rows)
    took_s = time.perf_counter() - began
    flows, others = zip(*(_sender(uplink, row) for row in rows.tolist()), strict=True)
    return FinishedCalls(WholeCalls(batch.played(), [*flows], [*others]), 1e6 * took_s / (len(worlds) * scenario.paths.packets), took_s)


def _sender(uplink: UplinkBatch, row: int) -> tuple[PlayedFlow, list[int]]:
    """Return the finished sender of a call, and the bytes that each other flow delivered."""
    return uplink.played(row), uplink.sending.others_bytes(row)


class WholeKind(Kind):
    """Calls over a shared bottleneck and then paths."""

    def open(self, part: Part, packets: int) -> WholeScenario:
        paths, _, uplink = part.scenario.partition(JOIN)
        return WholeScenario(Scenario(paths, part.mode, packets, **dict(part.settings)), SendingScenario(uplink))

    def card(self, scenario: WholeScenario) -> str:
        both = scenario.paths.layout.card, data_hash(scenario.uplink)
        return hashlib.sha256(" ".join(both).encode()).hexdigest()

    def pairs(self, part: Part, scenario: WholeScenario) -> list[str]:
        return list(scenario.paths.pairs(part.split))

    @unlock_test_split()
    def draw(self, part: Part, scenario: WholeScenario, which: WorldKeys) -> list[WholeWorld]:
        draws = [scenario.paths.draw(part.split, seed, pair) for pair, seed in which]
        return [WholeWorld(draw, part.split, seed, str(part.stratum)) for draw, (_, seed) in zip(draws, which, strict=True)]

    def fingerprint(self, parts: Iterable[tuple[Part, WholeScenario]]) -> str:
        """Return the hash of a sample of worlds of the paths, and that of all worlds of the bottlenecks."""
        parts = list(parts)
        of_paths = PATHS.fingerprint((part._replace(stratum=None), scenario.paths) for part, scenario in parts)
        return f"{of_paths} {links_hash(link for part, scenario in parts for link in self._links(part, scenario))}"

    @unlock_test_split()
    def _links(self, part: Part, scenario: WholeScenario) -> list[SharedLink]:
        return [scenario.uplink.draw(part.split, uplink_seed(seed), part.stratum) for _, seed in self.worlds(part, scenario)]

    def play_rules(
        self, systems: Sequence[System], scenario: WholeScenario, draws: Sequence[WholeWorld], threads: int
    ) -> Iterator[FinishedCalls]:  # fmt: skip
        for system in systems:
            yield play_whole(system, scenario, draws, threads)

    @unlock_test_split()
    def envs(
        self, agent: Agent, part: Part, scenario: WholeScenario, reads: str, calls: int = 1, threads: int = 1,
        log: bool = False,
    ) -> Any:  # fmt: skip
        return path_envs(agent, part, scenario.paths, reads, calls, threads=threads, log=log, uplink=scenario.uplink)

    def reset_options(self, part: Part, pair: str) -> dict[str, Any]:
        return {"pair": pair, "kind": str(part.stratum)}

    def taking(self, envs: Any) -> tuple[WholeCalls, Take]:
        played, take_audio = taking_calls(envs)
        nobody: list[Any] = [None] * envs.num_envs
        calls = WholeCalls(played, nobody, nobody.copy())

        def take(done: NDArray[np.int64]) -> None:
            take_audio(done)
            for row in done.tolist():
                calls.flows[row], calls.others_bytes[row] = _sender(envs.uplink, row)

        return calls, take

    def rows(self, part: Part, scenario: WholeScenario, which: WorldKeys, finished: FinishedCalls) -> list[dict[str, Any]]:
        calls: WholeCalls = finished.calls
        heard = rows(calls.played, **conditions(scenario.paths, [world.paths for world in self.draw(part, scenario, which)]))
        sent = [
            metrics(flow.link, flow.log, flow.totals, flow.row, flow.targets_bps)
            | {"trace": flow.link.trace.name, "capacity_kbps": capacity_bps(flow.link) / 1000.0, "taken_share": _taken(flow, others)}
            for flow, others in zip(calls.flows, calls.others_bytes, strict=True)
        ]
        return [
            of_sender | of_paths | {"stratum": str(part.stratum), "delays": delays_of(delay_cdf(calls.played, [s]))}
            for s, (of_sender, of_paths) in enumerate(zip(sent, heard, strict=True))  # R is what the listener hears
        ]


def _taken(flow: PlayedFlow, others_bytes: Sequence[int]) -> float:
    """Return the call's share of what all flows deliver, beyond an equal share; 0 if nothing is delivered."""
    own = int(flow.log["size_bytes"][flow.log["arrived_us"] >= 0].sum())
    delivered = own + sum(others_bytes)
    return own / delivered - 1.0 / (1 + len(others_bytes)) if delivered else 0.0


WHOLE = WholeKind("whole", (*controls_of(control.PATHS), *controls_of(control.BOTTLENECK)), COLUMNS, (AGENT_ENV,), tuned_apart=True)
