"""The list of systems: name, the rule of each control with its parameters, and the sources of the rules."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vcgym.baselines.systems import System, description, sources
from vcgym.leaderboard.report.words.systems import in_words


def system_rows(systems: Mapping[str, System]) -> Iterator[list[str]]:
    """Yield rows of name, control, rule and source: one row with a system in words and its description, then one row per rule."""
    for name, system in systems.items():
        yield [name, "", f"{in_words(name)}. {description(name)}", ", ".join(sources(system))]
        for control, rule in system.rules.items():
            yield ["", control, format_rule(rule), ""]


def format_rule(params: Any) -> str:
    """Return the class of a rule and its parameters, with arrays by their shape."""
    if isinstance(params, np.ndarray):
        return f"array{params.shape}"
    if not hasattr(params, "_asdict"):
        return f"{params:g}" if isinstance(params, float) else str(params)
    parts = ", ".join(f"{name}={format_rule(value)}" for name, value in params._asdict().items())
    return f"{type(params).__name__}({parts})" if len(parts) < MAX_LENGTH else f"{type(params).__name__}(...)"


MAX_LENGTH = 400
"""Characters of parameters that are shown; those of a network are not."""
