"""Speed of the loop and of the environments, each measured several times in one process.

Absolute figures are the machine's, ratios are ours.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

from vcgym.baselines.direct import Direct
from vcgym.baselines.vcroute import VCRoute
from vcgym.baselines.wmjitter import WMJitter
from vcgym.envs.batch import CallBatch
from vcgym.leaderboard.results import replace_file
from vcgym.leaderboard.rollout import RulePair
from vcgym.network.scenario import Scenario

ROUNDS = 5
CALLS = 16


class Measure(NamedTuple):
    """One figure: the best of `rounds`, and the spread, (best - worst) / best."""

    name: str
    value: float
    unit: str
    threads: int
    rounds: int
    spread: float


def _measure(name: str, unit: str, amount: int, run: Callable[[], Any], threads: int = 1) -> Measure:
    run()  # compiles
    rates = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run()
        rates.append(amount / (time.perf_counter() - began))
    return Measure(name, max(rates), unit, threads, ROUNDS, (max(rates) - min(rates)) / max(rates))


def _calls(pair: RulePair, mode: str, threads: int) -> Callable[[], None]:
    scenario = Scenario("wonderproxy", mode)
    batch = CallBatch(scenario, CALLS, pair.router, pair.receiver, threads=threads)
    draws = [scenario.draw("train", seed) for seed in range(CALLS)]

    def run() -> None:
        for row, draw in enumerate(draws):
            batch.start(row, draw)
        batch.play(np.arange(CALLS))

    return run


def _steps(num_envs: int, interval: int, steps: int) -> Callable[[], None]:
    envs = gymnasium.make_vec("vcgym/Call-v0", num_envs=num_envs, interval=interval)
    action = envs.action_space.sample()
    envs.reset(seed=0)

    def run() -> None:
        for _ in range(steps):
            envs.step(action)

    return run


def measures() -> Iterator[Measure]:
    """Packets per second of whole calls, worlds drawn included, and steps per second of `vcgym/Call-v0`, one after the other."""
    packets = CALLS * 6000
    for mode in ("paper", "correlated"):
        for name, pair in (("drt_wm", RulePair(Direct(), WMJitter())), ("vcr_wm", RulePair(VCRoute(), WMJitter()))):
            for threads in (1, 2):
                yield _measure(f"{name}_{mode}", "packets/s", packets, _calls(pair, mode, threads), threads)
    for num_envs in (1, 64, 1024):
        steps = max(1, 2048 // num_envs)
        yield _measure(f"env_10pkt_{num_envs}", "steps/s", steps * num_envs, _steps(num_envs, 10, steps))


def bench(folder: Path, console: Console) -> None:
    """Measure, print a table, write `folder`/bench.json."""
    found = list(measures())
    table = Table("name", "value", "unit", "threads", "spread", title="Best of rounds")
    for one in found:
        table.add_row(one.name, f"{one.value:,.0f}", one.unit, str(one.threads), f"{100 * one.spread:.0f} %")
    console.print(table)
    replace_file(folder / "bench.json", (json.dumps([one._asdict() for one in found], indent=1) + "\n").encode())
