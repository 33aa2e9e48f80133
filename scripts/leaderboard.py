"""The commands of the leaderboard: play a suite, show its results, and explain them."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.agents.config.names import EVERY
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.bars import references
from vcgym.leaderboard.evaluation.config import (
    BoardConfig,
    ExportConfig,
    FairnessConfig,
    LeaderboardConfig,
    PageConfig,
    SwapsConfig,
    SystemsConfig,
)
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.own.own_methods import on_own_traces, own_methods
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.participants import all_participants, systems_of
from vcgym.leaderboard.evaluation.published import Entrant
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.export import export
from vcgym.leaderboard.report.fairness import HEADINGS, fairness, pairings, pairings_of
from vcgym.leaderboard.report.publish import publish_together
from vcgym.leaderboard.report.run import run_suite, show
from vcgym.leaderboard.report.series import pictures_of
from vcgym.leaderboard.report.words.systems import system_rows
from vcgym.leaderboard.results.files import read_with_oracles
from vcgym.leaderboard.swaps import swaps


def play_suite(config: LeaderboardConfig) -> None:
    """Play the suite, print the ranks and write the board."""
    config.data.export()
    suite = config.played_suite(on_own_traces(config.agents))
    rank(config, suite, prepare(suite))


def rank(
    config: LeaderboardConfig, suite: Suite, parts: list[tuple[Part, Any]], joined: Mapping[str, Entrant] = MappingProxyType({}),
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Play a suite, print the ranks and write the board.

    Agents that `joined` play as well; of those `left_out` the board names the reason. `parts` are those of
    `vcgym.leaderboard.evaluation.suites.prepare`.
    """
    console, systems = _console(), systems_of(suite, config.systems)
    systems |= {name: load_system(name) for name in references(f"{suite.name}-{suite.version}") if name not in systems}
    if len(parts) < len(suite.parts):
        console.print("Measured worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    own, told = own_methods(config.agents, config.agent_options, suite, parts)
    for line in told:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    participants = all_participants(suite, systems, config.train if suite.kind == PATHS else None, {**joined, **own})
    with progress(f"suite {suite.name}-{suite.version}: parts done", len(plan(suite, parts, participants))) as on_progress:
        ranked = run_suite(
            suite, parts, participants, config.folder, on_progress, config.threads, config.workers, config.ray.address, left_out
        )
    show(ranked, config.folder, console, [] if config.systems in (None, [EVERY]) else config.systems or [])


def list_systems(config: SystemsConfig) -> None:
    """Print the systems with their rules, parameters and sources."""
    config.data.export()
    _print_rows(("system", "control", "rule", "source"), system_rows(systems_of(config.played_suite(), config.systems)))


def write_page(config: PageConfig) -> None:
    """Write the page.

    Raises:
        ValueError: there is no board.
    """
    found = sorted(path.parent for path in config.results.glob("*/results.parquet"))
    if not found:
        raise ValueError(f"results is {config.results}; allowed: a folder of boards, each a folder with a results.parquet")
    publish_together(found, config.results / "report.html")
    _console().print(f"Report: {config.results / 'report.html'}", soft_wrap=True)


def write_table(config: ExportConfig) -> None:
    """Write the board as a table."""
    export(boards(read_with_oracles(config.results)), config.output, config.systems or ())
    _console().print(f"Table: {config.output}", soft_wrap=True)


def draw_series(config: BoardConfig) -> None:
    """Draw the systems over time, in worlds of rmcat-v0 if the suite has no such pictures."""
    config.data.export()
    asked = config.played_suite()
    suite = asked if pictures_of(asked) else SUITES["rmcat-v0"]
    for name, system in systems_of(suite, config.systems).items():
        for picture in pictures_of(suite):
            _console().print(f"Picture: {picture.draw(name, system, config.folder, suite)}", soft_wrap=True)


def compare_controls(config: SwapsConfig) -> None:
    """Print which control explains the difference of two systems."""
    config.data.export()
    suite = config.played_suite()
    first, second = systems_of(suite, config.systems)
    _print_rows(*swaps(first, second, suite, config.folder, config.threads))


def play_sharing(config: FairnessConfig) -> None:
    """Let calls share a bottleneck, print their shares and write the page."""
    config.data.export()
    played = pairings_of(_sharing(config)) if config.systems or config.agents else pairings()
    with progress("calls that share", len(played)) as on_progress:
        rows = fairness(config.folder, played, on_progress)
    _print_rows(HEADINGS, rows)
    _console().print(f"Page: {config.folder / 'sending_fairness.md'}", soft_wrap=True)


def _sharing(config: FairnessConfig) -> dict[str, System]:
    """Return the systems that share a bottleneck with the rules."""
    suite = SUITES["rate-v0"]
    found: dict[str, Entrant] = dict(systems_of(suite, config.systems)) if config.systems else {}
    found |= own_methods(config.agents, config.agent_options, suite, prepare(suite))[0]
    outside = sorted(name for name, one in found.items() if not isinstance(one, System))
    if outside:
        raise ValueError(f"agents has {outside}; allowed: rules and learned rules, which play inside the loop")
    return {name: one for name, one in found.items() if isinstance(one, System)}


def _print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(*headings, box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    _console().print(table)


def _console() -> Console:
    return Console(emoji=False, width=None if Console().is_terminal else 120)
