"""Names of systems in words, `greedy / EWMA, tuned` for GRD+EWMA-tuned. The codes are the ids that a user types.

The words are those of conf/systems.yaml.
"""

import re

from vcgym.baselines.system_files import published, words_of_systems

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
