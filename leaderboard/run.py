"""Run a suite: every system on every world, then rows, files, ranks, table and page."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from vcgym.agents.progress import Tell
from vcgym.leaderboard import results
from vcgym.leaderboard.board import board_name, boards
from vcgym.leaderboard.cdf import DelayCdf, cdf_rows, delay_cdf
from vcgym.leaderboard.effort import effort, kind
from vcgym.leaderboard.metrics import rows
from vcgym.leaderboard.report import publish
from vcgym.leaderboard.rollout import Policy, Rollout, RulePair, play_policy, play_rules
from vcgym.leaderboard.suites import Part, Suite, worlds
from vcgym.leaderboard.table import print_boards
from vcgym.network.cards import DATA_VARIABLE
from vcgym.network.scenario import Scenario

AGENT_ENV = "vcgym/Call-v0"
System = RulePair | Policy


def playable(suite: Suite) -> list[Part]:
    """Parts of a suite whose data are there: replay worlds need the environment variable VCGYM_DATA."""
    return [part for part in suite.parts if part.mode != "replay" or os.environ.get(DATA_VARIABLE)]


def prepare(suite: Suite) -> list[tuple[Part, Scenario]]:
    """The playable parts with their scenarios, so that missing or broken data are refused before anything else is done."""
    return [(part, Scenario(part.scenario, part.mode, suite.packets)) for part in playable(suite)]


def run_suite(
    suite: Suite, parts: list[tuple[Part, Scenario]], systems: Mapping[str, System], folder: Path, tell: Tell, threads: int = 1
) -> Path:  # fmt: skip
    """Play every system on every world and publish the outcome.

    Args:
        suite: what to play.
        parts: what `prepare` made of it.
        systems: by name; a `RulePair`, or a policy of `vcgym/Call-v0`.
        folder: receives results.parquet, timing.parquet, cdf.parquet, report.html and leaderboard.md.
        tell: told how many of the ``len(systems) * len(parts)`` rollouts are done, and which one comes next.
        threads: how many threads share the sessions; without effect on the results.

    Returns:
        The report's path.
    """
    found: list[dict[str, Any]] = []
    timings: dict[tuple[str, str], list[Rollout]] = {}
    delays: dict[tuple[str, str], list[dict[str, DelayCdf]]] = {}
    for done, (name, (part, scenario)) in enumerate((name, both) for name in systems for both in parts):
        tell(done, f"{name} on {part.scenario}, {part.mode}")
        rollout = _play(systems[name], scenario, part, threads)
        found += rows(rollout.played, **_identity(name, systems[name], suite, part, scenario, rollout))
        timings.setdefault((name, part.mode), []).append(rollout)
        delays.setdefault((name, board_name(part.mode, part.stratum)), []).append(delay_cdf(rollout.played))
    tell(len(systems) * len(parts), "ranking")
    results.write(results.RESULTS, found, folder / "results.parquet")
    results.write(results.TIMING, [_timing(*key, played) for key, played in timings.items()], folder / "timing.parquet")
    results.write(results.DELAY_CDF, [row for key, batches in delays.items() for row in cdf_rows(*key, batches)], folder / "cdf.parquet")
    return publish(folder)


def show(folder: Path, console: Console) -> None:
    """Print the ranks of a finished suite."""
    print_boards(boards(results.read(results.RESULTS, folder / "results.parquet")), console)


def _play(system: System, scenario: Scenario, part: Part, threads: int) -> Rollout:
    which = worlds(part, scenario)
    if isinstance(system, RulePair):
        return play_rules(system, scenario, part.split, which, threads, part.stratum)
    return play_policy(system, AGENT_ENV, scenario, part.split, which, threads, part.stratum)


def _identity(name: str, system: System, suite: Suite, part: Part, scenario: Scenario, rollout: Rollout) -> dict[str, Any]:
    which = worlds(part, scenario)
    return {
        "system": name,
        "kind": kind(system),
        "suite": suite.name,
        "suite_version": suite.version,
        "mode": part.mode,
        "scenario": part.scenario,
        "stratum": rollout.strata,
        "split": part.split,
        "pair": [pair for pair, _ in which],
        "seed": [seed for _, seed in which],
        "card": scenario.layout.card,
        "env": AGENT_ENV,
        "packets": suite.packets,
        "latency_from_rtt": "full" if scenario.share_of_rtt == 1.0 else "half",
        "clocked_input": "arrival",
        "delay_impairment": "reduced",
        **effort(system),
    }


def _timing(system: str, mode: str, played: list[Rollout]) -> dict[str, Any]:
    calls = [len(rollout.strata) for rollout in played]
    decision_us = sum(rollout.decision_us * n for rollout, n in zip(played, calls, strict=True)) / sum(calls)
    hardware = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    return {
        "system": system, "mode": mode, "decision_us": decision_us, "wall_clock_s": sum(rollout.wall_clock_s for rollout in played),
        "hardware": hardware,
    }  # fmt: skip
