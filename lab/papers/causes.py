"""Causes of verdicts: why a published number is not reproduced, each with the experiment that shows it.

    world           it holds in another network
    accounting      it holds if packets are counted otherwise
    reading         it holds in another reading of the text
    contradiction within the paper    the paper's other numbers exclude it
    rounding        it holds if ours is rounded as the published number is
    out of reach    it holds under none of the settings tried

The first evidence found counts: an experiment with a changed setting, the paper's arithmetic, rounding, another row of the same comparison
in which the statement is reproduced, and last an experiment in which nothing tried makes it hold. Without evidence a verdict has no cause.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from lab.papers.arithmetic import CONSISTENT, CONTRADICTORY, Arithmetic, arithmetic_rows
from lab.papers.judge import CANNOT, NOT, REPRODUCED, judge
from lab.papers.statements import Statement, StatementRecord
from lab.papers.verdicts import OUTCOME, estimate_text, shown
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.statistics import Estimate

Cause = Literal["world", "accounting", "reading", "contradiction within the paper", "rounding", "out of reach"]
WORLD: Cause = "world"
ACCOUNTING: Cause = "accounting"
READING: Cause = "reading"
CONTRADICTION: Cause = "contradiction within the paper"
ROUNDING: Cause = "rounding"
OUT_OF_REACH: Cause = "out of reach"

SHARES = (REPRODUCED, "not, cause shown", "not, without", CANNOT)
"""Verdicts in a table of shares."""


class Experiment(StatementRecord):
    """Experiment for a statement that is not reproduced: a changed setting and its outcome.

    Attributes:
        statement: id of the statement.
        causes: the kinds of what was changed; `out of reach` if nothing tried makes the statement hold.
        changed: the changed settings.
        found: our value then, or the best of those tried.
    """

    statement: str
    causes: tuple[Cause, ...]
    changed: str
    found: str


def first_that_holds(statement: Statement, unit: str, tried: Iterable[tuple[Cause, str, Estimate]]) -> Experiment:
    """Return the experiment with the first change under which a statement holds; none after it is evaluated.

    Args:
        statement: statement that is not reproduced.
        unit: unit of our values.
        tried: kind and name of each change, and our value with it; at least one.
    """
    values: dict[str, float] = {}
    for cause, name, ours in tried:
        if judge(statement, ours)[0] == REPRODUCED:
            found = f"reproduced, {estimate_text(ours, unit)}"
            return Experiment(statement=statement.id, causes=(cause,), changed=name, found=found)
        values[name] = ours.value
    names = list(values)
    least, most = (estimate_text(Estimate(*[end] * 3), unit) for end in (min(values.values()), max(values.values())))
    changed = f"{len(names)} changes, from {names[0]} to {names[-1]}"
    return Experiment(statement=statement.id, causes=(OUT_OF_REACH,), changed=changed, found=f"{least} to {most}")


Rows = Sequence[Mapping[str, Any]]


def with_causes(
    rows: Rows, statements: Iterable[Statement], checks: Iterable[Arithmetic], experiments: Iterable[Experiment]
) -> list[dict[str, Any]]:  # fmt: skip
    """Return rows of verdicts with `cause` and `experiment`; both stay "" if the verdict is no NOT or nothing shows its cause.

    Args:
        rows: verdicts of one paper.
        statements: statements of the rows.
        checks: arithmetic on the paper's printed numbers.
        experiments: experiments for statements of the paper.
    """
    evidence = _Evidence(rows, statements, checks, experiments)
    return [{**row, **evidence.of(row)} if row["verdict"] == NOT else {**row} for row in rows]


class _Evidence:
    """Evidence for causes, by statement."""

    def __init__(
        self, rows: Rows, statements: Iterable[Statement], checks: Iterable[Arithmetic], experiments: Iterable[Experiment]
    ) -> None:  # fmt: skip
        self.statements = {statement.id: statement for statement in statements}
        self.experiments = {experiment.statement: experiment for experiment in experiments}
        failed = [(check, row) for check in checks for row in arithmetic_rows([check]) if row["verdict"] == CONTRADICTORY]
        self.contradictions = {name: row for check, row in failed for name in check.about}
        self.modes = list(dict.fromkeys(row["mode"] for row in rows))
        self.held: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if _holds(row):
                self.held.setdefault(row["statement"], []).append(row)

    def of(self, row: Mapping[str, Any]) -> dict[str, str]:
        cause, experiment = next(self._all(row), ("", ""))
        return {"cause": cause, "experiment": experiment}

    def _all(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        statement = self.statements[row["statement"]]
        tried = self.experiments.get(statement.id)
        if tried and OUT_OF_REACH not in tried.causes:
            yield " and ".join(tried.causes), f"{tried.changed}: {tried.found}"
        if statement.id in self.contradictions:
            check = self.contradictions[statement.id]
            yield CONTRADICTION, f"{check['text']}: {check['reason']}, printed {check['published']}"
        if _rounds_to_published(statement, row):
            yield ROUNDING, f"{shown(row)} is {statement.published}, rounded as printed"
        yield from self._neighbours(statement, row)
        if tried and OUT_OF_REACH in tried.causes:
            yield OUT_OF_REACH, f"{tried.changed}: {tried.found}"

    def _neighbours(self, statement: Statement, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield rows that differ in one thing and are reproduced."""
        held = sorted(self.held.get(statement.id, []), key=lambda other: self._apart(row, other))
        for other in held:
            if other["mode"] == row["mode"]:
                yield ACCOUNTING, f"reproduced in {other['accounting']} accounting: {shown(other)}"
        readings = [other for name in statement.other_readings for other in self.held.get(name, [])]
        readings.sort(key=lambda other: self._apart(row, other))
        for other in readings:
            if (other["mode"], other["accounting"]) == (row["mode"], row["accounting"]):
                yield READING, self._as_read(row, other)
        for other in held:
            if other["accounting"] == row["accounting"]:
                yield WORLD, f"reproduced in {other['mode']}: {shown(other)}"
        for other in readings:
            if other["accounting"] == row["accounting"]:
                yield f"{WORLD} and {READING}", f"in {other['mode']} {self._as_read(row, other)}"

    def _apart(self, row: Mapping[str, Any], other: Mapping[str, Any]) -> int:
        """Return how many settings lie between two rows, in the order of the comparison."""
        return abs(self.modes.index(row["mode"]) - self.modes.index(other["mode"]))

    def _as_read(self, row: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        name = other["statement"] if other["text"] == row["text"] else other["text"]
        return f"reproduced as {name}: {shown(other)}"


def _rounds_to_published(statement: Statement, row: Mapping[str, Any]) -> bool:
    """Return whether a printed bound is met within half a unit of its last digit."""
    digits = re.search(r"\d+(\.\d+)?", statement.published)
    if statement.rule not in ("at most", "at least") or statement.accepted is None or digits is None:
        return False
    half = 0.5 * 10.0 ** -(len(digits[1]) - 1 if digits[1] else 0) * (0.01 if row["unit"] in ("%", "points") else 1.0)
    low, high = statement.accepted
    wider = statement.model_copy(update={"accepted": (low - half, high + half)})
    return judge(wider, Estimate(row["ours"], row["low"], row["high"]))[0] == REPRODUCED


def _holds(row: Mapping[str, Any]) -> bool:
    return row["verdict"] not in (NOT, CANNOT, CONSISTENT, CONTRADICTORY)


def share_of(row: Mapping[str, Any]) -> str:
    """Return which of `SHARES` the row of a verdict counts to."""
    if row["verdict"] == NOT:
        return SHARES[1] if row["cause"] else SHARES[2]
    return str(row["verdict"])


def never_held(rows: Rows) -> set[str]:
    """Return the statements that are not reproduced in any setting in which they can be judged."""
    return {row["statement"] for row in rows if row["verdict"] == NOT} - {row["statement"] for row in rows if _holds(row)}


def shares_table(rows: Rows, group: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the numbers of verdicts on outcomes by `SHARES`, a line per group, as Markdown; inputs of ours do not count."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        if row["origin"] == OUTCOME:
            counts.setdefault(group(row), Counter())[share_of(row)] += 1
    lines = []
    for name, count in counts.items():
        judged = count.total() - count[CANNOT]
        settled = (count[REPRODUCED], count[REPRODUCED] + count[SHARES[1]])
        percents = [f"{100 * number / judged:.0f} %" if judged else "" for number in settled]
        lines.append([name, *(str(count[share]) for share in SHARES), *percents])
    return markdown_table(["", *SHARES, "reproduced, of judged", "or cause shown"], lines, ("",))


def causes_table(rows: Rows) -> str:
    """Return a line per statement that is not reproduced and cause, with the settings and the experiment, as Markdown."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["verdict"] == NOT:
            experiment = row["experiment"] or "no experiment shows it"
            lines.setdefault((row["text"], row["published"], row["cause"] or "none", experiment), []).append(row["mode"])
    headings = ("statement", "published", "not reproduced in", "cause", "experiment")
    cells = [[text, published, "; ".join(dict.fromkeys(modes)), cause, found] for (text, published, cause, found), modes in lines.items()]
    return markdown_table(headings, cells, headings)
