"""One kind of board: what calls a suite has is said by its stages, and no other place asks for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from vcgym.baselines.controls.control import Control

HOME = Path(__file__).parents[3]
LEFT: dict[str, int] = {}
"""File -> places that still ask; the list may only become shorter. 33 places in 16 files when there were three kinds of board."""
CONTROLS = set(map(str, Control))


def asks(node: ast.AST) -> bool:
    """True for a test of what kind of calls a suite, scenario or system has."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
        return "Scenario" in ast.unparse(node.args[1])
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        named = any((isinstance(side, ast.Attribute) and side.attr == "columns") or getattr(side, "id", "") == "columns" for side in sides)
        constant = any(isinstance(side, ast.Name) and side.id.isupper() for side in sides)
        absent = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
        return (named and constant) or (absent and any(getattr(side, "attr", "") in CONTROLS for side in sides))
    return isinstance(node, ast.Attribute) and node.attr in ("plays", "simulation")


def places() -> Iterator[str]:
    for path in sorted(HOME / room / file for room in ("leaderboard", "scripts") for file in (HOME / room).rglob("*.py")):
        yield from (path.relative_to(HOME).as_posix() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if asks(node))


def test_no_further_place_asks_for_the_kind_of_calls() -> None:
    found = list(places())
    counts = {file: found.count(file) for file in found}
    assert {file: count for file, count in counts.items() if count > LEFT.get(file, 0)} == {}, "new"
    assert {file: count for file, count in LEFT.items() if count > counts.get(file, 0)} == {}, "fewer now: shorten the list"
