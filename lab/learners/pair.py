"""A learned pair: a router and a lag, trained in turns, each acting at its own location.

Training uses whole calls; acting does not: the router sees only feedback at the central location, the lag only arrivals (centralised
training, decentralised execution). Training starts from hand-set prices and random network weights, not from a rule. The lag is learned
on the arrivals of three routers, so that it does not depend on one of them.

The prices are searched in two steps: first all prices except those of roughness, on worlds of every mode except paper; then the prices of
roughness, which have no effect on correlated delays, on worlds of mode paper. In a joint search, the worlds of mode paper, where a change
of path hardly ever pays, would teach the router never to change. A pair for all kinds of worlds may start from the prices of another pair
and search only those of roughness, or take a second pair's prices for rough delays. Its lag may go on from a shipped one, and be the first
expert of a hedged lag next to others: shipped ones, and specialists, which go on from the same start in other kinds of worlds.
"""

import copy
import functools
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save

from lab.learners.arrivals import record_arrivals
from lab.learners.lag_learner import LagNet, learn_lag
from lab.learners.pair_config import PairConfig, Specialist
from lab.learners.price_search import search_prices
from vcgym.agents.controllers.gated_router import GatedRouter
from vcgym.agents.controllers.hedged_lag import HedgedLag
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_router import ABOVE, BELOW, SCALE, SHARED, START, LearnedRouter
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.sweeps.search import parallel_map
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.systems import System, learned_system
from vcgym.baselines.zoo import LEARNED
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_plain, replace_file

PAIRS = Path(__file__).parent / "pairs"
FIRST, QUANTILES = 0.4, (0.15, 0.15, 0.10)
"""Prior of the first network and of the running quantiles; the other networks share the rest."""
SPECIALIST = 0.02
"""Prior of a specialist, beside those: enough where it is ahead by points of R, and next to nothing elsewhere."""
TEMPERATURE = 0.07  # points of R: an expert that is better by this much in a minute has e times the weight at its end
_CHUNKS_KEPT = 8  # chunks cached in each Ray process, whose worlds are then sampled only once


def hedged(lags: Sequence[LearnedLag], specialists: Sequence[LearnedLag] = ()) -> HedgedLag:
    """Return the lag whose experts are at least two networks, the first with the largest prior, specialists and the running quantiles."""
    networks = [*lags, *specialists]
    hidden = max(lag.last.size - 1 for lag in networks)
    others = (1.0 - FIRST - sum(QUANTILES)) / (len(lags) - 1)
    prior = np.array([FIRST, *[others] * (len(lags) - 1), *[SPECIALIST] * len(specialists), *QUANTILES])
    first, second, last = (np.stack(layers) for layers in zip(*(_widened(lag, hidden) for lag in networks), strict=True))
    return HedgedLag(first, second, last, prior, TEMPERATURE)


def _widened(lag: LearnedLag, hidden: int) -> tuple[NDArray[np.float32], ...]:
    """Return the layers with `hidden` units; the new ones have weights of 0, so that the output is the same."""
    more = hidden - (lag.last.size - 1)
    first = np.pad(lag.first, ((0, 0), (0, more)))
    second = np.insert(np.pad(lag.second, ((0, 0), (0, more))), [-1] * more, 0.0, axis=0)
    return first, second, np.insert(lag.last, [-1] * more, 0.0)


def specialist(name: Specialist) -> System:
    """Return the pair of one kind of worlds from its folder in `PAIRS`."""
    (home,) = (PAIRS / name).glob("seed-*")
    return learned_system(home, LEARNED)


class Candidates:
    """Evaluator of routers with a fixed receiver, on chunks of calls.

    Args:
        chunks: chunks of calls; a chunk may mix kinds of worlds.
        receiver: rule of the lag.
        threads: candidates played concurrently in this process; no effect on the result.
        on_ray: play the candidates in processes of the running Ray, which sample the same worlds; no effect on the result.
    """

    def __init__(self, chunks: Sequence[Sequence[TrainingCalls]], receiver: Any, threads: int = 1, on_ray: bool = False) -> None:
        self._chunks, self._receiver, self._threads = chunks, receiver, threads
        self._packed = [pickle.dumps([(calls.scenario, calls.draws) for calls in chunk]) for chunk in chunks] if on_ray else []

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._chunks)

    def scores(self, rules: Sequence[Any], chunk: int) -> list[NDArray[np.float64]]:
        """Return, for each router, R of the calls of a chunk."""
        if self._packed:
            return parallel_map(_play_packed, [(self._packed[chunk], router, self._receiver) for router in rules])
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda router: _play(self._chunks[chunk], router, self._receiver), rules))


def _play(chunk: Sequence[TrainingCalls], router: Any, receiver: Any) -> NDArray[np.float64]:
    return np.concatenate([calls.scores(router, receiver) for calls in chunk])


def _play_packed(packed: bytes, router: Any, receiver: Any) -> NDArray[np.float64]:
    return _play(_unpacked(packed), router, receiver)


@functools.lru_cache(_CHUNKS_KEPT)
def _unpacked(packed: bytes) -> list[TrainingCalls]:
    return [TrainingCalls(scenario, draws) for scenario, draws in pickle.loads(packed)]


SHARES = (0.6, 0.2, 0.2)  # shares of arrivals with the pair's router, with a restless router, and on the direct path
REPORT_STEPS = 100
MAX_LAG_BYTES = 1 << 20

Log = Callable[[dict[str, float], int], None]


class Pair(NamedTuple):
    """A router and a receiver that run inside the loop."""

    path: LearnedRouter | GatedRouter
    playout: LearnedLag | HedgedLag


def scenarios_of(config: PairConfig, kinds: Sequence[str]) -> list[Scenario]:
    """Return the scenario of each kind of worlds.

    Raises:
        ValueError: the scenario does not exist, or not in that mode.
        DataError: data is missing or broken.
    """
    return [Scenario(name, mode, config.packets) for name, mode in (kind.split() for kind in kinds)]


class Turns:
    """The turns of one training, with the result of each saved in a folder: an interrupted training resumes there.

    Attributes:
        pair: current pair.
        packets_played: number of packets in all training calls so far.

    Args:
        config: config of the training.
        seed: seed of the training; all seeds share the validation worlds.
        home: folder of this seed.
        log: called with metrics and the number of packets played so far.
    """

    def __init__(self, config: PairConfig, seed: int, home: Path, log: Log) -> None:
        self.config, self.seed, self.home, self.log = config, seed, home, log
        scenarios = scenarios_of(config, config.worlds)
        self.train = [self._calls(scenario) for scenario in scenarios]
        self.validation = [TrainingCalls.sample(scenario, "validation", config.validation_calls) for scenario in scenarios]
        self.packets_played = 0
        torch.manual_seed(seed)
        self.net = LagNet(config.hidden)
        if config.start_lag is not None:
            begun = specialist(config.start_lag).playout
            if (units := begun.last.size - 1) != config.hidden:
                raise ValueError(f"hidden is {config.hidden} and start_lag is {config.start_lag}; allowed: its {units} units")
            self.net.load_arrays(*begun)
        self.experts = [specialist(name).playout for name in config.experts]
        self.specialists = [copy.deepcopy(self.net) for _ in config.specialists]
        self.prices = START if config.start is None else specialist(config.start).path.prices
        self.rough = None if config.start_rough is None else specialist(config.start_rough).path.prices

    @property
    def pair(self) -> Pair:
        """Current pair."""
        own, specialists = self.net.rule(), [net.rule() for net in self.specialists]
        return Pair(self._router(self.prices), hedged([own, *self.experts], specialists) if self.experts else own)

    def _calls(self, scenario: Scenario) -> TrainingCalls:
        return TrainingCalls.sample(scenario, "train", self.config.calls, self.seed * self.config.calls)

    def _router(self, prices: NDArray[np.float64]) -> LearnedRouter | GatedRouter:
        return LearnedRouter(prices) if self.rough is None else GatedRouter(np.stack([prices, self.rough]))

    def play(self) -> dict[str, float]:
        """Train; return mean R on the validation worlds at the start and after each half of a turn."""
        self.home.mkdir(parents=True, exist_ok=True)
        found = {"start": self._validate()}
        for turn in range(self.config.turns):
            self._learn_lag(turn)
            found[f"lag {turn}"] = self._validate()
            self._search_router(turn)
            found[f"router {turn}"] = self._validate()
        for kind, calls in enumerate(self.train):
            calls.add_delay(self.config.max_added_ms, np.random.default_rng([self.seed, kind]))
        self._learn_lag(self.config.turns)
        for number, (net, kinds) in enumerate(zip(self.specialists, self.config.specialists, strict=True)):
            train = [self._calls(scenario) for scenario in scenarios_of(self.config, kinds)]
            self._learn(net, train, self.home / f"specialist-{number}.safetensors", self.seed)
        return {**found, "end": self._validate()}

    def validation_by_kind(self, router: Any, receiver: Any) -> dict[str, float]:
        """Return mean R on the validation worlds of each kind with two rules."""
        found = (calls.scores(router, receiver, self.config.threads).mean() for calls in self.validation)
        return dict(zip(self.config.worlds, map(float, found), strict=True))

    def _validate(self) -> float:
        r = self.validation_r(*self.pair)
        self.log({"validation/r": r}, self.packets_played)
        return r

    def validation_r(self, router: Any, receiver: Any) -> float:
        """Return mean R on the validation worlds with two rules, all kinds of worlds equally weighted."""
        return float(np.mean(list(self.validation_by_kind(router, receiver).values())))

    def _learn_lag(self, turn: int) -> None:
        self._learn(self.net, self.train, self.home / f"lag-{turn}.safetensors", self.seed + 1000 * turn)

    def _learn(self, net: LagNet, train: Sequence[TrainingCalls], file: Path, seed: int) -> None:
        packets = min(self.config.calls_per_step, self.config.calls) * self.config.packets
        if not file.exists():
            self._follow_gradient(net, train, packets, seed)
            replace_file(file, save(net.state_dict()))
        try:
            net.load_state_dict(load(read_plain(file, MAX_LAG_BYTES)))
        except (SafetensorError, RuntimeError) as error:
            raise DataError(file, "content", str(error), "the network of this training; delete the file to train it anew") from error
        self.packets_played += self.config.lag_steps * packets

    def _follow_gradient(self, net: LagNet, train: Sequence[TrainingCalls], packets: int, seed: int) -> None:
        config, restless = self.config, self.prices.copy()
        restless[[BELOW.margin_ms, ABOVE.margin_ms]] = 0.0
        routers = self._router(self.prices), self._router(restless), Direct()
        sets = [record_arrivals(calls, router, net.rule()) for calls in train for router in routers]
        shares = np.tile(SHARES, len(train)) / len(train)

        def report(step: int, r: float) -> None:
            if step % REPORT_STEPS == 0:
                self.log({"train/lag_r": r}, self.packets_played + step * packets)

        learn_lag(net, sets, shares, config.lag_steps, config.calls_per_step, config.learning_rate, seed, report)

    def _search_router(self, turn: int) -> None:
        rough = np.zeros(SCALE.size, np.bool_)
        rough[[SHARED.smoothing_rough, SHARED.excess_rough, SHARED.margin_rough_ms]] = True
        paper = [calls for calls in self.train if calls.scenario.mode == "paper"]
        others = [calls for calls in self.train if calls.scenario.mode != "paper"]
        if self.config.trials:
            self._search(turn, "router", np.where(rough, 0.0, SCALE), others or paper, self.config.trials)
        if paper and self.config.rough_trials:
            self._search(turn, "rough", np.where(rough, SCALE, 0.0), paper, self.config.rough_trials)

    def _search(self, turn: int, name: str, scale: NDArray[np.float64], train: Sequence[TrainingCalls], trials: int) -> None:
        config, before = self.config, self.packets_played
        chunks = list(zip(*(calls.cut(config.chunks) for calls in train), strict=True))
        packets = sum(map(len, chunks[0])) * config.packets

        def report(trials: int, gain: float, prices: NDArray[np.float64]) -> None:
            self.packets_played = before + trials * packets
            self.log({f"train/{name}_gain": gain}, self.packets_played)

        self.prices = search_prices(
            self.prices, scale, Candidates(chunks, self.net.rule(), config.threads, config.on_ray), trials, config.population,
            config.search_step / (1 + turn), self.seed + 1000 * turn, self.home / f"{name}-{turn}.jsonl", report, self._router,
        )  # fmt: skip
