"""A rule outside, acting through `predict` on records, plays the same call as inside, packet by packet; for every rule."""

import importlib
import pkgutil

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import vcgym.baselines
import vcgym.envs
from vcgym.agents.controllers.gated_router import GatedRouter
from vcgym.agents.controllers.hedged_lag import HedgedLag
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_router import LearnedRouter
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.rule import Control, facts_of, rules_of
from vcgym.baselines.systems import load_system
from vcgym.envs.call.batch import CallBatch
from vcgym.network.playout.receiver import WATERMARK
from vcgym.network.scenarios.paths import leo
from vcgym.network.scenarios.scenario import MODES, Scenario

SEEDS = [3, 4, 5]
PACKETS = 700  # more than one block of the world
WORLDS = [("wonderproxy", "correlated", 0.0, 1.0, "central"), ("table1", "paper", 0.2, 3.0, "sender")]


def every_rule(control):
    """Classes of rules found in the modules of the room. Oracles have no outside."""
    for module in pkgutil.walk_packages(vcgym.baselines.__path__, "vcgym.baselines."):
        importlib.import_module(module.name)
    return [cls for cls in rules_of(control) if cls.__module__.startswith("vcgym.baselines.") and not facts_of(cls).oracle]


ROUTERS, RECEIVERS = [*every_rule(Control.PATH), LearnedRouter, GatedRouter], [*every_rule(Control.PLAYOUT), LearnedLag, HedgedLag]
RULES = [*ROUTERS, *(kind for kind in RECEIVERS if facts_of(kind).buffer == WATERMARK)]


def example(kind):
    """Parameters of a rule: its defaults, and 60 ms for a duration without one; of a learned one, those of the shipped pair."""
    if facts_of(kind).learned:
        pairs = (load_system(name).rules.values() for name in ("learned-rl", "learned", "learned-whole"))
        return next(rule for rules in pairs for rule in rules if isinstance(rule, kind))
    return kind(**{name: 60.0 for name in kind._fields if name not in kind._field_defaults})


def inside(router, receiver, world):
    scenario, mode, feedback_loss, probe_rate, location = world
    recipe = Scenario(scenario, mode, PACKETS)
    at = {"location": location, "feedback_loss": feedback_loss, "probe_rate": probe_rate}
    batch = CallBatch(recipe, len(SEEDS), router, receiver, **at, log=True)
    for row, seed in enumerate(SEEDS):
        batch.start(row, recipe.draw("train", seed))
    batch.play(np.arange(len(SEEDS)))
    return batch.played()


def outside(env_id, policy, world, **arguments):
    scenario, mode, feedback_loss, probe_rate, location = world
    env = gymnasium.make_vec(
        env_id, num_envs=len(SEEDS), scenario=scenario, mode=mode, packets=PACKETS, feedback_loss=feedback_loss, probe_rate=probe_rate,
        location=location, observation=policy.reads, action=policy.action, log=True, autoreset_mode=AutoresetMode.DISABLED, **arguments,
    ).unwrapped  # fmt: skip
    observation, _ = env.reset(seed=SEEDS)
    state, start, played = None, np.ones(len(SEEDS), bool), [None] * len(SEEDS)
    while None in played:
        actions, state = policy.predict(observation, state, start)
        observation, _, _, truncated, _ = env.step(actions)
        start = truncated.copy()
        for row in np.flatnonzero(truncated):
            played[row] = played[row] or _row(env.played(), row)
        if truncated.any():  # those that are over begin again, so that the others can play on
            observation, _ = env.reset(options={"reset_mask": truncated})
    return played


def _row(played, row):
    arrays = {name: getattr(played, name)[row].tolist() for name in ("path", "arrived_us", "emitted_us", "flushed", "played_us", "windows")}
    return arrays | {name: value[row].item() for name, value in played.totals._asdict().items()}


def assert_alike(kind, world):
    """A rule inside and outside plays the same call; returns that of the inside."""
    rule = example(kind)
    if facts_of(kind).control is Control.PATH:
        env_id, expected = "vcgym/Relay-v1", inside(rule, WMJitter(), world)
    else:
        env_id, expected = "vcgym/Playout-v1", inside(Direct(), rule, world)
    assert outside(env_id, RulePolicy(rule), world, interval=1) == [_row(expected, row) for row in range(len(SEEDS))]
    return expected


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world[1])
@pytest.mark.parametrize("kind", RULES, ids=lambda kind: kind.__name__)
def test_every_rule(kind, world):
    totals = assert_alike(kind, world).totals
    assert totals.plans_sent.sum() >= totals.path_changes.sum()


EVERY_WORLD = [(name, mode, 0.0, 1.0, "central") for name, modes in MODES.items() if name != "replay" for mode in modes]  # leo is replay


@pytest.mark.parametrize(
    "world",
    [pytest.param(world, id=f"{world[0]}-{world[1]}", marks=[pytest.mark.long] * world[0].startswith("world-")) for world in EVERY_WORLD],
)
def test_every_scenario(world, monkeypatch):
    if world[1] == "replay":
        delay_us = 30_000 + 100 * (np.arange(len(leo.SERIES))[:, None] * 37 + np.arange(40_000)[None, :] * 7919) % 60_000
        monkeypatch.setattr(leo, "measured", lambda data: (delay_us.astype(np.int32), "arithmetic"))
    assert_alike(Greedy, world)


def test_the_room_was_searched():
    assert {"Direct", "RoundRobin", "Via", "VCRoute"} <= {kind.__name__ for kind in ROUTERS}
    assert {"FixedLag", "CountTarget", "WMJitter", "NetEqTarget"} <= {kind.__name__ for kind in RECEIVERS}


def test_at_a_coarser_clock_a_rule_is_another_system():
    world = WORLDS[1]
    router = example(next(kind for kind in ROUTERS if kind.__name__ == "RoundRobin"))
    coarse = outside("vcgym/Relay-v1", RulePolicy(router), world, interval=10)
    assert coarse != [_row(inside(router, WMJitter(), world), row) for row in range(len(SEEDS))]
