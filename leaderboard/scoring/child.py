"""The process that plays one rule: ``python -m vcgym.leaderboard.scoring.child FILE NAME COMPILE_S PLAY_S``.

Lines of JSON come out: the stage whenever it changes, and last the score or an error. What the rule prints goes to standard error.
"""

import importlib.util
import inspect
import json
import math
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any

from vcgym.baselines.controls.control import Control
from vcgym.baselines.rule import Facts
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.suites import prepare
from vcgym.leaderboard.play import play
from vcgym.leaderboard.scoring.fence import COMPILING, PLAYING, Fence
from vcgym.leaderboard.scoring.suites import difference, task_of
from vcgym.network.kernels.compiling.disk_cache import say_nothing_more
from vcgym.network.kernels.compiling.not_compiled import NotCompiledError
from vcgym.network.kernels.compiling.sources import cache_home
from vcgym.network.traces.refusal import one_line

MODULE = "scored_rule"
RULE, REFERENCE = "rule", "reference"
DIGITS = 6
_KEPT = "; all that numba says"  # begins the part of an error that names a file, which this process does not keep


def load_rule(file: Path, name: str) -> Any:
    """Return the rule of a file, made with its defaults, whose class is `name`, or the only one.

    Raises:
        ValueError: there is none, or several, or it cannot be scored.
    """
    spec = importlib.util.spec_from_file_location(MODULE, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[MODULE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = (one for one in vars(module).values() if isinstance(one, type) and one.__module__ == MODULE)
    found = {one.__name__: one for one in classes if isinstance(getattr(one, "facts", None), Facts)}
    if name and name not in found:
        raise ValueError(f"{file.name} has no rule {name}; allowed: {', '.join(found) or 'a class with the decorator @rule(Control....)'}")
    if not name and len(found) != 1:
        allowed = f"rule={file.name}:NAME with one of {', '.join(found)}" if found else "one class with the decorator @rule(Control....)"
        raise ValueError(f"{file.name} has {len(found)} rules; allowed: {allowed}")
    made = found[name or next(iter(found))]()
    facts: Facts = type(made).facts
    if facts.oracle or facts.control not in tuple(Control):
        raise ValueError(f"{type(made).__name__} is an oracle or sets {facts.control!r}; allowed: a rule that sets {', '.join(Control)}")
    return made


def score(fence: Fence, told: int, rule: Any) -> dict[str, Any]:
    """Play a rule and return its score; the reference is played outside the fence, once, and kept in the cache."""
    control = type(rule).facts.control
    suite, other = task_of(control)
    metric, reference = suite.columns.primary, load_system(other)
    prepare(suite)
    kept = play(named={REFERENCE: reference}, suite=suite, folder=cache_home() / "score")
    say_nothing_more()
    with fence.closed(told):
        rows = play(named={RULE: reference.replace(**{control: rule})}, suite=suite)
    found, kinds = difference(rows, kept, metric.name)
    low, high = ((None if math.isnan(end) else round(end, DIGITS)) for end in found[1:])
    return {
        "control": control, "suite": f"{suite.name}-{suite.version}", "measure": metric.name, "score": round(found.value, DIGITS),
        "low": low, "high": high, "reference": other, "worlds": len(rows), "seconds": round(fence.spent(PLAYING), 2),
        "compile_seconds": round(fence.spent(COMPILING), 2), "kinds": {kind: round(mean, DIGITS) for kind, mean in kinds.items()},
    }  # fmt: skip


def failure(error: BaseException, file: Path, of_class: int | None) -> dict[str, Any]:
    """Return what is wrong in one line, and the line of the file; that of the class, if it is known, where nothing says more."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    said = re.search(rf"^{re.escape(file.name)}, line (\d+)", str(error))
    if isinstance(error, NotCompiledError) and not said:
        text, line = f"a call does not compile with what the rule returns; allowed: a number: {error}", of_class
    elif isinstance(error, SyntaxError):
        text, line = f"SyntaxError: {error.msg}", error.lineno if error.filename == str(file) else None
    else:
        text, line = str(error), int(said[1]) if said else lines[-1] if lines else of_class
        text = text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"
    return {"error": one_line(text.partition(_KEPT)[0]), "line": line}


def main() -> None:
    """Score the rule that the arguments name, and tell the result."""
    told = os.dup(1)
    os.dup2(2, 1)

    def tell(found: dict[str, Any]) -> None:
        os.write(told, f"{json.dumps(found)}\n".encode())

    file, of_class, limits = Path(sys.argv[1]), None, dict(zip((COMPILING, PLAYING), map(float, sys.argv[3:]), strict=True))
    fence = Fence(file, Path.cwd(), cache_home(), limits, lambda stage: tell({"stage": stage, "line": of_class}))
    try:
        with fence.closed(told):
            rule = load_rule(file, sys.argv[2])
            of_class = inspect.getsourcelines(type(rule))[1]
        tell(score(fence, told, rule))
    except (Exception, SystemExit) as error:  # a user's rule may raise anything
        tell(failure(error, file, of_class))
    os._exit(0)  # whatever the rule has left running


if __name__ == "__main__":
    main()
