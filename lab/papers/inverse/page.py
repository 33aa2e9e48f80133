"""The outcome as inverse.md: the declared family, the best joint assumptions, and a line for every judged statement."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from lab.papers.inverse.assumptions import DECLARED
from lab.papers.inverse.results import AblationRow, AuthorsLog, BestAssumptions, Changes, Inverse, ValueWithInterval
from lab.papers.inverse.trial import judged_statements
from lab.papers.reproduce.verdicts import unit_of
from lab.papers.vcroute.statements import VCRouteStatement
from lab.papers.verdicts import shown
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.template import render

_TEMPLATE = Path(__file__).parent / "inverse.md.j2"


def document(found: Inverse) -> str:
    """Return the page as Markdown."""
    ends = [best for best in found.best if best.seed is not None]
    held = [frozenset(best.held) for best in ends]
    joint = max(ends, key=lambda best: len(best.held))
    sizes = Counter(min(len(row.changes), 3) for row in found.ablation)
    return render(
        _TEMPLATE, found=found, joint=joint, changed=changed, sizes=sizes, causes=Counter(row.cause for row in found.ablation),
        fields=_fields(), best=_best_table(found), log=_log_table(found.authors_log), statements=_statements(found, joint),
        late=_late_table(found), ends=ends, ends_table=_ends_table(ends), common=len(frozenset.intersection(*held)),
        anywhere=len(frozenset.union(*held)), pairs=[(a.seed, b.seed, len({*a.held} & {*b.held})) for a, b in combinations(ends, 2)],
        values=Counter((name, value) for best in ends for name, value in best.changes.items()).most_common(),
    )  # fmt: skip


def changed(changes: Changes) -> str:
    """Return changes from the defaults as text."""
    return ", ".join(f"{name} {value}" for name, value in changes.items()) or "none"


def _fields() -> str:
    headings = ("assumption", "values, the default first", "cause", "source")
    lines = [[f"`{name}`", ", ".join(map(str, known.values)), known.cause, known.source] for name, known in DECLARED.items()]
    return markdown_table(headings, lines, headings)


def _best_table(found: Inverse) -> str:
    headings = ("statements", "changes", "hold together")
    lines = [[_name(best), changed(best.changes), f"{len(best.held)} of {best.of}"] for best in found.best]
    return markdown_table(headings, lines, headings[:2])


def _ends_table(ends: Sequence[BestAssumptions]) -> str:
    lines = [
        [f"`{name}`", *(f"{best.changes[name]} ({best.without[name]})" if name in best.changes else "" for best in ends)]
        for name in DECLARED if any(name in best.changes for best in ends)
    ]  # fmt: skip
    headings = ("assumption", *(f"seed {best.seed}" for best in ends))
    return markdown_table(headings, lines, headings)


def _log_table(log: AuthorsLog | None) -> str:
    if log is None:
        return ""
    headings = ("assumptions", "misfit", "distance", "correlation", "overtaken", "missing")
    own = ["the log", "", "", f"{log.correlation:.3f}", f"{log.overtaken:.3f}", f"{log.missing:.4f}"]
    ours = [
        [
            changed(one.changes),
            f"{one.misfit:.3f}",
            f"{one.distance:.3f}",
            f"{one.correlation:.3f}",
            f"{one.overtaken:.3f}",
            f"{one.missing:.4f}",
        ]
        for one in log.fits
    ]
    return markdown_table(headings, [own, *ours], headings[:1])


def _name(best: BestAssumptions) -> str:
    return best.source if best.seed is None else f"the whole paper, seed {best.seed}"


def _statements(found: Inverse, joint: BestAssumptions) -> str:
    headings = ("statement", "source", "published", "defaults", "best joint assumptions", "fewest changes", "cause", "broken")
    ablated = {row.statement: row for row in found.ablation}
    held, by_id = set(joint.held), {one.id: one for one in judged_statements()}
    lines = [_line(by_id[name], ablated.get(name), found.values[name], name in held) for name in found.judged]
    return markdown_table(headings, lines, headings[:-1])


def _line(statement: VCRouteStatement, row: AblationRow | None, joint: ValueWithInterval, held: bool) -> list[str]:
    best = value_text(statement, joint)
    cells = [statement.text, statement.source, statement.published, "**holds**", "", "", ""] if row is None else _failed(statement, row)
    return [*cells[:4], f"**holds** {best}" if held else best, *cells[4:]]


def _failed(statement: VCRouteStatement, row: AblationRow) -> list[str]:
    fewest = f"{changed(row.changes)}: {value_text(statement, row.after)}" if row.changes else "none found"
    named = [statement.text, statement.source, statement.published]
    return [*named, value_text(statement, row.before), fewest, row.cause, str(len(row.broken))]


def _late_table(found: Inverse) -> str:
    headings = ("statement", "source", "published", "late packets teach", "fewest further changes", "cause", "broken")
    by_id = {one.id: one for one in judged_statements()}
    return markdown_table(headings, [_failed(by_id[row.statement], row) for row in found.late], headings[:-1])


def value_text(statement: VCRouteStatement, value: ValueWithInterval) -> str:
    """Return a value of a statement with its interval and unit as text."""
    ends: Mapping[str, Any] = {name: math.nan if end is None else end for name, end in value.model_dump().items()}
    return shown({**ends, "unit": unit_of(statement.measure)})
