"""Fit of a learned gate of rates: ridge regression of whole-call utilities, then the margin by whole calls.

Each rule drives every training world alone, while the gate learns from the reports (`vcgym.agents.controllers.learned_gate`): its features
of each second, with any driver, are regressed on the utility of each rule in that world, less the best rule's, at least `-CLIP`. Each kind
of worlds counts alike. Of `margins` the one ships whose gate has the greatest mean utility, over kinds, in further training worlds.
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.controllers.learned_gate import RULES, WIDTH, LearnedGate
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.rule import (
    Control,
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    report_every_us,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.baselines.systems import System, load_system
from vcgym.baselines.zoo import LEARNED, read_learned, save_learned
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.evaluation.suites import MEASURED
from vcgym.leaderboard.results.sender_metrics import utility
from vcgym.network.kernels.generic import forward
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

log = logging.getLogger(__name__)

CLIP = 0.5  # utility/s: worlds of large losses would decide alone
RIDGE = 0.003
_ALWAYS = 1e6  # bias of a rule that always drives
_SECONDS = 128  # of a call that are noted


@rule(Control.RATE)
class Noted(NamedTuple):
    """A gate whose features are noted."""

    gate: LearnedGate


class NotedState(NamedTuple):
    """State of the gate, and its features (sessions, seconds, WIDTH)."""

    gate: Any
    notes: NDArray[np.float32]


@allocate.register(Noted)
def _allocate(params, sessions, paths):
    return NotedState(allocate(params.gate, sessions, paths), np.zeros((sessions, _SECONDS, WIDTH), np.float32))


@decide.register(Noted)
def _decide(params, state, s, now_us):
    before = state.gate.reported[s].seconds
    found = decide(params.gate, state.gate, s, now_us)
    if before < state.gate.reported[s].seconds and before < _SECONDS:
        for i in range(WIDTH):
            state.notes[s, before, i] = state.gate.reported[s].x[i]
    return found


_OTHERS = init, update, see_sender, window_bytes, wake_us, pacing, report_every_us, reads_marks
forward(Noted, "gate", *_OTHERS, when="True", otherwise="gate")


class GateConfig(Config):
    """Fit of a learned gate, once per seed.

    Attributes:
        aim: for each seed the folder of a training of `vcgym train env=rate algorithm=inside_ppo`, with its learned aim.
        scream: system with the first rule.
        nada: system with the second rule.
        worlds: training worlds of each kind for the regression, and as many for the margin.
        validation_worlds: validation worlds of each kind, played without influence.
        margins: margins of which one ships.
        kinds: kinds of worlds, "scenario kind"; None: all of rate, calls and, with data, rate-measured.
        folder: folder of the learned systems, seed-SEED/learned.json.
    """

    aim: Annotated[list[AbsolutePath], Field(min_length=1)] = Field(default=[Path("outputs/train/aim/seed-0")])
    scream: str = "SCREAM-V2-rate-tuned"
    nada: str = "NADA-rate-tuned"
    worlds: Annotated[int, Field(ge=4, le=10_000)] = 96
    validation_worlds: Annotated[int, Field(ge=2, le=1000)] = 24
    margins: Annotated[list[float], Field(min_length=1)] = Field(default=[0.03, 0.06, 0.1])
    kinds: list[str] | None = None
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/train/gate")


class GateWorlds:
    """Worlds of the fit, by kind; the order is that of the first system."""

    def __init__(self, config: GateConfig, seed: int) -> None:
        scenarios = {name: SendingScenario(name) for name in ("rate", "calls", *([MEASURED] if config.data.root else []))}
        named = {f"{name} {kind}": (one, kind) for name, one in scenarios.items() for kind in one.kinds}
        self.kinds = named if config.kinds is None else {name: named[name] for name in config.kinds}
        first = load_system(config.scream)
        self.scream, self.nada, self.order, self.pacing = first.rate, load_system(config.nada).rate, first.order, first.pacing
        self.aim = read_learned(config.aim[seed], LEARNED).rules[Control.RATE]
        self.packets = 0

    def gate(self, weights: NDArray[np.float64], margin: float = 0.0) -> LearnedGate:
        """Return the gate with these weights."""
        first, second, last = (self.aim[name] for name in ("first", "second", "last"))
        return LearnedGate(self.scream, self.nada, first, second, last, weights, margin)

    def play(self, rate: Any, kind: str, split: str, seeds: Sequence[int]) -> tuple[NDArray[np.float64], Any]:
        """Return the utility of a rate in each world of a kind, and its state at the end; a gate plays as `Noted`, a loop for all."""
        scenario, name = self.kinds[kind]
        links = [scenario.draw(split, seed, name) for seed in seeds]
        rate = Noted(rate) if isinstance(rate, LearnedGate) else rate
        batch = started_batch(System(rate, self.order, pacing=self.pacing), links, threads=2)
        batch.play(np.arange(len(links)))
        totals = batch.totals()
        self.packets += int(totals.sent.sum())
        return np.array([utility(link, batch.log(row), totals, row) for row, link in enumerate(links)]), batch.rate_state


def driven_by(one: int) -> NDArray[np.float64]:
    """Return weights with which one rule drives from `FROM_US` on."""
    weights = np.zeros((RULES, WIDTH + 1))
    weights[one, WIDTH] = _ALWAYS
    return weights


def fit(worlds: GateWorlds, seeds: Sequence[int], on_kind: Any) -> NDArray[np.float64]:
    """Return the weights (RULES, WIDTH + 1) by ridge regression on training worlds."""
    squares, products = RIDGE * np.eye(WIDTH + 1), np.zeros((WIDTH + 1, RULES))
    for number, kind in enumerate(worlds.kinds, 1):
        played = [worlds.play(worlds.gate(driven_by(one)), kind, "train", seeds) for one in range(RULES)]
        scores = np.array([found for found, _ in played])
        behind = np.maximum(scores - scores.max(axis=0), -CLIP)  # (RULES, worlds)
        x, y = [], []
        for _, state in played:
            for s, reported in enumerate(state.gate.reported):
                n = min(int(reported["seconds"]), _SECONDS)
                x.append(np.hstack([state.notes[s, :n], np.ones((n, 1))]))
                y.append(np.repeat(behind[:, s][None], n, axis=0))
        features, targets = np.concatenate(x).astype(np.float64), np.concatenate(y)
        squares += features.T @ features / len(features) / len(worlds.kinds)
        products += features.T @ targets / len(features) / len(worlds.kinds)
        on_kind(number, kind)
    return np.ascontiguousarray(np.linalg.solve(squares, products).T, np.float64)


def search(config: GateConfig, seed: int) -> tuple[list[list[float]], dict[str, Any]]:
    """Return the weights, and the study with the chosen margin and the utilities of validation worlds by kind."""
    worlds, n = GateWorlds(config, seed), config.worlds
    first = 2 * seed * n
    with progress(f"gate of seed {seed}: kinds", len(worlds.kinds)) as report:
        weights = fit(worlds, range(first, first + n), report)
    further = range(first + n, first + 2 * n)
    mean = {}
    for margin in config.margins:
        gate = worlds.gate(weights, margin)
        mean[margin] = float(np.mean([worlds.play(gate, kind, "train", further)[0].mean() for kind in worlds.kinds]))
    margin = max(mean, key=mean.__getitem__)
    validation = {kind: _compared(worlds, weights, margin, kind, config.validation_worlds) for kind in worlds.kinds}
    study = {
        "config": config.decisive(), "seed": seed, "margin": margin, "train": {str(one): round(value, 4) for one, value in mean.items()},
        "validation": validation, "budget": {"packets": worlds.packets, "worlds": 2 * n * len(worlds.kinds)},
    }  # fmt: skip
    return weights.tolist(), study


def _compared(worlds: GateWorlds, weights: NDArray[np.float64], margin: float, kind: str, count: int) -> dict[str, float]:
    rates = {"gate": worlds.gate(weights, margin), "scream": worlds.scream, "nada": worlds.nada, "aim": worlds.gate(driven_by(2))}
    return {name: round(float(worlds.play(rate, kind, "validation", range(count))[0].mean()), 4) for name, rate in rates.items()}


def main(config: GateConfig) -> None:
    """Fit once per seed, save each as a learned system and print its utility on validation worlds."""
    config.data.export()
    for seed in range(len(config.aim)):
        make = partial(search, config, seed)
        weights, study = cached_document(config.folder / "fitted", (config.decisive(), config.data.root is not None, seed), make)
        worlds, home = GateWorlds(config, seed), config.folder / f"seed-{seed}"
        home.mkdir(parents=True, exist_ok=True)
        rules = {"rate": worlds.gate(np.array(weights), study["margin"]), "order": worlds.order}
        source = "python -m lab train-gate on training splits"
        save_learned(home, LEARNED, rules, study, f"A learned gate of rates, seed {seed}", source, worlds.pacing)
        log.info(f"{home}: margin {study['margin']}, validation {study['validation']}")
