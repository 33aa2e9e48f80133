"""Notes of a board: the meaning of its intervals and ranks, and the differences it can detect."""

import math
from collections.abc import Sequence

from vcgym.leaderboard.results.columns import Column
from vcgym.leaderboard.statistics.coverage import expected, expected_over
from vcgym.leaderboard.statistics.paired import Paired, sample
from vcgym.leaderboard.statistics.ranking import MIN_CALLS, detectable
from vcgym.network.scenarios.paths.linked import NATURAL
from vcgym.network.scenarios.paths.stress import ONE_SECOND_BURSTS

COUNTED = "Calls"
NO_PUBLISHED = "No difference to the best published system"
_OF_NAME = {
    NATURAL: "The natural mix: bad hours come as often as measured, in about one hour of twenty, so that there is little to be won.",
    ONE_SECOND_BURSTS: (
        "A control: bursts of one second are over before what is known of them can be used; systems that do not chase them tie."
    ),
}
"""Ending of the name of a board -> note."""


def notes(paired: Paired, column: Column, board: str) -> tuple[str, ...]:
    """Return notes for a board ranked by `column`."""
    of_name = (note for ending, note in _OF_NAME.items() if board.endswith(ending))
    return (*of_name, _coverage(paired, column), _ranks(paired, column))


def older(absent: Sequence[str]) -> tuple[str, ...]:
    """Return a note if the results were written before the suite had the columns `absent`."""
    return (f"These results are older than {', '.join(absent)}: they have no value there.",) if absent else ()


def unpublished(needed: Sequence[str], played: Sequence[str]) -> tuple[str, ...]:
    """Return a note if a published system of the suite was not played."""
    missing = [name for name in needed if name not in played]
    if not missing:
        return ()
    return (
        f"{NO_PUBLISHED}: {len(missing)} of the {len(needed)} of the suite were not played, such as "
        f"{missing[0]}. Without systems=, all of them are.",
    )


def calls_apart(paired: Paired, metric: str) -> int | None:
    """Return how many independent calls those over measured time count as; None if some worlds are drawn."""
    return int(sample(paired, metric).calls.sum()) if paired.measured and all(paired.measured) else None


def _measured(worlds: int, calls: int) -> str:
    rank = "" if calls >= MIN_CALLS else f" A rank needs {MIN_CALLS}, an interval 2."
    known = expected_over(calls)
    held = (
        f" In {known.suites:,} simulated traces with {known.calls} such calls, {100.0 * known.mean:.0f} % of the intervals contained the "
        f"truth, if what is measured forgets itself within a third of a call, and {100.0 * known.slow:.0f} % if it takes a whole call."
    )
    return (
        f"{COUNTED}: these {worlds} are cut from measured traces, near each other in time, and count as {calls} independent ones, in all "
        f"intervals and ranks, which cover other times of these traces and no other places.{rank}{held if calls > 1 else ''}"
    )


def _coverage(paired: Paired, column: Column) -> str:
    found = sample(paired, column.name)
    sizes = found.sizes
    timed = sum(map(bool, paired.measured))
    if timed and timed == len(paired.measured):
        return _measured(int(sizes.sum()), int(found.calls.sum()))
    if not sizes.size or sizes.min() < 2:
        return "Too few worlds for an interval."
    each = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    worlds = f"{sizes.sum()} worlds of {len(sizes)} {'kind' if len(sizes) == 1 else 'kinds'}, {each} of each"
    measured = expected(int(sizes.min()))
    share = measured.iqm if column.centre == "iqm" else measured.mean
    return (
        f"Intervals are meant as 95 %: in {measured.suites:,} simulated suites with {measured.seeds} worlds of each kind, "
        f"{100.0 * share:.1f} % of them contained the truth. This board has {worlds}."
        + (f" {timed} calls over measured traces count as {found.calls[found.is_measured].sum()} independent ones." if timed else "")
    )


def _ranks(paired: Paired, column: Column) -> str:
    found = detectable(paired, column.name, column.trim)
    corrected = f"Ranks are corrected for all {found.comparisons} comparisons of two systems (max-T bootstrap, 5 % for the whole board)"
    if math.isnan(found.together):
        return f"{corrected}. Worlds are too few, or systems too alike, to say which difference they can show."
    unit = " points" if column.unit == "%" else ""
    together, alone = (f"{column.factor * value:.{column.decimals}f}{unit}" for value in (found.together, found.alone))
    return (
        f"{corrected}. The smallest difference of {column.label} that these worlds show with 80 % probability is {together} between "
        f"any two systems, and {alone} between two named beforehand."
    )
