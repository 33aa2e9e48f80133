"""Swaps of controls: which one explains the difference of two systems. One control at a time is taken from the other system.

A difference is explained twice: by what a control of `second` adds to `first`, and by what `second` loses with that control of `first`.
Where the two differ, controls act together. The pacing factor belongs to the rate.
"""

from pathlib import Path

from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.leaderboard.statistics import differences, pair_worlds

SHOWN = ("r", "video_on_time", "utility", "taken_share")
"""Metrics of the table, as far as the suite has them."""


def with_control(system: System, control: str, other: System) -> System:
    """Return `system` with the rule of one control of `other`; it is no shipped system."""
    changed = {control: other.rules[control]} | ({"pacing": other.pacing} if control == "rate" else {})
    return system.replace(**changed, is_local=True)


def swaps(first: str, second: str, suite: Suite, folder: Path, threads: int = 1) -> tuple[list[str], list[list[str]]]:
    """Play two systems and each swap of one control, and return headings and rows of a table of paired differences.

    Args:
        first: name of a system, such as a plain call.
        second: name of a system with the same controls.
        suite: suite of one board.
        folder: cache of results.
        threads: threads that share the calls; no effect on the result.

    Raises:
        ValueError: see `vcgym.leaderboard.play.play`.
    """
    one, other = load_system(first), load_system(second)
    into = {f"{first}, {control} of {second}": with_control(one, control, other) for control in one.rules}
    out_of = {f"{second}, {control} of {first}": with_control(other, control, one) for control in one.rules}
    paired = pair_worlds(play(first, second, suite=suite, named={**into, **out_of}, folder=folder, threads=threads, progress_bar=True))
    columns = [suite.columns.metric[name] for name in SHOWN if name in suite.columns.metric]

    def row(label: str, name: str, reference: str) -> list[str]:
        return [label, *(column.interval(differences(paired, column.name, reference, column.trim)[name]) for column in columns)]

    rows = [row(f"{in_words(second)} less {in_words(first)}", second, first)]
    rows += [row(f"+ {control}", name, first) for control, name in zip(one.rules, into, strict=True)]
    rows += [row(f"- {control}", name, second) for control, name in zip(one.rules, out_of, strict=True)]
    return ["difference", *(column.heading for column in columns)], rows
