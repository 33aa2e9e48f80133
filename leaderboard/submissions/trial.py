"""A trial of a model in a process of its own, with bounded memory and time: a crash or a swelling model stays there.

``python -m vcgym.leaderboard.submissions.trial PATHS ...`` reads a model from its standard input and decides once for each number of paths.
Memory is bounded where the system bounds it (Linux); the processor's time everywhere.
"""

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from vcgym.envs.call.features.call import CALL_WIDTH
from vcgym.envs.call.features.path import PATH_WIDTH
from vcgym.leaderboard.submissions.folder import RefusedError
from vcgym.leaderboard.submissions.onnx_session import decide, open_session

MEMORY_BYTES, PROCESSOR_S, WAIT_S = 3 << 30, 30, 120


def tried(path: Path, model: bytes, paths: Iterable[int]) -> None:
    """Run `model` in a process of its own, once for each number of paths.

    Raises:
        RefusedError: it cannot be loaded, has other inputs or outputs, gives values that are not finite, or needs more than is allowed.
    """
    command = [sys.executable, "-m", __name__, *map(str, sorted(set(paths)))]
    allowed = f"a model as docs/submissions.md says, within {MEMORY_BYTES >> 30} GiB and {PROCESSOR_S} s"
    try:
        done = subprocess.run(
            command, input=model, capture_output=True, timeout=WAIT_S, check=False,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise RefusedError(path, f"a trial run took more than {WAIT_S} s", allowed) from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {done.returncode}"]
        raise RefusedError(path, f"a trial run failed: {ascii(lines[-1])[1:-1][:400]}", allowed)


def _main() -> None:
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, PROCESSOR_S), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    session = open_session(sys.stdin.buffer.read())
    for paths in map(int, sys.argv[1:]):
        decide(session, np.zeros((paths, PATH_WIDTH), np.float32), np.zeros(CALL_WIDTH, np.float32))


if __name__ == "__main__":
    _main()
