"""Code of a registered learned pair: MLflow runs this file, which reads the weights in its folder. Nothing is pickled."""

from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from vcgym.baselines.records import Record
from vcgym.baselines.rule import allocate, decide, start, update
from vcgym.baselines.systems import learned_system
from vcgym.baselines.zoo import CARD, LEARNED


class ServedPair(PythonModel):
    """MLflow model from the records of one call to the pair's decision after each record.

    Inputs: `history` (paths, 3), samples, mean and standard deviation (ms) of each path; `records` (records, 8), the fields of
    `vcgym.baselines.records.Record`, in order. Outputs: `path` (records,), decided when the record is known centrally; `lag_us`
    (records,), decided when it has arrived.
    """

    def load_context(self, context: Any) -> None:
        self.system = learned_system(Path(context.artifacts[f"{LEARNED}{CARD}"]).parent, LEARNED)

    def predict(self, context: Any, model_input: np.ndarray, params: Any = None) -> Any:  # mlflow uses the signature, not type hints
        history, records = model_input["history"], model_input["records"]
        paths = len(history)
        taken = records[:, Record._fields.index("path")]
        if ((taken < 0) | (taken >= paths)).any():
            raise ValueError(f"records have paths {taken.min()} to {taken.max()}; allowed: 0 to {paths - 1}, the rows of history")
        return {
            "path": _decisions(self.system.path, history, records, "known_us"),
            "lag_us": _decisions(self.system.playout, history, records, "arrived_us"),
        }


def _decisions(rule: Any, history: Any, records: Any, at: str) -> Any:
    """Return the decision of a rule after each record, at the instant that the field `at` names."""
    state = allocate(rule, 1, len(history))
    start(rule, state, np.ones(1, np.bool_), history[None], np.zeros(1, np.uint64))
    decided = []
    for row in records.tolist():
        record = Record(*row)
        update(rule, state, 0, record)
        decided.append(decide(rule, state, 0, getattr(record, at)))
    return np.array(decided, np.int64)


set_model(ServedPair())
