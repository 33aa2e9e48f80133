"""Imitation of hindsight plans: a causal router learns, in its own calls, when the best path sequence in hindsight is elsewhere.

DAgger (Ross et al. 2011, arXiv 1011.0686): the student plays calls of training worlds; in each decision the plan says whether the path of
slot 1 is the one to be on; the student is fitted to the decisions of all turns. A plan is a path sequence with a limited number of changes
(`lab.studies.oracles.sequences`), so it minimises delay and priced loss, not R.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.studies.offline.calls import Logged, Policy
from lab.studies.offline.learning import clone
from lab.studies.oracles.seen import see
from lab.studies.oracles.sequences import best_sequence, costs
from vcgym.envs.faces.relay import RelayVectorEnv

INTERVAL = 50  # slots between decisions
AHEAD = INTERVAL // 2 + 10  # slots: the middle of what a decision decides, and a command's way
CHANGES = 6  # per call


def stay(observations: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the probabilities (n, 2) of the policy that never changes path."""
    return np.tile([1.0, 0.0], (len(observations), 1))


def corrected(policy: Policy, calls: int, seed: int, **options: Any) -> Logged:
    """Play calls by the most probable action; return them with the plans' actions in place of those taken.

    Args:
        policy: probabilities of staying and of taking the path of slot 1.
        calls: number of calls.
        seed: world of the first call.
        options: arguments of Relay, without action and interval.
    """
    envs = RelayVectorEnv(calls, interval=INTERVAL, autoreset_mode="DISABLED", action="relative", **options)
    observation, infos = envs.reset(seed=seed)
    scenario, slots = envs.batch.scenario, envs.slots
    assert slots is not None
    draws = [draw for draw in envs.batch.draws if draw is not None]
    plans: NDArray[np.int16] = np.stack([best_sequence(costs(see(scenario, draw)), CHANGES) for draw in draws])
    wanted: list[NDArray[np.int64]] = []
    seen, rewards, done = [observation], [], False
    while not done:
        ahead: int = min(INTERVAL * len(wanted) + AHEAD, scenario.packets - 1)
        wanted.append((slots.order[:, 1] == plans[:, ahead]).astype(np.int64))
        observation, reward, _, truncated, infos = envs.step(policy(observation).argmax(axis=1))
        seen.append(observation)
        rewards.append(reward)
        done = bool(truncated.any())
    envs.close()
    actions = np.stack(wanted, axis=1)
    return Logged(np.stack(seen, axis=1), actions, np.stack(rewards, axis=1), np.ones(actions.shape), infos["rating"])


def imitate(calls: int, turns: int, seed: int, **options: Any) -> Policy:
    """Return the student after `turns` turns of `calls` calls each, the first of which never change path.

    Args:
        calls: calls per turn, each on its own training world.
        turns: number of turns.
        seed: seed of the network; the worlds are seed * 1,000,000 on.
        options: arguments of Relay, without action, interval and split.
    """
    policy: Policy = stay
    played: list[Logged] = []
    for turn in range(turns):
        played.append(corrected(policy, calls, seed * 1_000_000 + turn * calls, **options))
        policy = clone(Logged(*map(np.concatenate, zip(*played, strict=True))), 2, seed, epochs=6)
    return policy
