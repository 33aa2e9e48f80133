"""Play a system or an agent on given worlds over a bottleneck. All play the same worlds and seeds, so results are paired."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import PlayedFlow, SendingBatch, SendingTotals
from vcgym.leaderboard.evaluation.published import LocalAgent, PublishedAgent
from vcgym.leaderboard.results.case_metrics import case_delays, case_metrics
from vcgym.leaderboard.results.cdf import DelayCdf
from vcgym.leaderboard.results.sender_metrics import delay_cdf, metrics
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import unlock_test_split

MAX_PACKETS = 1 << 17  # capacity of a call's log


class SenderRollout(NamedTuple):
    """Finished calls, and the measured time per decision.

    Attributes:
        links: world of each call.
        metrics: metrics of each call.
        delays: delay distribution of each call, by accounting.
        decision_us: time per sent packet for rules, per `predict` and call for agents.
        wall_clock_s: wall-clock time of all calls.
    """

    links: list[SharedLink]
    metrics: list[dict[str, float]]
    delays: list[Mapping[str, DelayCdf]]
    decision_us: float
    wall_clock_s: float


def play_sender(
    system: System, links: Sequence[SharedLink], traces: Sequence[CapacityTrace], flows: int, threads: int = 1, cases: bool = False
) -> SenderRollout:  # fmt: skip
    """Play a system on each world.

    Args:
        system: system with rules for rate and order.
        links: the worlds.
        traces: all capacity traces of the worlds.
        flows: maximum number of other flows.
        threads: threads that share the calls; no effect on the result.
        cases: true if the worlds are test cases with several media flows; metrics then cover all of them.

    Raises:
        OverflowError: a call sends more packets than its log holds.
    """
    batch = started_batch(system, links, traces, flows, threads)
    began = time.perf_counter()
    batch.play(np.arange(len(links)))
    took_s = time.perf_counter() - began
    totals = batch.totals()
    if cases:
        measured = [_measured_case(link, batch.flows(row)) for row, link in enumerate(links)]
    else:
        measured = [_measured(link, batch, totals, row) for row, link in enumerate(links)]
    return _rollout(list(links), measured, 1e6 * took_s / max(1, int(totals.sent.sum())), took_s)


def started_batch(
    system: System, links: Sequence[SharedLink], traces: Sequence[CapacityTrace], flows: int, threads: int = 1
) -> SendingBatch:  # fmt: skip
    """Return started calls, one per world, with logs of `MAX_PACKETS` packets; for the arguments see `play_sender`."""
    calls = [[flow for flow in link.flows if isinstance(flow, OtherCall)] for link in links]
    batch = SendingBatch(
        len(links), system.rate, system.order, traces, flows, (), system.pacing or 0.0, log_packets=MAX_PACKETS,
        seconds=max(link.seconds for link in links), threads=threads,
        calls=max(map(len, calls)), same=any(call.rate == SAME for of_link in calls for call in of_link),
        rates=list({id(call.rate): call.rate for of_link in calls for call in of_link if not isinstance(call.rate, str)}.values()),
        reverse=any(link.reverse is not None for link in links), second=any(link.second is not None for link in links),
    )  # fmt: skip
    for row, link in enumerate(links):
        batch.start(row, link)
    return batch


@unlock_test_split()
def play_sender_agent(
    agent: PublishedAgent | LocalAgent, policy: Policy, scenario: SendingScenario, which: Sequence[tuple[str, int]]
) -> SenderRollout:  # fmt: skip
    """Play an agent on worlds of one kind of the test split.

    Args:
        agent: published or local agent.
        policy: its policy.
        scenario: scenario of the worlds.
        which: kind and seed of each world.

    Raises:
        OverflowError: a call sends more packets than its log holds.
    """
    envs = sender_envs(agent, scenario, len(which), "test", log_packets=MAX_PACKETS)
    observation, _ = envs.reset(seed=[seed for _, seed in which], options={"kind": which[0][0]})
    found: dict[int, tuple[SharedLink, dict[str, float], Mapping[str, DelayCdf]]] = {}
    began = time.perf_counter()

    def measure(done: NDArray[np.int64]) -> None:
        for row in done.tolist():
            found[row] = _measured(envs.batch.links[row], envs.batch, envs.batch.totals(), row)

    decision_us = play(policy, envs, observation, measure).decision_us
    envs.close()
    measured = [found[row] for row in range(len(which))]
    return _rollout([link for link, _, _ in measured], measured, decision_us, time.perf_counter() - began)


def sender_envs(agent: PublishedAgent | LocalAgent, scenario: str | SendingScenario, num_envs: int, split: str, **others: Any) -> Any:
    """Return the environments of an agent on worlds of a scenario."""
    arguments = dict(agent.arguments) | {"scenario": scenario, "send_queue": None}
    return gymnasium.make_vec(
        agent.env, num_envs=num_envs, split=split, autoreset_mode=AutoresetMode.NEXT_STEP, **arguments, **others
    ).unwrapped  # fmt: skip


def _measured(
    link: SharedLink, batch: SendingBatch, totals: SendingTotals, row: int
) -> tuple[SharedLink, dict[str, float], Mapping[str, DelayCdf]]:  # fmt: skip
    log = batch.log(row)
    if len(log) >= MAX_PACKETS:
        raise OverflowError(f"{link.name}: more than {MAX_PACKETS} packets were sent")
    return link, metrics(link, log, totals, row, batch.tables.targets[row]), delay_cdf(link, log)


def _measured_case(link: SharedLink, flows: list[PlayedFlow]) -> tuple[SharedLink, dict[str, float], Mapping[str, DelayCdf]]:
    if any(len(flow.log) >= MAX_PACKETS for flow in flows):
        raise OverflowError(f"{link.name}: more than {MAX_PACKETS} packets were sent")
    return link, case_metrics(link, flows), case_delays(flows)


def _rollout(links: list[SharedLink], measured: list[Any], decision_us: float, wall_clock_s: float) -> SenderRollout:
    return SenderRollout(links, [one for _, one, _ in measured], [cdf for _, _, cdf in measured], decision_us, wall_clock_s)
