"""What a system took: training decisions, tuning trials and its size; columns of every result row."""

from typing import Any

import numpy as np

from vcgym.leaderboard.published import Published
from vcgym.leaderboard.rollout import Policy, RulePair


def effort(system: RulePair | Policy, tuning_trials: int = 0) -> dict[str, int]:
    """Values of the columns `training_decisions`, `tuning_trials` and `parameters`.

    Args:
        system: a pair of rules, which knows its trials, or a policy. Of a policy `training_decisions` and the tensors are read where it has them.
        tuning_trials: of a policy.
    """
    if isinstance(system, RulePair):
        return {
            "training_decisions": 0, "tuning_trials": system.tuning_trials,
            "parameters": numbers_in(system.router) + numbers_in(system.receiver),
        }  # fmt: skip
    return {
        "training_decisions": int(getattr(system, "training_decisions", 0)), "tuning_trials": tuning_trials,
        "parameters": getattr(system, "parameters", sum(numbers_in(tensor) for tensor in getattr(system, "tensors", {}).values())),
    }  # fmt: skip


def kind(system: RulePair | Policy | Published) -> str:
    """ "rule" with printed constants, "tuned" of a rule whose values were searched for, or "agent"."""
    if isinstance(system, RulePair):
        return "tuned" if system.tuning_trials else "rule"
    return "agent"


def numbers_in(value: Any) -> int:
    """How many numbers a rule or an array consists of; a rule is a tuple of numbers, arrays and such tuples."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    if isinstance(value, tuple):
        return sum(map(numbers_in, value))
    return int(isinstance(value, int | float | np.number))
