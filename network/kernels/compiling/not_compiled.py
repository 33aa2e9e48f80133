"""The one line that a user needs of numba's text when a function of a rule, feature or reward does not compile."""

import ast
import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError

WHOLE = Path("outputs/not_compiled.txt")
"""File of the whole text, in the working folder."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"(?:\bat |File \")([^\"()\n]+\.py)(?:\", line | \()(\d+)")
_STEP = "Failed in nopython mode pipeline"
_OURS = Path(__file__).parents[3]
_INSTEAD = {
    r"Function\(<function (init|update|decide|measure|earned) at": "a class lacks it; register one, as docs/rules.md shows",
    r"NRT required|Only accept returning of array": "it makes an array or a list; only `allocate` and `init` may: loop over the state",
    r"unsupported NumPy function|No implementation of function|Unknown attribute|No definition for": "numba does not have it; write a loop",
    r"[Cc]annot unify|Cannot infer": "a variable has two types; give it one, such as 0.0 and not 0",
    r"[Uu]ntyped global|NameError|not defined": "a compiled function knows numbers, NamedTuples and functions with @kernel of its module",
    r"[Uu]nsupported|not support": "numba does not have it; write a loop over numbers and arrays",
}


class NotCompiledError(ValueError):
    """Error of a function that numba cannot compile, in one line."""


def in_one_line(compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that compiles for a call from Python, and says in one line why it cannot."""

    @wraps(compile_for)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        try:
            return compile_for(*args, **kwargs)
        except NumbaError as error:
            raise NotCompiledError(why_not_compiled(error)) from None

    return compiled


def why_not_compiled(error: Exception) -> str:
    """Return file, line, function, what is not allowed and what to write instead; the whole text goes to `WHOLE`."""
    text = _COLOUR.sub("", str(error))
    WHOLE.parent.mkdir(parents=True, exist_ok=True)
    WHOLE.write_text(text, encoding="utf-8")
    places = [(found, Path(os.path.abspath(found[1]))) for found in _PLACE.finditer(text)]
    own = next(((found, file) for found, file in places if not _is_ours(file)), None)
    cause = _cause(text, own[0].start() if own else len(text))
    called = re.search(r"<function (\w+) at", text)
    where = _source(own[1], int(own[0][2])) if own else f"function {called[1]}" if called else "a function"
    instead = next((allowed for said, allowed in _INSTEAD.items() if re.search(said, cause)), "what a rule may do is in docs/rules.md")
    return f"{where} does not compile ({' '.join(cause.split())[:100]}): {instead}; all that numba says is in {WHOLE}"


def _is_ours(file: Path) -> bool:
    """Return True for a file of vcgym or of an installed package."""
    return "site-packages" in file.parts or file.is_relative_to(_OURS)


def _cause(text: str, end: int) -> str:
    """Return the innermost message before a place: the first line after the last step that failed."""
    lines = text[:end].rpartition(_STEP)[2].splitlines()[1:] or text.splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.strip().startswith(("During:", ">>>", "There are"))]
    return said[0] if said else text.splitlines()[0]


def _source(file: Path, line: int) -> str:
    """Return file, line, function and the text of the line."""
    try:
        source = file.read_text(encoding="utf-8")
        functions = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)]
    except (OSError, SyntaxError):
        return f"{file.name}, line {line}"
    inside = [one.name for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
    return f"{file.name}, line {line}, function {inside[-1] if inside else '<module>'}: `{source.splitlines()[line - 1].strip()[:100]}`"
