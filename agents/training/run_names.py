"""Names of runs: what tells one training from another, in few characters."""

from typing import Any

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.tracking.tracking import flatten

_SHORT = {"learning_rate": "lr", "evaluate_every": "evaluated", "evaluation_episodes": "episodes", "checkpoint_every": "saved"}
_KEYS = 3  # keys in a name
_WIDTH = 24  # characters of a value


def what_differs(config: TrainConfig) -> str:
    """Return what differs from the defaults, such as "lr 1e-3, interval 50, "; of more than three keys the first ones, then "...".

    It begins the name of a run, since MLflow shows the first twenty characters of names.
    """
    usual = TrainConfig(env=EnvConfig(id=config.env.id), algorithm=type(config.algorithm)(), study=config.study, seeds=config.seeds)
    defaults, given = flatten(usual.decisive()), flatten(config.decisive())
    found = {key: value for key, value in given.items() if value != defaults.get(key)}
    return "".join([f"{named(key, value)}, " for key, value in list(found.items())[:_KEYS]] + ["..., "] * (len(found) > _KEYS))


def named(key: str, value: Any) -> str:
    """Return a key and its value in short: "lr 1e-3" for algorithm.learning_rate=0.001."""
    name = key.rpartition(".")[2]
    return f"{_SHORT.get(name, name)} {_brief(value)}"


def _brief(value: Any) -> str:
    text = str(value)
    if isinstance(value, float):
        digits, _, exponent = f"{value:.2e}".partition("e")
        text = f"{float(digits):g}e{int(exponent)}" if 0 < abs(value) < 0.01 else f"{value:.3g}"
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
