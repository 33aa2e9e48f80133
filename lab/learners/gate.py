"""Fit of a learned gate of rates: the choices of least regret by whole-call utilities, also where the gate itself has driven.

Each rule drives every training world alone, while the gate learns from the reports (`vcgym.agents.controllers.learned_gate`). With x its
features of a second, with any driver, and u the utility of each rule in that world, less the best rule's, at least `-CLIP`, the weights
have the greatest mean of softmax(weights x) . u; each scenario counts alike, and so does each of its kinds. A gate that switches comes
into states in which no rule alone was: in each of `rounds` the gate drives the same worlds, and its seconds join those of the rules, twice
(DAgger: Ross, Gordon, Bagnell 2011, arXiv 1011.0686).
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.controllers.learned_gate import AIM, NADA, RULES, SCREAM, WIDTH, LearnedGate
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
from vcgym.envs.call.sender.batch import SendingBatch, SendingTotals
from vcgym.leaderboard.cache import cached_document
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.evaluation.suites import MEASURED
from vcgym.leaderboard.results.sender_metrics import utility
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.generic import forward
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

log = logging.getLogger(__name__)

CLIP = 1.0  # utility/s: worlds of large losses would decide alone
_DECAY, _STEPS = 3e-5, 200
_THINNED = 2  # of so many seconds, one is fitted
_CASES = "rmcat"  # its kinds, test cases, differ from run to run in random parts alone, and have up to five calls: a third of the worlds
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
    before = state.gate.reported[s].stretch.decisions
    found = decide(params.gate, state.gate, s, now_us)
    if before < state.gate.reported[s].stretch.decisions and before < _SECONDS:
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
        worlds: training worlds of each kind; of each case of rmcat, a third of it.
        rounds: times that the gate drives them.
        validation_worlds: validation worlds of each kind, played without influence.
        kinds: kinds of worlds, "scenario kind"; None: all of rate, calls, rmcat and, with data, rate-measured.
        folder: folder of the learned systems, seed-SEED/learned.json.
    """

    aim: Annotated[list[AbsolutePath], Field(min_length=1)] = Field(default=[Path("outputs/train/aim/seed-0")])
    scream: str = "SCREAM-V2-rate-tuned"
    nada: str = "NADA-rate-tuned"
    worlds: Annotated[int, Field(ge=4, le=10_000)] = 192
    rounds: Annotated[int, Field(ge=0, le=20)] = 2
    validation_worlds: Annotated[int, Field(ge=2, le=1000)] = 24
    kinds: list[str] | None = None
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/train/gate")


class GateWorlds:
    """Worlds of the fit, by kind; the order is that of the first system."""

    def __init__(self, config: GateConfig, seed: int) -> None:
        scenarios = {name: SendingScenario(name) for name in ("rate", "calls", _CASES, *([MEASURED] if config.data.root else []))}
        named = {f"{name} {kind}": (one, kind) for name, one in scenarios.items() for kind in one.kinds}
        self.kinds = named if config.kinds is None else {name: named[name] for name in config.kinds}
        first = load_system(config.scream)
        self.scream, self.nada, self.order, self.pacing = first.rate, load_system(config.nada).rate, first.order, first.pacing
        aim = read_learned(config.aim[seed], LEARNED)
        self.aim, self.packets = aim.rules[Control.RATE], aim.file.trained_packets

    def gate(self, weights: NDArray[np.float64]) -> LearnedGate:
        """Return the gate with these weights."""
        first, second, last = (self.aim[name] for name in ("first", "second", "last"))
        return LearnedGate(self.scream, self.nada, first, second, last, weights)

    def play(self, weights: NDArray[np.float64], kind: str, split: str, seeds: Sequence[int]) -> tuple[NDArray[np.float64], Any]:
        """Return the utility of a gate in each world of a kind, of a third of the worlds of a case, and its state at the end."""
        scenario, name = self.kinds[kind]
        third = max(2, len(seeds) // 3)
        links = [scenario.draw(split, seed, name) for seed in (seeds[:third] if scenario.name == _CASES else seeds)]
        batch = started_batch(System(Noted(self.gate(weights)), self.order, pacing=self.pacing), links, threads=2)
        batch.play(np.arange(len(links)))
        totals = batch.totals()
        self.packets += int(totals.sent.sum())
        return np.array([_utility(batch, row, link, totals) for row, link in enumerate(links)]), batch.rate_state


def _utility(batch: SendingBatch, row: int, link: SharedLink, totals: SendingTotals) -> float:
    """Return the utility of a call; the mean over its media flows if all have its rules."""
    if not batch.worlds.same:
        return utility(link, batch.log(row), totals, row)
    return float(np.mean([utility(flow.link, flow.log, flow.totals, flow.row) for flow in batch.flows(row)]))


def driven_by(one: int) -> NDArray[np.float64]:
    """Return weights with which one rule drives from `FROM_US` on."""
    weights = np.zeros((RULES, WIDTH + 1))
    weights[one, WIDTH] = _ALWAYS
    return weights


class Seconds:
    """Seconds of training calls: features (seconds, WIDTH + 1), the last one 1; utilities (seconds, RULES) less the best; and weights."""

    def __init__(self, worlds: GateWorlds) -> None:
        self.kinds = list(worlds.kinds)
        self.parts: list[tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]] = []

    def add(self, kind: str, state: Any, behind: NDArray[np.float64], times: float = 1.0) -> None:
        """Add every `_THINNED`-th second of the calls of a kind, for `behind` (RULES, worlds); its calls have the same weight together."""
        alike = sum(other.split()[0] == kind.split()[0] for other in self.kinds)
        for s, reported in enumerate(state.gate.reported):
            x = state.notes[s, : min(int(reported["stretch"]["decisions"]), _SECONDS) : _THINNED]
            weight = np.full(len(x), times / (len(x) * alike * behind.shape[1]))
            self.parts.append((np.hstack([x, np.ones((len(x), 1), np.float32)]), np.tile(behind[:, s], (len(x), 1)), weight))

    def weights(self) -> NDArray[np.float64]:
        """Return the weights that lose least in all seconds so far."""
        x, behind, parts = (np.concatenate(one) for one in zip(*self.parts, strict=True))
        return softmax_weights(x, behind, parts / parts.sum())


def fit(worlds: GateWorlds, seeds: Sequence[int], rounds: int, on_kind: Any) -> NDArray[np.float64]:
    """Return the weights (RULES, WIDTH + 1) whose choices have the greatest expected utility on training worlds."""
    seconds, behind = Seconds(worlds), {}
    for number, kind in enumerate(worlds.kinds, 1):
        played = [worlds.play(driven_by(one), kind, "train", seeds) for one in range(RULES)]
        scores = np.array([found for found, _ in played])
        behind[kind] = np.maximum(scores - scores.max(axis=0), -CLIP)
        for _, state in played:
            seconds.add(kind, state, behind[kind])
        on_kind(number, kind)
    weights = seconds.weights()
    for _ in range(rounds):
        for kind in worlds.kinds:
            seconds.add(kind, worlds.play(weights, kind, "train", seeds)[1], behind[kind], 2.0)
        weights = seconds.weights()
    return weights


def softmax_weights(x: NDArray[np.float32], behind: NDArray[np.float64], parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights whose choices by softmax lose least: Adam on all seconds at once, from zero.

    Args:
        x: (seconds, WIDTH + 1) features, the last one 1.
        behind: (seconds, RULES) utility of each rule less that of the best one.
        parts: (seconds,) weight of each second; their sum is 1.
    """
    features, gains, shares = (torch.tensor(one, dtype=torch.float32) for one in (x, behind, parts))
    weights = torch.zeros((RULES, x.shape[1]), requires_grad=True)
    adam = torch.optim.Adam([weights], lr=0.1)
    for _ in range(_STEPS):
        adam.zero_grad()
        loss = -(shares[:, None] * torch.softmax(features @ weights.T, 1) * gains).sum() + _DECAY * weights.square().sum()
        loss.backward()
        adam.step()
    return weights.detach().numpy().astype(np.float64)


def search(config: GateConfig, seed: int) -> tuple[list[list[float]], dict[str, Any]]:
    """Return the weights, and the study with the utilities of validation worlds by kind."""
    worlds, n = GateWorlds(config, seed), config.worlds
    with progress(f"gate of seed {seed}: kinds", len(worlds.kinds)) as report:
        weights = fit(worlds, range(seed * n, (seed + 1) * n), config.rounds, report)
    budget = {"packets": worlds.packets, "worlds": n * len(worlds.kinds)}
    validation = {kind: _compared(worlds, weights, kind, config.validation_worlds) for kind in worlds.kinds}
    return weights.tolist(), {"config": config.decisive(), "seed": seed, "validation": validation, "budget": budget}


def _compared(worlds: GateWorlds, weights: NDArray[np.float64], kind: str, count: int) -> dict[str, float]:
    """Return the mean utility of the gate and of each rule that drives alone, and two standard errors of what the gate is above SCReAM."""
    of_rules = {"gate": weights, "scream": driven_by(SCREAM), "nada": driven_by(NADA), "aim": driven_by(AIM)}
    found = {name: worlds.play(one, kind, "validation", range(count))[0] for name, one in of_rules.items()}
    above = found["gate"] - found["scream"]
    error = float(2.0 * above.std(ddof=1) / np.sqrt(len(above)))
    return {name: round(float(one.mean()), 4) for name, one in found.items()} | {"two_standard_errors": round(error, 4)}


def main(config: GateConfig) -> None:
    """Fit once per seed, save each as a learned system and print its utility on validation worlds."""
    torch.set_num_threads(1)  # more threads are no faster here, and their number would change the sums
    config.data.export()
    for seed in range(len(config.aim)):
        make = partial(search, config, seed)
        weights, study = cached_document(config.folder / "fitted", (config.decisive(), config.data.root is not None, seed), make)
        worlds, home = GateWorlds(config, seed), config.folder / f"seed-{seed}"
        home.mkdir(parents=True, exist_ok=True)
        rules = {"rate": worlds.gate(np.array(weights)), "order": worlds.order}
        source = "python -m lab train-gate on training splits"
        save_learned(home, LEARNED, rules, study, f"A learned gate of rates, seed {seed}", source, worlds.pacing)
        log.info(f"{home}: validation {study['validation']}")
