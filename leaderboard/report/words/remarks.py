"""Remarks on a run: what was played of the user's own traces, and the systems left out of the board, each with the reason.

Each kind is a file in the folder of results, repeated in summary, table and page.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vcgym.leaderboard.evaluation.part import Part
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.paths.fitted import Fitted
from vcgym.network.scenarios.paths.replay import PART_OF_TRACE, Replay
from vcgym.network.scenarios.splits import ALL
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.coverage import GAP_S, SlotCoverage
from vcgym.network.traces.plain_file import read_json, replace_file
from vcgym.network.traces.refusal import shown

_MEASURED, _LEFT_OUT = "measured.json", "left_out.json"
_NAMED = 4  # traces that a sentence names
_WHOLE = "split=all plays everything"
_ONE_PATH = "One path: this board does not compare routers, all rules of path play alike."


def remarks(folder: Path) -> list[str]:
    """Return the sentences on the run in `folder`.

    Raises:
        DataError: a file is broken.
    """
    return [*_measured_lines(folder), *_left_out_lines(folder)]


def write_left_out(reasons: Mapping[str, str], folder: Path) -> None:
    """Replace the file of a run in `folder` by the reasons, by agent; without reasons, remove it."""
    if reasons:
        replace_file(folder / _LEFT_OUT, (json.dumps(dict(sorted(reasons.items())), indent=1) + "\n").encode())
    else:
        (folder / _LEFT_OUT).unlink(missing_ok=True)


def _left_out_lines(folder: Path) -> list[str]:
    reasons = read_json(folder / _LEFT_OUT) if (folder / _LEFT_OUT).exists() else {}
    for name, reason in reasons.items():
        if not isinstance(reason, str):
            raise DataError(folder / _LEFT_OUT, shown(name), reason, "the reason, a text")
    names = {reason: [name for name, its in reasons.items() if its == reason] for reason in reasons.values()}
    return [f"Left out: {', '.join(of_reason)}, which {reason}." for reason, of_reason in names.items()]


def write_measured(parts: Iterable[tuple[Part, Any]], folder: Path) -> None:
    """Replace the file of a run in `folder` by what was played of the user's own traces; without such traces, remove it."""
    lines = [line for part, scenario in parts if part.traces for line in _lines(part.split, scenario)]
    if lines:
        replace_file(folder / _MEASURED, (json.dumps({"lines": lines}, indent=1) + "\n").encode())
    else:
        (folder / _MEASURED).unlink(missing_ok=True)


def _measured_lines(folder: Path) -> list[str]:
    lines = read_json(folder / _MEASURED).get("lines") if (folder / _MEASURED).exists() else []
    if not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise DataError(folder / _MEASURED, "lines", lines, "a list of texts")
    return lines


def _lines(split: str, scenario: Any) -> list[str]:
    recipe = getattr(scenario, "recipe", None)  # a bottleneck has none
    one_path = [_ONE_PATH] * (isinstance(recipe, Fitted | Replay) and scenario.paths == 1)
    if isinstance(recipe, Fitted):
        return [f"Played: worlds drawn from laws fitted to {recipe.cards()[0].source}.", *one_path]
    if not isinstance(recipe, Replay):
        whole = "Played: every trace as a whole."
        return [whole if split == ALL else f"Played: the last 20 % of each trace; of five traces or more, 20 % of the places. {_WHOLE}."]
    found = recipe.measured
    several = len(found.paths) > 1
    choice = ", the first by name; direct=NAME names another" if several and scenario.settings.direct is None else ""
    described = {f"{pair}/{path}": one for pair, row in zip(found.pairs, found.coverage, strict=True)
                 for path, one in zip(found.paths, row, strict=True)}  # fmt: skip
    return [
        f"Played: {_part(split, recipe)}.",
        *([f"Direct path: {found.paths[0]}{choice}."] if several else one_path),
        _covered(described),
        *_sparse({name: one for name, one in described.items() if one.sparse}),
    ]


def _part(split: str, recipe: Replay) -> str:
    found = recipe.measured
    if split == ALL:
        return f"all of {len(found.pairs)} x {len(found.paths)} traces"
    if recipe.split_by_pair:
        return f"the pairs {', '.join(recipe.pairs(split))}, 20 % of {len(found.pairs)}; {_WHOLE}"
    low, high = PART_OF_TRACE[split]
    lengths_s = [int(parts[-1, 1]) * SLOT_US / 1e6 for row in found.parts for parts in row]
    played_s = _span([(high - low) * length_s for length_s in lengths_s])
    return f"the last {100 * (high - low):.0f} % of each trace, {played_s} of {_span(lengths_s)} s; {_WHOLE}"


def _covered(described: dict[str, SlotCoverage]) -> str:
    of_all = described.values()
    held, spacing, high = (
        _span([value(one) for one in of_all])
        for value in (lambda one: 100.0 * one.share, lambda one: one.spacing_ms, lambda one: one.spacing_95_ms)
    )  # fmt: skip
    worst = max(described, key=lambda name: described[name].largest_gap_s)
    gaps = sum(one.gaps for one in of_all)
    cut = f"; {gaps} gap{'s' * (gaps > 1)} of {GAP_S:g} s or more, which no call spans" if gaps else ""
    return (
        f"Measured: a probe in {held} % of slots, one per {spacing} ms (95 %: {high} ms); largest gap "
        f"{described[worst].largest_gap_s:.3g} s ({worst}){cut}."
    )


def _sparse(described: dict[str, SlotCoverage]) -> list[str]:
    if not described:
        return []
    names = ", ".join(list(described)[:_NAMED]) + (f" and {len(described) - _NAMED} more" if len(described) > _NAMED else "")
    spacing = _span([one.spacing_ms for one in described.values()])
    return [f"Sparse: {names}: one probe per {spacing} ms; jitter between packets, and losses that are shorter, are not measured."]


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"
