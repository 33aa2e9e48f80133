"""Policies of live calls by name: systems of rules, learned pairs, and agents in the folders that `vcgym train` writes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
from pydantic import ValidationError

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.play import Policy
from vcgym.agents.published.export import load_agent
from vcgym.baselines.controls.control import PATHS, Control, controls_of
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import System, learned_system, load_system
from vcgym.baselines.zoo import LEARNED
from vcgym.envs import name_of
from vcgym.envs.call.sender.no_uplink import NO_UPLINK
from vcgym.envs.environments.vector.paths import PathsVectorEnv
from vcgym.live.call.protection import protection_of
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults, one_line

CALL, PLAYOUT = "vcgym/Call-v1", "Playout"


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
        at_path: decides at the location of the path's control.
        at_receiver: decides at each arrival at the receiver; None: the setter of playout in the environment of `at_path` does.
        protection: rule of the protection at the sender; None: packets leave unprotected.
        budget: of the protection, share of the bytes without it that may go beyond them.
    """

    at_path: Acting
    at_receiver: Acting | None = None
    protection: Any = None
    budget: float = 1.0


def live_policy(named: str, protection: str | None = None, budget: float = 1.0) -> LivePolicy:
    """Return the policy `named`: a system, or the folder of a seed that `vcgym train` or `python -m lab train-pair` wrote.

    The rule of the system `protection`, if any, protects the call within the `budget` (`LivePolicy`).

    Raises:
        ValueError: it does not exist, is broken, or sets a control that a live call lacks; or the protection is none of a live call.
    """
    if protection is not None:
        rule, policy = protection_of(protection), live_policy(named)
        if not isinstance(policy.at_path.policy, RulePolicy) or policy.at_receiver:
            raise ValueError(
                f"protection is {protection} with the agent {named}; allowed, as in simulated calls: null, or a system as policy"
            )
        return policy._replace(protection=rule, budget=budget)
    folder = Path(named)
    if named in system_names() or not folder.is_dir():
        return of_system(load_system(named))
    if (folder / f"{LEARNED}.json").exists():
        return of_system(learned_system(folder, LEARNED))
    return _of_agent(folder)


def of_system(system: System) -> LivePolicy:
    """Return the policy of a system: its rule for the path decides in each slot, and its rule for playout is in the call.

    Raises:
        ValueError: it lacks one of them, or has a rule for another control.
    """
    if not system.fits(controls_of(PATHS)):
        raise ValueError(f"policy controls {', '.join(system.rules)}; allowed: {' and '.join(controls_of(PATHS))}, and protection=NAME")
    return LivePolicy(_of_path(**system.rules))


def _of_path(path: Any, playout: Any) -> Acting:
    options = {"playout": playout, "interval": 1, "observation": "records", "action": "exact"}
    return Acting(RulePolicy(path), partial(_environment, CALL, options))


def _of_agent(folder: Path) -> LivePolicy:
    path = folder.parent / "config.json"
    try:
        env = TrainConfig.model_validate_json(read_plain(path, MAX_JSON_BYTES)).env
    except ValidationError as error:
        raise ValueError(one_line(f"{path} is not the config of a study: {faults(error)}")) from error
    agent = load_agent(folder / "agent", env.id)
    if name_of(env.id) != PLAYOUT:
        return LivePolicy(Acting(agent, partial(_environment, env.id, env.options)))
    at_path = _of_path(env.options["path"], WMJitter())  # any rule for playout: no packet arrives in its environment
    return LivePolicy(at_path, Acting(agent, partial(_playout, env.options)))


def _playout(options: dict[str, Any], scenario: Scenario, **replaced: Any) -> PathsVectorEnv:
    """Return the environment of Playout, whose path may have an agent's placeholder."""
    given = options | {"scenario": scenario} | replaced
    return PathsVectorEnv(1, {Control.PATH: given.pop("path"), Control.PLAYOUT: None}, given.pop("interval"), True, **given)


def _environment(env_id: str, options: dict[str, Any], scenario: Scenario) -> PathsVectorEnv:
    envs = gymnasium.make_vec(env_id, num_envs=1, **options | {"scenario": scenario}).unwrapped
    if not isinstance(envs, PathsVectorEnv) or envs.at_arrivals or envs.uplink is not NO_UPLINK or envs.batch.protecting:
        allowed = f"{PLAYOUT}, or one that sets path or playout at the path's location, without uplink or protection"
        raise ValueError(f"policy acts in {env_id}; allowed: {allowed}")
    return envs
