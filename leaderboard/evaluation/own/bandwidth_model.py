"""Models of the Bandwidth Estimation Challenge (ACM MMSys 2024) as policies of `vcgym/Rate-v1`, from a user's file.

Inputs are `obs` (1, 1, 150), `hidden_states` and `cell_states` (1, n); outputs are `output` (1, 1, m), `state_out` and `cell_out` (1, n),
all float32. The first number of `output` is the target in bit/s. The state is zero at the start of a call. The first target of a call is
the world's, because nothing has arrived yet.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vcgym.leaderboard.evaluation.own.onnx_model import checked_model, open_model
from vcgym.network.traces.plain_file import read_plain

_STATES = {"hidden_states": "state_out", "cell_states": "cell_out"}
_AXES = {"obs": 3, "output": 3} | dict.fromkeys([*_STATES, *_STATES.values()], 2)
_MAX_BYTES, _MAX_BPS = 10 << 20, 1e9  # a model of the challenge has at most 10 MB


class BandwidthModel:
    """Model of the challenge, which runs at each report; the runtime is opened at the first one.

    Attributes:
        env_id: environment of its decisions.
        options: arguments of `env_id` for the model's observation and action.

    Args:
        path: path of the ONNX file, at most 10 MiB.
        content: content of the file; None: it is read.
        steps: number of training decisions, as far as known.

    Raises:
        RefusedError: it is no allowed ONNX model.
        DataError: it is not a plain file.
    """

    env_id = "vcgym/Rate-v1"
    options: ClassVar[Mapping[str, Any]] = {"features": "intervals", "action": "exact", "interval": 1}
    reads = "features"

    def __init__(self, path: Path | str, content: bytes | None = None, steps: int = 0) -> None:
        self._path = Path(path)
        self._model = checked_model(self._path, read_plain(self._path, _MAX_BYTES) if content is None else content)
        self.training_decisions, self.parameters = steps, self._model.numbers

    @cached_property
    def _session(self) -> Any:
        try:
            return open_model(self._model.content, _AXES)
        except ModuleNotFoundError:
            raise  # the runtime is not installed, which the command says
        except Exception as error:  # errors of the runtime have no common class
            raise ValueError(f"{self._path} is no model of the challenge: {str(error).splitlines()[0]}") from error

    @cached_property
    def _start(self) -> Mapping[str, NDArray[np.float32]]:
        widths = {one.name: one.shape[-1] for one in self._session.get_inputs()}
        return {name: np.zeros((1, widths[name]), np.float32) for name in _STATES}

    def predict(
        self,
        observation: NDArray[np.float32],
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Estimate the capacity of each session.

        Args:
            observation: (sessions, 150).
            state: state returned by the previous call, one entry per session; None starts every session.
            episode_start: (sessions,) bool, sessions that start; None: none, unless `state` is None.
            deterministic: ignored.

        Returns:
            Exact actions int64 (sessions, 3), bit/s, 0, 0; and the state.

        Raises:
            ValueError: other inputs or outputs than the challenge's, or an estimate that is not finite.
        """
        starts = np.ones(len(observation), bool) if state is None else np.zeros(len(observation), bool)
        starts |= False if episode_start is None else episode_start
        actions, after = np.zeros((len(observation), 3), np.int64), []
        for s, row in enumerate(observation):
            remembered = self._start
            if not starts[s]:
                given = self._session.run(["output", *_STATES.values()], {"obs": row[None, None], **state[s]})
                bps, remembered = float(given[0][0, 0, 0]), dict(zip(_STATES, given[1:], strict=True))
                if not np.isfinite(bps):
                    raise ValueError(f"output is {bps}; allowed: finite values")
                actions[s, 0] = round(min(max(bps, 1.0), _MAX_BPS))
            after.append(remembered)
        return actions, after
