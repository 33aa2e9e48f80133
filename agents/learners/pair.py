"""A learned pair: a router and a lag, trained in turns, each acting at its own location.

Training looks at whole calls; acting does not: the router knows what has been fed back to the central location, the lag what has arrived
(centralised training, decentralised execution). The start is no rule: prices set by hand and a network with random weights. The lag is
learned along the routes of three routers that nobody tuned, so that it does not lean on one.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from vcgym.agents.config.algorithms import PairConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.controllers.learned_router import MARGIN, SCALE, TWICE, LearnedRouter, start_prices
from vcgym.agents.learners.arrivals import record_arrivals
from vcgym.agents.learners.calls import Calls
from vcgym.agents.learners.lag_learner import LagNet, learn_lag
from vcgym.agents.learners.price_search import search_prices
from vcgym.baselines.routers.direct import Direct
from vcgym.baselines.zoo import save_learned
from vcgym.network.scenarios.scenario import Scenario

SHARES = (0.6, 0.2, 0.2)  # of arrivals along the router of the pair, a restless one, the direct path
REPORT_STEPS = 100

Log = Callable[[dict[str, float], int], None]


class Pair(NamedTuple):
    """A router and a receiver, inside the loop."""

    router: LearnedRouter
    receiver: Any


class Worlds(NamedTuple):
    """Calls to learn from and calls to judge by, of each kind of world."""

    train: list[Calls]
    validation: list[Calls]


def sample_worlds(config: TrainConfig, seed: int) -> Worlds:
    """Draw the worlds of a training; those of the validation split are the same for every seed."""
    algorithm, options = config.algorithm, config.env.options
    assert isinstance(algorithm, PairConfig)
    kinds = [(str(options["scenario"]), str(options["mode"])), *(tuple(kind.split()) for kind in algorithm.also)]
    scenarios = [Scenario(name, mode, int(options["packets"])) for name, mode in kinds]
    return Worlds(
        [Calls(scenario, "train", config.num_envs, seed * config.num_envs) for scenario in scenarios],
        [Calls(scenario, "validation", config.evaluation_episodes) for scenario in scenarios],
    )


def scores(pair: Pair, calls: list[Calls], threads: int = 1) -> NDArray[np.float64]:
    """Return R of each call of each kind of world, in a row."""
    return np.concatenate([some.scores(pair.router, pair.receiver, threads) for some in calls])


class Turns:
    """The turns of one training, in a folder that keeps the result of each, so that one that was stopped goes on with the next.

    Args:
        config: of the training.
        seed: of the training.
        home: folder of this seed.
        log: told of metrics and packets played.
    """

    def __init__(self, config: TrainConfig, seed: int, home: Path, log: Log) -> None:
        assert isinstance(config.algorithm, PairConfig)
        self.config, self.algorithm, self.seed, self.home, self.log = config, config.algorithm, seed, home, log
        self.worlds = sample_worlds(config, seed)
        self.packets_played = 0
        torch.manual_seed(seed)
        self.net = LagNet(self.algorithm.hidden)
        self.prices = start_prices()

    @property
    def pair(self) -> Pair:
        """The pair as it is now."""
        return Pair(LearnedRouter(self.prices), self.net.rule())

    def play(self) -> dict[str, float]:
        """Train; return mean R on the validation worlds at the start, after each turn and at the end."""
        self.home.mkdir(parents=True, exist_ok=True)
        found = {"start": self._validate()}
        for turn in range(self.algorithm.turns):
            self._learn_lag(turn)
            found[f"lag {turn}"] = self._validate()
            self._search(turn)
            found[f"router {turn}"] = self._validate()
        self._learn_lag(self.algorithm.turns)
        found["end"] = self._validate()
        return found

    def _validate(self) -> float:
        r = float(scores(self.pair, self.worlds.validation, self.config.threads).mean())
        self.log({"validation/r": r}, self.packets_played)
        return r

    def _learn_lag(self, turn: int) -> None:
        file, steps, algorithm = self.home / f"lag-{turn}.safetensors", self.algorithm.lag_steps, self.algorithm
        packets = min(algorithm.calls, self.config.num_envs) * int(self.config.env.options["packets"])
        if not file.exists():
            restless = self.prices.copy()
            restless[[MARGIN, len(TWICE) + MARGIN]] = 0.0
            routers = LearnedRouter(self.prices), LearnedRouter(restless), Direct()
            sets = [record_arrivals(calls, router, self.net.rule()) for calls in self.worlds.train for router in routers]
            shares = np.tile(SHARES, len(self.worlds.train)) / len(self.worlds.train)

            def report(step: int, r: float) -> None:
                if step % REPORT_STEPS == 0:
                    self.log({"train/lag_r": r}, self.packets_played + step * packets)

            learn_lag(self.net, sets, shares.tolist(), steps, algorithm.calls, algorithm.learning_rate, self.seed + 1000 * turn, report)
            save_file(self.net.state_dict(), file)
        self.net.load_state_dict(load_file(file))
        self.packets_played += steps * packets

    def _search(self, turn: int) -> None:
        algorithm, before = self.algorithm, self.packets_played
        chunks = [chunk for calls in self.worlds.train for chunk in calls.cut(algorithm.chunks)]
        chunks = [chunks[n] for n in np.arange(len(chunks)).reshape(-1, algorithm.chunks).T.ravel()]
        packets = len(chunks[0]) * int(self.config.env.options["packets"])

        def report(trials: int, r: float, mean: NDArray[np.float64]) -> None:
            self.packets_played = before + trials * packets
            self.log({"train/router_r": r}, self.packets_played)

        self.prices = search_prices(
            self.prices, SCALE, self.net.rule(), chunks, algorithm.trials, algorithm.population, algorithm.search_step / (1 + turn),
            self.seed + 1000 * turn, self.home / f"router-{turn}.jsonl", self.config.threads, report,
        )  # fmt: skip


def publish_pair(folder: Path, name: str, turns: Turns, found: dict[str, float]) -> None:
    """Write the pair into `folder` as the learned system `name`, with the study that made it."""
    config, worlds = turns.config, turns.worlds
    budget = {"packets": turns.packets_played, "calls": sum(map(len, worlds.train)), "validation_calls": sum(map(len, worlds.validation))}
    study = {
        "learner": turns.algorithm.model_dump(mode="json"), "scenario": config.env.options["scenario"], "mode": config.env.options["mode"],
        "seed": turns.seed, "budget": budget, "validation_r": {stage: round(r, 3) for stage, r in found.items()},
    }  # fmt: skip
    where = f"training split of {config.env.options['scenario']} in mode {config.env.options['mode']}"
    description = f"A learned router (a cost per path) with a learned lag (a network at the receiver), of seed {turns.seed}"
    save_learned(folder, name, turns.pair._asdict(), json.loads(json.dumps(study)), description, f"vcgym-train: {where}")
