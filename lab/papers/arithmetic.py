"""Registers of papers, with arithmetic on the printed numbers: do they agree with each other?

A printed number stands for every number that rounds to it: an interval of half a unit of its last digit either way. A formula is evaluated
on these intervals, so the result contains every value that the paper can mean. If a name occurs twice in a formula, the result is wider
than necessary, which favours the paper. The paper contradicts itself if no value of the result is in the accepted range.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Self

from pydantic import AfterValidator, Field, model_validator

from lab.papers.statements import StatementRecord, StatementT, each_once
from lab.papers.verdicts import ANY
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.traces.cards import Carded, CardedT, parse_carded

CONSISTENT, CONTRADICTORY = "consistent", "contradictory"
DATA = Path(__file__).parent / "data"
ARITHMETIC = "arithmetic"  # origin of these rows in a file of verdicts
KIND = "A"

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
_INCREASING: dict[str, Callable[..., float]] = {"max": max, "min": min, "sqrt": math.sqrt}


class Arithmetic(StatementRecord):
    """Check of printed numbers of a paper against another number that it prints.

    Attributes:
        id: name of the check.
        source: places of the numbers in the paper.
        text: subject of the result, with the assumption under which it can be compared.
        published: what the paper prints of the result.
        numbers: printed numbers by name, with all their printed digits.
        formula: result in terms of these names and exact constants: + - * / **, max, min, sqrt.
        accepted: range of the result that agrees with `published`.
        unit: unit of the result.
        about: statements that cannot hold beside the numbers if the check fails.
    """

    id: str
    source: str
    text: str
    published: str
    numbers: Annotated[dict[str, str], Field(default_factory=dict)]
    formula: str
    accepted: tuple[float, float]
    unit: str = ""
    about: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_be_evaluated(self) -> "Arithmetic":
        try:
            result(self)
        except (ArithmeticError, SyntaxError, KeyError, TypeError) as error:
            allowed = "+ - * / **, max, min, sqrt of named numbers and constants"
            raise ValueError(f"{self.id}: formula is {self.formula!r} ({error!r}); allowed: {allowed}") from error
        return self


def result(check: Arithmetic) -> Estimate:
    """Return the result from the numbers as printed, and the least and largest result from all numbers that round to them."""
    printed = {name: Decimal(text) for name, text in check.numbers.items()}
    exact = {name: Estimate(*[float(number)] * 3) for name, number in printed.items()}
    rounded = {name: _rounds_to(number) for name, number in printed.items()}
    tree = ast.parse(check.formula, mode="eval").body
    _, low, high = _evaluated(tree, rounded)
    return Estimate(_evaluated(tree, exact).value, low, high)


def _rounds_to(number: Decimal) -> Estimate:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    half = Decimal(5).scaleb(exponent - 1)
    return Estimate(float(number), float(number - half), float(number + half))


def _evaluated(node: ast.expr, numbers: dict[str, Estimate]) -> Estimate:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Estimate(*[float(value)] * 3)
        case ast.Name(id=name):
            return numbers[name]
        case ast.BinOp(left=left, op=op, right=right):
            apply, a, b = _OPERATORS[type(op)], _evaluated(left, numbers), _evaluated(right, numbers)
            corners = [apply(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return Estimate(apply(a.value, b.value), min(corners), max(corners))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            sides = zip(*(_evaluated(one, numbers) for one in arguments), strict=True)
            return Estimate(*(_INCREASING[name](*side) for side in sides))
    raise TypeError(ast.unparse(node))


def arithmetic_rows(checks: Iterable[Arithmetic]) -> list[dict[str, Any]]:
    """Return a row per check for a file of verdicts; its reason is the arithmetic."""
    return [_row(check) for check in checks]


def _row(check: Arithmetic) -> dict[str, Any]:
    found = result(check)
    lowest, highest = check.accepted
    agrees = found.high >= lowest and found.low <= highest
    return {
        "statement": check.id, "source": check.source, "kind": KIND, "text": check.text, "mode": ANY, "accounting": ANY,
        "published": check.published, "ours": found.value, "low": found.low, "high": found.high, "unit": check.unit,
        "verdict": CONSISTENT if agrees else CONTRADICTORY, "reason": _shown(check, found), "origin": ARITHMETIC,
        "cause": "", "experiment": "",
    }  # fmt: skip


def arithmetic_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the checks among rows of verdicts as a Markdown table, contradictions in bold and first."""
    checks = sorted((row for row in rows if row["origin"] == ARITHMETIC), key=lambda row: row["verdict"] == CONSISTENT)
    words = {CONSISTENT: CONSISTENT, CONTRADICTORY: f"**{CONTRADICTORY}**"}
    lines = [[row["text"], row["source"], row["published"], row["reason"], words[row["verdict"]]] for row in checks]
    headings = ("subject", "source", "printed", "from the other numbers", "verdict")
    return markdown_table(headings, lines, headings)


def _shown(check: Arithmetic, found: Estimate) -> str:
    """Return the arithmetic as text: the formula with its printed numbers, and its result."""
    formula = re.sub(r"[a-z_]\w*", lambda name: check.numbers.get(name[0], name[0]), check.formula)
    interval = "" if found.low == found.high else f" [{found.low:.4g}, {found.high:.4g}]"
    return f"{formula} = {found.value:.4g}{interval} {check.unit}".rstrip()


class Register(Carded, Generic[StatementT]):
    """Content of a JSON file in `DATA`.

    Attributes:
        card: see `vcgym.network.traces.cards.Card`.
        statements: statements that are compared with our results.
        arithmetic: checks of the printed numbers against each other.
    """

    statements: Annotated[tuple[StatementT, ...], Field(min_length=1), AfterValidator(each_once)]
    arithmetic: tuple[Arithmetic, ...]

    @model_validator(mode="after")
    def _names_its_statements(self) -> Self:
        known = {statement.id for statement in self.statements}
        checks = [check.id for check in self.arithmetic]
        unknown = sorted({about for check in self.arithmetic for about in check.about} - known)
        twice = sorted({name for name in checks if checks.count(name) > 1 or name in known})
        if unknown or twice:
            raise ValueError(f"arithmetic is about {unknown} and repeats {twice}; allowed: ids of statements, each id once")
        return self


def load_document(kind: type[CardedT], file: str) -> CardedT:
    """Load a document with a card from `DATA`; see `vcgym.network.traces.cards.parse_carded`."""
    return parse_carded(kind, file, (DATA / file).read_text(encoding="utf-8"))
