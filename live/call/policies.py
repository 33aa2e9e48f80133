"""Policies of live calls by name: systems of rules, learned pairs, and agents in the folders that `vcgym-train` writes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
from pydantic import ValidationError

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.play import Policy
from vcgym.agents.published.export import load_agent
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.systems import System, learned_system, load_system, system_names
from vcgym.baselines.zoo import LEARNED
from vcgym.envs.call.sender.no_uplink import NO_UPLINK
from vcgym.envs.faces.playout import MECHANISMS
from vcgym.envs.faces.vector.paths import Controls, PathsVectorEnv
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults, one_line

CALL, PLAYOUT = "vcgym/Call-v0", "vcgym/Playout-v0"


class Acting(NamedTuple):
    """Policy at one location.

    Attributes:
        policy: decides through `predict`.
        environment: makes the environment of one call of a scenario, in which the policy observes and acts; others replace its own.
    """

    policy: Policy
    environment: Callable[..., PathsVectorEnv]


class LivePolicy(NamedTuple):
    """Policy that controls a live call.

    Attributes:
        at_router: decides at the router's location.
        at_receiver: decides at each arrival at the receiver; None: the receiver in the environment of `at_router` does.
    """

    at_router: Acting
    at_receiver: Acting | None = None


def live_policy(named: str) -> LivePolicy:
    """Return the policy `named`: a system, or the folder of a seed that `vcgym-train` or `vcgym-train-pair` wrote.

    Raises:
        ValueError: it does not exist, is broken, or sets a control that a live call lacks.
    """
    folder = Path(named)
    if named in system_names() or not folder.is_dir():
        return of_system(load_system(named))
    if (folder / f"{LEARNED}.json").exists():
        return of_system(learned_system(folder, LEARNED))
    return _of_agent(folder)


def of_system(system: System) -> LivePolicy:
    """Return the policy of a system: its router decides in each slot, and its receiver is in the call.

    Raises:
        ValueError: it has no router and receiver, or a rate controller or scheduler too.
    """
    if system.plays != "paths" or system.rate is not None:
        raise ValueError(f"policy controls {', '.join(system.rules)}; allowed: router and receiver")
    return LivePolicy(_of_router(system.router, system.receiver))


def _of_router(router: Any, receiver: Any) -> Acting:
    options = {"receiver": receiver, "interval": 1, "observation": "records", "action": "exact"}
    return Acting(RulePolicy(router), partial(_environment, CALL, options))


def _of_agent(folder: Path) -> LivePolicy:
    path = folder.parent / "config.json"
    try:
        env = TrainConfig.model_validate_json(read_plain(path, MAX_JSON_BYTES)).env
    except ValidationError as error:
        raise ValueError(one_line(f"{path} is not the config of a study: {faults(error)}")) from error
    agent = load_agent(folder / "agent", env.id)
    if env.id != PLAYOUT:
        return LivePolicy(Acting(agent, partial(_environment, env.id, env.options)))
    router = _of_router(env.options["router"], WMJitter())  # any receiver: no packet arrives in the router's environment
    return LivePolicy(router, Acting(agent, partial(_playout, env.options)))


def _playout(options: dict[str, Any], scenario: Scenario, **replaced: Any) -> PathsVectorEnv:
    """Return the environment of Playout, whose router may be an agent's placeholder."""
    given = options | {"scenario": scenario} | replaced
    router, receiver = given.pop("router"), MECHANISMS[given.pop("mechanism")]
    return PathsVectorEnv(1, Controls(path=False, lag=True, at_arrivals=True), router, receiver, **given)


def _environment(env_id: str, options: dict[str, Any], scenario: Scenario) -> PathsVectorEnv:
    envs = gymnasium.make_vec(env_id, num_envs=1, **options | {"scenario": scenario}).unwrapped
    if not isinstance(envs, PathsVectorEnv) or envs.controls.at_arrivals or envs.uplink is not NO_UPLINK:
        allowed = f"{PLAYOUT}, or one that sets path or lag at the router's location, without an uplink"
        raise ValueError(f"policy acts in {env_id}; allowed: {allowed}")
    return envs
