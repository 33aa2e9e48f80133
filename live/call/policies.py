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
from vcgym.baselines.systems import System, learned_system, load_system, system_names
from vcgym.baselines.zoo import LEARNED
from vcgym.envs.call.sender.no_uplink import NO_UPLINK
from vcgym.envs.faces.vector.paths import PathsVectorEnv
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults

CALL = "vcgym/Call-v0"


class LivePolicy(NamedTuple):
    """Policy that controls a live call, at the router's location.

    Attributes:
        policy: decides through `predict`.
        environment: makes the environment of one call of a scenario, in which the policy observes and acts; its receiver is the call's.
    """

    policy: Policy
    environment: Callable[[Scenario], PathsVectorEnv]


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
    options = {"receiver": system.receiver, "interval": 1, "observation": "records", "action": "exact"}
    return LivePolicy(RulePolicy(system.router), partial(_environment, CALL, options))


def _of_agent(folder: Path) -> LivePolicy:
    path = folder.parent / "config.json"
    try:
        env = TrainConfig.model_validate_json(read_plain(path, MAX_JSON_BYTES)).env
    except ValidationError as error:
        raise ValueError(f"{path} is not the config of a study: {faults(error)}") from error
    return LivePolicy(load_agent(folder / "agent", env.id), partial(_environment, env.id, env.options))


def _environment(env_id: str, options: dict[str, Any], scenario: Scenario) -> PathsVectorEnv:
    envs = gymnasium.make_vec(env_id, num_envs=1, **options | {"scenario": scenario}).unwrapped
    if not isinstance(envs, PathsVectorEnv) or envs.controls.at_arrivals or envs.uplink is not NO_UPLINK:
        raise ValueError(f"policy acts in {env_id}; allowed: one that sets path, lag or both at the router's location, without an uplink")
    return envs
