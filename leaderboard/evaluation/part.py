"""Declarations of suites, and a part of one: worlds of one scenario in one mode."""

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from vcgym.baselines.controls.control import added_stages

FITTED = "fitted"
"""Suite of a scenario file, and the name of its scenario."""


class Part(NamedTuple):
    """Worlds of one scenario in one mode: `seeds` worlds for each pair of the split, with seeds from `first_seed` on.

    `mode` is the column of result rows: how statistics become packets, or the kind of the calls where worlds have no mode. Strata are
    sampled with the declared weights, or all worlds are of one `stratum`; `natural` is the mix with bad hours as frequent as measured. For
    a bottleneck both the stratum and the pair are the kind of world. With protection, `budget` is the share of the plain bytes that it may
    add, and `load` that of a link that calls alike share, by their plain bytes; both are named in `mode` too.
    """

    scenario: str
    mode: str
    seeds: int
    split: str = "test"
    stratum: str | None = None
    first_seed: int = 0
    traces: tuple[str, ...] = ()  # only for scenarios replay and rate-replay; of `fitted` the scenario file
    settings: tuple[tuple[str, Any], ...] = ()  # further fields of `vcgym.network.scenarios.settings.WorldSettings` and their values
    budget: float = 0.0
    load: float = 0.0  # 0: no such link


@cache
def declared() -> dict[str, Any]:
    """Return the content of conf/suites.yaml, with that of the like files of added stages."""
    found: dict[str, Any] = {"suites": {}, "data": {}}
    for file in (files("vcgym.conf").joinpath("suites.yaml"), *(stage.file("suites.yaml") for stage in added_stages())):
        for section, entries in yaml.load(file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items():
            found[section].update(entries)
    return found
