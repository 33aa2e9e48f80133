"""Config of an environment, and the arguments that it may set."""

import importlib
import sys
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from pydantic import Field, ValidationInfo, field_serializer, field_validator

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.config.base import Config
from vcgym.agents.config.names import SET_BY_VCGYM
from vcgym.baselines.configured import mapping_of, rule_from
from vcgym.baselines.controls.control import CONTROLS
from vcgym.baselines.systems import rule_of
from vcgym.envs.environments.vector.settings import arguments_of
from vcgym.network.traces.refusal import one_line, shown


class EnvConfig(Config):
    """An environment and its arguments; omitted arguments take the environment's defaults.

    Attributes:
        id: id of an environment, such as vcgym/Call-v1; "module:id" imports the module first. In JSON, which may be a file of somebody
            else, the module must have been imported already: nothing that a file names is imported, and no folder is read.
        options: arguments of the environment by name, such as env.options.mode=paper; see docs/envs.md. A rule, reward or feature is
            written as its class and parameters: {_target_: vcgym.baselines.playout.fixed_lag.FixedLag, ...}; features are a list. The
            rule of a control may also be that of a system, by its name or by the folder of its training: env.options.path=learned-rl.
    """

    id: str = "vcgym/Call-v1"
    options: dict[str, Any] = Field(default={})

    @field_validator("id")
    @classmethod
    def _has_vector_face(cls, env_id: str, info: ValidationInfo) -> str:
        module = env_id.rpartition(":")[0]
        if info.mode == "json" and ":" in env_id and module not in sys.modules:
            raise ValueError(f"env.id is {shown(env_id)}, a module that a file may not import; allowed: the id of a registered environment")
        try:
            spec = _spec(env_id)
        except (gymnasium.error.Error, ImportError) as error:
            raise ValueError(f"{shown(env_id)} is not a registered environment: {one_line(str(error), 120)}") from error
        if spec.vector_entry_point is None:
            raise ValueError(f"{shown(env_id)} has no native vector environment; all of vcgym do")
        return env_id

    @field_validator("options")
    @classmethod
    def _completed(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "id" not in info.data:
            return options
        defaults = env_defaults(info.data["id"])
        unknown = {name: value for name, value in options.items() if name not in defaults}
        if unknown:
            raise ValueError(f"{info.data['id']} has no argument {unknown}; allowed: {', '.join(sorted(defaults))}")
        return defaults | {name: _read(value, name, info.mode != "json") for name, value in options.items()}

    @field_serializer("options")
    def _as_mappings(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: _written(value) for name, value in options.items()}


def _read(written: Any, where: str, typed: bool) -> Any:
    """Return an argument with its mappings of a class as parameters, also those in a list; see `rule_of`."""
    if type(written) in (list, tuple):
        return [_read(one, f"{where}[{number}]", typed) for number, one in enumerate(written)]
    if isinstance(written, str) and where in CONTROLS:
        return rule_of(written, where, typed)
    return rule_from(written, where) if isinstance(written, dict) and "_target_" in written else written


def _written(value: Any) -> Any:
    return [_written(one) for one in value] if type(value) in (list, tuple) else mapping_of(value, complete=True)


def env_defaults(env_id: str) -> dict[str, Any]:
    """Return the arguments of the vector environment `env_id` that a config may set, with their defaults."""
    spec = _spec(env_id)
    creator = spec.vector_entry_point if callable(spec.vector_entry_point) else load_env_creator(str(spec.vector_entry_point))
    return {name: p.default for name, p in arguments_of(creator).items() if name not in SET_BY_VCGYM} | spec.kwargs


def _spec(env_id: str) -> EnvSpec:
    """Return the registered environment of `env_id`; for "module:id", import the module first."""
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    return gymnasium.spec(name)
