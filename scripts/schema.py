"""Makes the typed configs known to hydra, and turns what hydra composed into one; the one module where the two meet.

Each schema is a config's resolved defaults, so YAML needs to say only what differs and every key can be overridden on the command line.
"""

from typing import Any, TypeVar

from hydra.core.config_store import ConfigStore
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from pydantic import TypeAdapter

from vcgym.agents.config.algorithms import MaskablePPOConfig, PPOConfig, SACConfig
from vcgym.agents.config.base import Config, DataConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig, SweepConfig, TrainConfig

AnyConfig = TypeVar("AnyConfig", bound=Config)

CONF = "pkg://vcgym.conf"


def register() -> None:
    """Store one schema per typed config, under the group whose YAML files choose it."""
    env = OmegaConf.create(_schema(EnvConfig))
    # Which options exist depends on the environment chosen, so EnvConfig checks them, not hydra.
    OmegaConf.set_struct(env.options, False)
    data = _schema(DataConfig)
    store = ConfigStore.instance()
    store.store(group="env", name="env_schema", node=env)
    for name, algorithm in (("ppo", PPOConfig), ("maskable_ppo", MaskablePPOConfig), ("sac", SACConfig)):
        store.store(group="algorithm", name=f"{name}_schema", node=_schema(algorithm))
    store.store(name="train_schema", node=_schema(TrainConfig, data=data))
    store.store(name="evaluate_schema", node=_schema(EvaluateConfig, data=data))
    store.store(name="sweep_schema", node=_schema(SweepConfig, train=_schema(TrainConfig, data=data)))


def build(composed: DictConfig, kind: type[AnyConfig]) -> AnyConfig:
    """Check what hydra composed and return it as a `kind`."""
    config = instantiate(composed, _convert_="all")
    if not isinstance(config, kind):
        raise TypeError(f"_target_ is {type(config).__name__}; allowed: {kind.__name__}")
    return config


def _schema(kind: type[Config], **nested: dict[str, Any]) -> dict[str, Any]:
    """Return `_target_` and the default of each field; "???" if required; nested configs come from groups or from `nested`."""
    schema: dict[str, Any] = {"_target_": f"{kind.__module__}.{kind.__qualname__}"}
    for name, field in kind.model_fields.items():
        if field.default_factory is None:
            schema[name] = "???" if field.is_required() else TypeAdapter(Any).dump_python(field.default, mode="json")
    return schema | nested
