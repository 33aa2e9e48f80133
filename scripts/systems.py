"""Systems as YAML: each file of conf/system names a router and a receiver, and so a line of the leaderboard."""

from importlib.resources import files
from importlib.resources.abc import Traversable

from hydra.errors import HydraException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from vcgym.envs.call.controllers import require_rule
from vcgym.leaderboard.evaluation.rollout import RulePair

ORACLE = "oracle_"  # how the name of a system begins that is told what no place can know


def system_names() -> list[str]:
    """Names of all files of conf/system."""
    return sorted(_files())


def _files() -> dict[str, Traversable]:
    folder = files("vcgym.conf").joinpath("system")
    return {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}


def load_systems(names: list[str] | None) -> dict[str, RulePair]:
    """Pairs of rules by name; None: every file of conf/system but the oracles, which are never ranked and have to be asked for.

    Raises:
        ValueError: no such file, a key that is not router or receiver, or parameters that the rule does not have.
    """
    known = _files()
    systems = {}
    for name in sorted(name for name in known if not name.startswith(ORACLE)) if names is None else names:
        if name not in known:
            raise ValueError(f"systems has {name!r}; allowed: {', '.join(sorted(known))}")
        try:
            composed = OmegaConf.create(known[name].read_text(encoding="utf-8"))
            systems[name] = RulePair(**instantiate(composed))
            require_rule("router", systems[name].router)
            require_rule("receiver", systems[name].receiver)
        except (HydraException, OmegaConfBaseException, YAMLError, TypeError, ValueError) as error:
            raise ValueError(f"conf/system/{name}.yaml: {error}; allowed: router and receiver, each _target_ and its parameters") from error
    return systems
