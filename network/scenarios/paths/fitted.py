"""A scenario file as a scenario: `Scenario("FILE.json", "correlated")`; `vcgym-data do=fit` writes such files from traces.

Fitted: everything. The paths are independent, without bad hours and shifts, and the setting tau_ms has no effect. Splits are by seed:
every split has all pairs. A file of an older fit has lognormal queueing, with the median correlation time of its pair's paths.
"""

from pathlib import Path
from typing import Any

import numpy as np

from vcgym.network.fitting.traces import FittedPath, FittedScenario, parameters_of
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import Card, DataError, parse_carded
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.worlds.correlated import CorrelatedWorld
from vcgym.network.worlds.fitted import FittedWorld
from vcgym.network.worlds.world import World

ENDING = ".json"


class Fitted(Recipe):
    """Recipe of the pairs of a scenario file, one link per path.

    Raises:
        DataError: the file is missing, invalid, or does not match its card.
    """

    modes = ("correlated",)

    def __init__(self, settings: WorldSettings, file: Path) -> None:
        if settings.loss_run_slots != 1.0:
            raise ValueError(f"loss_run_slots = {settings.loss_run_slots}: allowed is 1 for a scenario file, whose losses are as measured")
        self.strata = {"fitted": 1.0}
        text = read_plain(file, MAX_JSON_BYTES).decode(errors="replace")
        self._fitted = fitted = parse_carded(FittedScenario, str(file), text)
        self._is_older = any(isinstance(law, FittedPath) for laws in fitted.pairs.values() for law in laws)
        self.layout = Layout(fitted.paths, np.arange(len(fitted.paths))[:, None], fitted.card.sha256)
        for count, what in ((len(fitted.paths), "paths"), (len(fitted.pairs), "pairs")):
            if count == 0:
                raise DataError(file, f"number of {what}", count, "1 or more")
        for pair, laws in fitted.pairs.items():
            if len(laws) != len(fitted.paths):
                raise DataError(file, f"number of laws of pair {pair}", len(laws), f"{len(fitted.paths)}, one per path")

    def cards(self) -> list[Card]:
        """Return the card of the file."""
        return [self._fitted.card]

    def pairs(self, split: str) -> list[str]:
        """Return the names of all pairs."""
        return list(self._fitted.pairs)

    def world(self, sessions: int) -> World:
        """Return an empty world for a batch of sessions."""
        return CorrelatedWorld(sessions, self.layout.path_links) if self._is_older else FittedWorld(sessions, len(self.layout.path_names))

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Return the laws of the pair; a world is its seed."""
        laws = self._fitted.pairs[pair]
        if not self._is_older:
            return parameters_of(laws)
        never = np.zeros(len(self.layout.path_names), np.int64)
        found = {name: np.array([getattr(law, name) for law in laws]) for name in ("base_ms", "log_mean", "log_sd", "loss", "loss_run")}
        tau_ms = float(np.median([law.tau_ms for law in laws]))
        return {**found, "tau_ms": tau_ms, "bad_from": never, "bad_to": never, "shift_every_s": np.inf}
