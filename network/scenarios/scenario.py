"""Scenarios: recipes that sample worlds. (scenario, mode, split, seed) and optionally pair and stratum determine a world.

    wonderproxy      ten places of the WonderProxy pings: 5 endpoints x 5 users; the other four endpoints relay (17 paths)
    world            any two of 215 measured cities, 10 data-centre cities relay (101 paths); world-11 ... world-19: up to 362 paths
    table1           four cities of Table I of the VCRoute paper, including loss: 12 pairs, two relays (5 paths)
    cloud            public statistics between cloud regions in the paper's second setting: 5 x 3, four relays (17 paths)
    synthetic-9 ...  9, 90 or 900 independent paths, the paper's scale study
    stress           deliberate faults over the places of wonderproxy (17 paths)
    replay           measured traces of any importer, one per path
    5g-urban, 5g-weak, starlink-ping
                     replay of shipped measured series: two 5G networks from a car, two satellite accesses (2 paths)
    leo              replay of five measured satellite series under the data root
    measured-like-1 ... -2, -5, -17, -100
                     worlds of the laws of measured series, as fitted and within declared ranges; the access may be shared
    FILE.json        worlds of the laws that `vcgym fit` found in measured traces, one per path

Each is one file of `vcgym.network.scenarios`; docs/worlds.md lists what is measured, declared and assumed. Splits are by pair, by seed
and, for series, by time. Only the leaderboard may use worlds of the test split (`vcgym.network.scenarios.splits`).
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.network.kernels.plugins import load_plugin, plugin_names
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.paths.fitted import ENDING, Fitted
from vcgym.network.scenarios.paths.leo import Leo
from vcgym.network.scenarios.paths.linked import Cloud, Table1, WonderProxy, WorldCities
from vcgym.network.scenarios.paths.measured_like import PATHS, MeasuredLike
from vcgym.network.scenarios.paths.replay import Replay
from vcgym.network.scenarios.paths.shipped_series import SPLITS_OF_DRIVES, Drives, Pings
from vcgym.network.scenarios.paths.stress import Stress
from vcgym.network.scenarios.paths.synthetic import Synthetic
from vcgym.network.scenarios.settings import RecipeMaker, WorldSettings
from vcgym.network.scenarios.splits import ALL, SPLITS, check_split, world_seed
from vcgym.network.worlds.links import MAX_RELAYS, MIN_RELAYS
from vcgym.network.worlds.world import World, WorldDraw

PLUGINS = "vcgym.scenarios"  # entry points of installed packages: classes of Recipe by the name of their scenario

_RECIPES: dict[str, RecipeMaker] = {
    "wonderproxy": WonderProxy,
    "world": partial(WorldCities, relays=MIN_RELAYS),
    **{f"world-{n}": partial(WorldCities, relays=n) for n in range(MIN_RELAYS + 1, MAX_RELAYS + 1)},
    "table1": Table1,
    "cloud": Cloud,
    **{f"synthetic-{n}": partial(Synthetic, paths=n) for n in (9, 90, 900)},
    "stress": Stress,
    "replay": Replay,
    **{f"5g-{road}": partial(Drives, road=road) for road in SPLITS_OF_DRIVES},
    "starlink-ping": Pings,
    "leo": Leo,
    **{f"measured-like-{n}": partial(MeasuredLike, paths=n) for n in PATHS},
}


def modes_of(maker: RecipeMaker) -> tuple[str, ...]:
    """Return the modes that a recipe supports."""
    recipe: Any = getattr(maker, "func", maker)
    modes: tuple[str, ...] = recipe.modes
    return modes


MODES = {name: modes_of(maker) for name, maker in _RECIPES.items()}


def _named(name: str) -> RecipeMaker:
    if name.endswith(ENDING):
        return partial(Fitted, file=Path(os.path.expanduser(name)))
    one_of("scenario", name, (*MODES, *plugin_names(PLUGINS)))
    maker: RecipeMaker = _RECIPES[name] if name in _RECIPES else load_plugin(PLUGINS, name)
    return maker


def scenarios_of(settings: WorldSettings) -> list["Scenario"]:
    """Return the scenario of each kind of worlds; for errors see `Scenario`."""
    return [one.scenario if isinstance(one.scenario, Scenario) else Scenario(one) for one in settings.kinds]


class Scenario:
    """Scenario in one mode.

    Args:
        scenario: a key of `MODES` or of a plug-in; a scenario file, `*.json`; any subclass of `Recipe`; or all settings as one object.
        mode: one of its modes.
        packets: length of the calls, in slots.
        others: further fields of `vcgym.network.scenarios.settings.WorldSettings`. Its folder `data` is needed by `leo`; with it, `world`
            samples from all pairs of its `world_links.csv.gz` (data/README.md); other scenarios ignore it.

    Raises:
        ValueError: an unknown name or mode, or a setting that is not allowed.
        DataError: data that is missing or broken.
    """

    def __init__(self, scenario: str | RecipeMaker | WorldSettings, mode: str = "correlated", packets: int = 6000, **others: Any) -> None:
        settings = scenario if isinstance(scenario, WorldSettings) else WorldSettings(scenario, mode, packets, **others)
        named: Any = settings.scenario
        if isinstance(named, tuple):
            raise ValueError(f"scenario = {named}: allowed is one kind of worlds here")
        maker: RecipeMaker = _named(named) if isinstance(named, str) else named
        self.name: str = named if isinstance(named, str) else getattr(maker, "func", maker).__name__
        one_of(f"mode of scenario {self.name}", settings.mode, modes_of(maker))
        self.settings, self.mode, self.packets = settings, settings.mode, settings.packets
        self.recipe = maker(settings)
        self.share_of_rtt = settings.share_of_rtt
        self.layout = self.recipe.layout
        self._pairs: dict[str, list[str]] = {}
        self._strata = list(self.recipe.strata), np.cumsum(list(self.recipe.strata.values()))

    @property
    def paths(self) -> int:
        """Return the number of paths of a call."""
        return len(self.layout.path_names)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return all that its worlds are a function of, with their split and seed: its name, its settings and the hash of its data."""
        return self.name, *self.settings.decisive, self.layout.card

    @property
    def strata(self) -> dict[str, float]:
        """Return the strata and their declared weights."""
        return self.recipe.strata

    def world(self, sessions: int) -> World:
        """Return an empty world of this mode for a batch of sessions."""
        return self.recipe.world(sessions)

    @property
    def _splits(self) -> tuple[str, ...]:
        """Splits in the order of their random numbers."""
        return (*SPLITS, ALL) if self.recipe.has_all else SPLITS

    def pairs(self, split: str) -> list[str]:
        """Return the names of the pairs of a split, sender-receiver.

        Raises:
            ValueError: an unknown split, or the test split outside the leaderboard.
        """
        check_split(split, self._splits)
        if split not in self._pairs:
            self._pairs[split] = self.recipe.pairs(split)
        return list(self._pairs[split])

    def draw(self, split: str, seed: int, pair: str | None = None, stratum: str | None = None) -> WorldDraw:
        """Sample one world.

        Args:
            split: split that supplies pairs, times and seeds.
            seed: any integer >= 0; the same seed in another split is another world.
            pair: a pair of that split; None: sampled.
            stratum: one of `strata`, or `natural` for a correlated world over measured links; None: sampled by weight.

        Raises:
            ValueError: an unknown split, pair or stratum, or the test split outside the leaderboard.
        """
        pairs = self.pairs(split)
        drawn_seed, draws = world_seed(split, seed, self._splits)
        chosen = pairs[draws.integers(len(pairs))]
        if pair is not None:
            one_of(f"pair of split {split}", pair, tuple(pairs))
            chosen = pair
        names, weights = self._strata
        drawn = names[0] if len(names) == 1 else names[int(np.searchsorted(weights, draws.random() * (1.0 - 1e-12)))]
        if stratum is not None:
            one_of("stratum" if self.mode == "correlated" else f"stratum of mode {self.mode}", stratum, (*names, *self.recipe.by_name))
            drawn = stratum
        parameters = self.recipe.parameters(split, chosen, drawn, draws)
        if self.settings.loss_run_slots != 1.0:
            parameters = {**parameters, "loss_run": self.settings.loss_run_slots}
        return WorldDraw(chosen, drawn, drawn_seed, parameters)
