"""Scores of rules and of agents on the same validation worlds, in the unit of the reward that the agents of an id maximise.

Calls over paths: R. Rate: utility per second as on `rate-v0`; Send: the same of packets on time, as reward `timely`. SendOrder: packets
on time, audio 1 and video 0.25, as reward `on_time`.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.systems import System
from vcgym.envs import name_of
from vcgym.leaderboard.evaluation.kinds.paths import play_rules
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.sender_metrics import timely_utility, utility
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario

TOGETHER = 50  # worlds of one batch
LOGGED = 1 << 16  # packets of one call
SENDERS = {"Rate": "rate", "Send": "rate", "SendOrder": "order"}
"""Name of an environment of senders -> its scenario."""


def score_systems(env_id: str, systems: Sequence[System], worlds: int, scenario: str = "wonderproxy") -> list[list[float]]:
    """Return the score of each system on each of the first `worlds` validation worlds of an environment; its paths are of a scenario."""
    if name_of(env_id) in SENDERS:
        return [_of_sender_rule(system, name_of(env_id), worlds) for system in systems]
    paths = Scenario(scenario, "correlated", 6000)
    found: list[list[float]] = [[] for _ in systems]
    for first in range(0, worlds, TOGETHER):
        draws = [paths.draw("validation", seed) for seed in range(first, min(first + TOGETHER, worlds))]
        for scores, rollout in zip(found, play_rules(systems, paths, draws), strict=True):
            scores += [float(row["r"]) for row in rows(rollout.calls)]
    return found


def _of_sender_rule(system: System, env: str, worlds: int) -> list[float]:
    scenario = SendingScenario(SENDERS[env])
    found: list[float] = []
    for first in range(0, worlds, TOGETHER):
        links = [scenario.draw("validation", seed) for seed in range(first, min(first + TOGETHER, worlds))]
        batch = started_batch(system, links)
        batch.play(np.arange(len(links)))
        found += [_of_sender(env, batch, row) for row in range(len(links))]
    return found


def _of_sender(env: str, batch: Any, row: int) -> float:
    totals = batch.totals()
    if env in ("Rate", "Send"):
        return (utility if env == "Rate" else timely_utility)(batch.links[row], batch.log(row), totals, row)
    return float(totals.on_time[row, AUDIO] + 0.25 * totals.on_time[row, VIDEO])


def score_agent(policy: Policy, env_id: str, options: dict[str, Any], worlds: int, split: str = "validation") -> list[float]:
    """Return the score of an agent on each of the first `worlds` worlds of a split."""
    found: list[float] = []
    kept: dict[str, Any] = {"log_packets": LOGGED} if name_of(env_id) in SENDERS else {}
    for first in range(0, worlds, TOGETHER):
        several = min(TOGETHER, worlds - first)
        envs = gymnasium.make_vec(
            env_id, num_envs=several, split=split, autoreset_mode=AutoresetMode.NEXT_STEP, **options, **kept
        ).unwrapped  # fmt: skip
        scores = np.zeros(several)

        def note(done: NDArray[np.int64], envs: Any = envs, scores: NDArray[np.float64] = scores) -> None:
            for row in done.tolist():
                sender = name_of(env_id) in SENDERS
                scores[row] = _of_sender(name_of(env_id), envs.batch, row) if sender else envs._outcomes()["rating"][row]

        observation, _ = envs.reset(seed=first)
        play(policy, envs, observation, note)
        envs.close()
        found += scores.tolist()
    return found
