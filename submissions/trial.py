"""Trial of a submission in a separate process with bounded memory and time, which contains crashes and excessive memory.

The submission decides in sequence, with its state, on the observations of a call on each part of the suite. The calls are played here
with random actions, so that observations cover more than one policy would see; the process gets only the observations.

``python -m vcgym.submissions.trial FOLDER OBSERVATIONS`` is that process. The system bounds memory on Linux, and CPU time
everywhere.
"""

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.envs.environments.vector.actions import LEVELS
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.kinds.sender import SENDER
from vcgym.leaderboard.evaluation.own.bandwidth_model import BandwidthModel
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import LOGGED_FORM, LocalAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.traces.refusal import shown

MEMORY_BYTES, PROCESSOR_S, WAIT_S = 3 << 30, 60, 180

Observed = Mapping[str, NDArray[np.float32]]
"""Observations (calls, decisions, features): on scenarios with the same number of paths, by that number; over a bottleneck by its kind."""

_RATES_BPS = 50_000, 4_000_000


class _Wanderer:
    """Policy that takes random actions and records its observations."""

    reads = "features"

    def __init__(self, low: Sequence[int], past: Sequence[int]) -> None:
        self._low, self._past, self._rng, self.seen = low, past, np.random.default_rng(0), list[NDArray[np.float32]]()

    def predict(
        self, observation: Any, state: Any = None, episode_start: NDArray[np.bool_] | None = None, deterministic: bool = False
    ) -> tuple[NDArray[Any], Any]:
        """Return random actions and record the observation."""
        self.seen.append(np.array(observation, np.float32))
        return self._rng.integers(self._low, self._past, (len(observation), len(self._past))), state


def observe(suite: Suite, parts: Iterable[tuple[Part, Any]]) -> Observed:
    """Return the observations of a call on the first world of each part, and zeros for each number of paths or kind of bottleneck.

    Over a bottleneck they are those of the Bandwidth Estimation Challenge. A suite whose calls no submission plays has none.
    """
    seen: dict[str, list[NDArray[np.float32]]] = {}
    kind = suite.kind
    for part, scenario in parts if kind in _WANDERERS else ():
        name, arguments, wanderer = _WANDERERS[kind](part, scenario)
        agent = LocalAgent(OwnPolicy(wanderer), kind.env_ids[0], arguments)
        kind.play_policy(agent, wanderer, part, scenario, kind.worlds(part, scenario)[:1])
        call = np.stack(wanderer.seen, axis=1)
        seen.setdefault(name, [np.zeros_like(call)]).append(call)
    return {name: np.concatenate(calls) for name, calls in seen.items()}


def _over_paths(part: Part, scenario: Any) -> tuple[str, tuple[tuple[str, Any], ...], _Wanderer]:
    return str(scenario.paths), tuple(LOGGED_FORM.items()), _Wanderer((0, 0), (scenario.paths, LEVELS))


def _over_a_bottleneck(part: Part, scenario: Any) -> tuple[str, tuple[tuple[str, Any], ...], _Wanderer]:
    return str(part.stratum), tuple(BandwidthModel.options.items()), _Wanderer((_RATES_BPS[0], 0, 0), (_RATES_BPS[1], 1, 1))


_WANDERERS = {PATHS: _over_paths, SENDER: _over_a_bottleneck}


def try_submission(weights: Path, files: Iterable[tuple[str, bytes]], observed: Observed) -> None:
    """Let a submission decide on observations in a separate process.

    Args:
        weights: path of the weights for error messages.
        files: name and content of the submission's files.
        observed: result of `observe`.

    Raises:
        RefusedError: it cannot be loaded, has wrong inputs or outputs, returns non-finite values, or exceeds the limits.
    """
    allowed = f"weights that decide on every observation within {MEMORY_BYTES >> 30} GiB and {PROCESSOR_S} s"
    with TemporaryDirectory(prefix="vcgym-trial-") as home:
        folder, observations = Path(home) / "submission", Path(home) / "observations"
        folder.mkdir()
        for name, content in files:
            (folder / name).write_bytes(content)
        save_file(dict(observed), observations)
        command = [sys.executable, "-m", __name__, str(folder), str(observations)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_S, check=False, env=environment)
        except subprocess.TimeoutExpired as error:
            raise RefusedError(weights, f"a trial call took more than {WAIT_S} s", allowed) from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {done.returncode}"]
        raise RefusedError(weights, f"a trial call failed: {shown(lines[-1], 200)[1:-1]}", allowed)


def _main() -> None:
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, PROCESSOR_S), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
    from vcgym.submissions.load import read  # imported after the limits are set

    policy = read(Path(sys.argv[1])).policy
    for calls in load_file(sys.argv[2]).values():
        state = None
        for decision in range(calls.shape[1]):
            _, state = policy.predict(calls[:, decision], state)


if __name__ == "__main__":
    _main()
