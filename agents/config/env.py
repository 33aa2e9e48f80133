"""Config of an environment. What it checks needs the environment itself, which is imported when a config is built and not before."""

import sys
from typing import Any

from pydantic import Field, ValidationInfo, field_serializer, field_validator, model_validator

from vcgym.agents.config.base import Config
from vcgym.network.traces.refusal import one_line, shown


class EnvConfig(Config):
    """An environment and its arguments; omitted arguments take the environment's defaults.

    Attributes:
        id: id of an environment, such as vcgym/Call-v1; one with a difficulty, such as vcgym/Call-hard-v1, is kept as the id without it
            and its arguments; "module:id" imports the module first. In JSON, which may be a file of somebody
            else, the module must have been imported already: nothing that a file names is imported, and no folder is read.
        options: arguments of the environment by name, such as env.options.mode=paper; see docs/envs.md. A rule, reward or feature is
            written as its class and parameters: {_target_: vcgym.baselines.playout.fixed_lag.FixedLag, ...}; features are a list. The
            rule of a control may also be that of a system, by its name or by the folder of its training: env.options.path=learned-rl.
    """

    id: str = "vcgym/Call-v1"
    options: dict[str, Any] = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _without_difficulty(cls, given: Any) -> Any:
        from vcgym.envs import DIFFICULTIES, without_difficulty

        if not isinstance(given, dict) or given.get("id") not in [*DIFFICULTIES]:
            return given
        env_id, options = without_difficulty(given["id"], given.get("options") or {})
        return given | {"id": env_id, "options": options}

    @field_validator("id")
    @classmethod
    def _has_vector_face(cls, env_id: str, info: ValidationInfo) -> str:
        from gymnasium.error import Error

        from vcgym.agents.config.env_arguments import spec_of

        module = env_id.rpartition(":")[0]
        if info.mode == "json" and ":" in env_id and module not in sys.modules:
            raise ValueError(f"env.id is {shown(env_id)}, a module that a file may not import; allowed: the id of a registered environment")
        try:
            spec = spec_of(env_id)
        except (Error, ImportError) as error:
            raise ValueError(f"{shown(env_id)} is not a registered environment: {one_line(str(error), 120)}") from error
        if spec.vector_entry_point is None:
            raise ValueError(f"{shown(env_id)} has no native vector environment; all of vcgym do")
        return env_id

    @field_validator("options")
    @classmethod
    def _completed(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        from vcgym.agents.config.env_arguments import env_defaults, read

        if "id" not in info.data:
            return options
        defaults = env_defaults(info.data["id"])
        unknown = {name: value for name, value in options.items() if name not in defaults}
        if unknown:
            raise ValueError(f"{info.data['id']} has no argument {unknown}; allowed: {', '.join(sorted(defaults))}")
        return defaults | {name: read(value, name, info.mode != "json") for name, value in options.items()}

    @field_serializer("options")
    def _as_mappings(self, options: dict[str, Any]) -> dict[str, Any]:
        from vcgym.agents.config.env_arguments import written

        return {name: written(value) for name, value in options.items()}
