"""Systems as YAML: each file of conf/system names a router and a receiver, and so a line of the leaderboard."""

from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml

from vcgym.baselines.configured import rule_from
from vcgym.baselines.rule import Control, require_rule
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
            written = yaml.safe_load(known[name].read_text(encoding="utf-8"))
            systems[name] = RulePair(**{lever: rule_from(rule, lever) for lever, rule in written.items()})
            require_rule("router", systems[name].router, Control.PATH)
            require_rule("receiver", systems[name].receiver, Control.LAG, Control.TARGET)
        except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"conf/system/{name}.yaml: {error}; allowed: router and receiver, each _target_ and its parameters") from error
    return systems
