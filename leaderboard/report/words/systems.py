"""Names of systems in words, `greedy / EWMA, tuned` for GRD+EWMA-tuned. The codes are the ids that a user types.

The words are those of conf/systems.yaml.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vcgym.baselines.system_files import published, words_of_systems
from vcgym.baselines.systems import System, description, sources

TUNED = {"-paper-tuned": ", tuned for paper", "-rate-tuned": ", tuned for rate", "-order-tuned": ", tuned for order", "-tuned": ", tuned"}


def in_words(name: str) -> str:
    """Return the name of a system in words; the name itself if it has none, as a system of the user."""
    if name.startswith("oracle_"):
        return f"hindsight, {in_words(name.removeprefix('oracle_'))}"
    ending = next((ending for ending in TUNED if name.endswith(ending)), "")
    code = name.removesuffix(ending)
    label = published()[code].get("label") if code in published() else words_of_systems("learned").get(code)
    rules, labels = re.split(r"[-+]", code), words_of_systems("rules")
    if label is None and len(rules) == 2 and set(rules) <= set(labels):
        label = " / ".join(labels[rule] for rule in rules)
    return name if label is None else label + TUNED.get(ending, "")


def with_id(name: str) -> str:
    """Return the name of a system in words, and the id that a user types in brackets."""
    return name if in_words(name) == name else f"{in_words(name)} ({name})"


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
