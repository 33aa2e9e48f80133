"""What a system took: training decisions, tuning trials and its size; columns of every result row."""

from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from vcgym.agents.evaluation.play import Policy
from vcgym.leaderboard.evaluation.published import Published
from vcgym.leaderboard.evaluation.rollout import RulePair

TUNED = "-tuned"  # ends the names of tuned systems


def effort(system: RulePair | Policy, tuning_trials: int = 0) -> dict[str, int]:
    """Values of the columns `training_decisions`, `tuning_trials` and `parameters`.

    Args:
        system: a pair of rules or a policy; of a policy `training_decisions` and `parameters` or the `tensors` count where it has them.
        tuning_trials: how many settings were tried before these were chosen; 0 for printed constants.
    """
    if isinstance(system, RulePair):
        size = numbers_in(tuple(system))
    else:
        size = getattr(system, "parameters", sum(map(numbers_in, getattr(system, "tensors", {}).values())))
    return {"training_decisions": int(getattr(system, "training_decisions", 0)), "tuning_trials": tuning_trials, "parameters": size}


def kind(system: RulePair | Policy | Published, tuning_trials: int = 0) -> str:
    """The column `kind`: a rule with printed constants is a "rule", one whose values were searched for "tuned", else it is an "agent"."""
    if isinstance(system, RulePair):
        return "tuned" if tuning_trials else "rule"
    return "agent"


@cache
def tuning_trials(name: str) -> int:
    """Trials of the study that system `name` comes from (conf/tuning); 0 where there is none: its constants are printed ones."""
    study = files("vcgym.conf").joinpath("tuning", f"{name}.yaml")
    return int(yaml.safe_load(study.read_text(encoding="utf-8"))["budget"]["trials"]) if study.is_file() else 0


def numbers_in(value: Any) -> int:
    """How many numbers a rule or an array consists of; a rule is a tuple of numbers, arrays and such tuples."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, tuple):
        return sum(map(numbers_in, value))
    return int(isinstance(value, int | float | np.number))
