"""A scenario file as a scenario: `Scenario("FILE.json", "correlated")`; `vcgym fit` writes such files from traces.

Fitted: everything. The paths are independent, without bad hours and shifts, and the setting tau_ms has no effect. Splits are by seed:
every split has all pairs.
"""

from pathlib import Path
from typing import Any

import numpy as np

from vcgym.network.fitting.laws import OF_WORLD, FittedScenario, laws_of, parameters_of
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.settings import WorldSettings
from vcgym.network.traces.cards import Card, DataError, parse_carded
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.worlds.model import LinkWorld
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
        self.layout = Layout(fitted.paths, np.arange(len(fitted.paths))[:, None], fitted.card.sha256)
        for count, what in ((len(fitted.paths), "paths"), (len(fitted.pairs), "pairs")):
            if count == 0:
                raise DataError(file, f"number of {what}", count, "1 or more")
        for pair, laws in fitted.pairs.items():
            if len(laws) != len(fitted.paths):
                raise DataError(file, f"number of laws of pair {pair}", len(laws), f"{len(fitted.paths)}, one per path")
        self._number = {pair: number * len(fitted.paths) for number, pair in enumerate(fitted.pairs)}

    def cards(self) -> list[Card]:
        """Return the card of the file."""
        return [self._fitted.card]

    def pairs(self, split: str) -> list[str]:
        return list(self._fitted.pairs)

    def world(self, sessions: int) -> World:
        laws = [law for of_pair in self._fitted.pairs.values() for law in of_pair]
        return LinkWorld(laws_of(laws), sessions, self.layout.path_links)

    def parameters(self, split: str, pair: str, stratum: str, draws: np.random.Generator) -> dict[str, Any]:
        """Return the laws of the pair; a world is its seed."""
        laws = self._fitted.pairs[pair]
        return parameters_of(laws, OF_WORLD) | {"law": self._number[pair] + np.arange(len(laws))}
