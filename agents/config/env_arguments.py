"""The arguments that the config of an environment may set: their names, types and defaults, and their values as written."""

import importlib
import inspect
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.config.names import SET_BY_VCGYM
from vcgym.baselines.configured import mapping_of, rule_from
from vcgym.baselines.controls.control import CONTROLS
from vcgym.baselines.systems import rule_of
from vcgym.envs.environments.vector.settings import arguments_of


def env_parameters(env_id: str) -> dict[str, inspect.Parameter]:
    """Return the arguments of the vector environment `env_id` that a config may set, with types and the defaults of its class."""
    entry = spec_of(env_id).vector_entry_point
    found = arguments_of(entry if callable(entry) else load_env_creator(str(entry)))
    return {name: parameter for name, parameter in found.items() if name not in SET_BY_VCGYM}


def env_defaults(env_id: str) -> dict[str, Any]:
    """Return the arguments of the vector environment `env_id` that a config may set, with their defaults."""
    return {name: parameter.default for name, parameter in env_parameters(env_id).items()} | spec_of(env_id).kwargs


def spec_of(env_id: str) -> EnvSpec:
    """Return the registered environment of `env_id`; for "module:id", import the module first."""
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    return gymnasium.spec(name)


def read(written: Any, where: str, typed: bool) -> Any:
    """Return an argument with its mappings of a class as parameters, also those in a list; see `rule_of`."""
    if type(written) in (list, tuple):
        return [read(one, f"{where}[{number}]", typed) for number, one in enumerate(written)]
    if isinstance(written, str) and where in CONTROLS:
        return rule_of(written, where, typed)
    return rule_from(written, where) if isinstance(written, dict) and "_target_" in written else written


def written(value: Any) -> Any:
    """Return an argument as `read` takes it, complete with defaults."""
    return [written(one) for one in value] if type(value) in (list, tuple) else mapping_of(value, complete=True)
