"""`vcgym score`: one rule file, one process with limits, one line of JSON."""

import json
import os
import re
import signal
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Any

from vcgym.leaderboard.evaluation.config import ScoreConfig

LONGEST_S = 3600
"""Wall clock of the process, with a first run that compiles and plays the reference."""
_CHILD = "vcgym.leaderboard.scoring.child"


def score(config: ScoreConfig) -> int:
    """Print the score of a rule in one line of JSON, or what is wrong; return the status, 1 if there is no score."""
    found = {"rule": config.rule, **_found(config)}
    sys.stdout.write(f"{json.dumps(found)}\n")
    return 0 if "score" in found else 1


def _found(config: ScoreConfig) -> dict[str, Any]:
    file, name = config.place
    if file.suffix != ".py" or not file.is_file():
        return {"error": f"{file} is no file of Python; allowed: rule=FILE.py or rule=FILE.py:NAME", "line": None}
    command = [sys.executable, "-m", _CHILD, str(file), name, str(config.compile_seconds), str(config.play_seconds)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with TemporaryDirectory(prefix="vcgym-score-") as own:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LONGEST_S, check=False, cwd=own, env=environment
            )
        except subprocess.TimeoutExpired:
            return {"error": f"the rule took more than {LONGEST_S} s", "line": None}
    told = done.stdout.decode(errors="replace")
    last: dict[str, Any] = next((json.loads(line) for line in reversed(told.splitlines()) if line.startswith("{")), {})
    if last.keys() & {"score", "error"}:
        return last
    frame = re.search(rf'File "{re.escape(str(file))}", line (\d+)', told)
    return {"error": _ended(-done.returncode, last.get("stage", "start"), config), "line": int(frame[1]) if frame else last.get("line")}


def _ended(number: int, stage: str, config: ScoreConfig) -> str:
    """Return why a process ended that could not say it."""
    limit = getattr(config, f"{stage}_seconds", LONGEST_S)
    if number == signal.SIGPROF:
        return f"takes more than {limit:g} s of processor time to {stage}; allowed: loops that end, or a larger {stage}_seconds"
    if number == signal.SIGALRM:
        return f"waits: takes much longer to {stage} than {limit:g} s of processor time"
    name = signal.Signals(number).name if number in set(signal.Signals) else f"status {-number}"
    return f"ended with {name} in stage {stage}; allowed: decisions that a call can take, such as one of its paths, and indices within rows"
