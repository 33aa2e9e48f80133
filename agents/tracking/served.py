"""Code of every registered model: MLflow runs this file, which reads a model's files by their names. Only a library's zip is pickled.

| model | inputs | outputs |
|---|---|---|
| agent, or agent of a library | features of observations (sessions, features) | actions; a library's each as the first of a call |
| predictor | columns transmit_delay_ms and jitter_ms | end-to-end delays in ms |
| learned pair | history (paths, 3), records (records, 8) | path and lag_us (records,), see `_pair` |
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from vcgym.baselines.zoo import CARD, LEARNED


class ServedModel(PythonModel):
    """MLflow model of a predictor, an agent or a learned pair."""

    _skip_type_hint_validation = True  # registry.py gives the signature; mlflow would look for one in type hints, and warn

    def load_context(self, context: Any) -> None:
        files = {name: Path(path) for name, path in context.artifacts.items()}
        makers = {"agent.zip": _library, "card.json": _agent, "predictor.json": _predictor, f"{LEARNED}{CARD}": _pair}
        self.answer = next(make(files[name]) for name, make in makers.items() if name in files)

    def predict(self, context, model_input, params=None):
        return self.answer(model_input)


def _library(file: Path) -> Callable[[Any], Any]:
    from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own

    agent = OwnPolicy(load_own(str(file)))
    return lambda features: agent.predict(np.asarray(features))[0]


def _agent(file: Path) -> Callable[[Any], Any]:
    from vcgym.agents.published.export import load_agent

    agent = load_agent(file.parent)
    return lambda features: agent.predict(np.asarray(features))[0]


def _predictor(file: Path) -> Callable[[Any], Any]:
    from vcgym.predictors.predictor import predict_each
    from vcgym.predictors.published import load_network

    network = load_network(file.parent)
    return lambda columns: predict_each(network, *(np.asarray(columns[name]) for name in ("transmit_delay_ms", "jitter_ms")))


def _pair(file: Path) -> Callable[[Any], Any]:
    """Return the function from the records of one call to the pair's decision after each record.

    Inputs: `history` (paths, 3), samples, mean and standard deviation (ms) of each path; `records` (records, 8), the fields of
    `vcgym.baselines.records.Record`, in order. Outputs: `path` (records,), decided when the record is known centrally; `lag_us`
    (records,), decided when it has arrived.
    """
    from vcgym.baselines.records import Record
    from vcgym.baselines.systems import learned_system

    system = learned_system(file.parent, LEARNED)

    def answer(columns: Any) -> dict[str, Any]:
        history, records = columns["history"], columns["records"]
        paths = len(history)
        taken = records[:, Record._fields.index("path")]
        if ((taken < 0) | (taken >= paths)).any():
            raise ValueError(f"records have paths {taken.min()} to {taken.max()}; allowed: 0 to {paths - 1}, the rows of history")
        return {
            "path": _decisions(system.path, history, records, "known_us"),
            "lag_us": _decisions(system.playout, history, records, "arrived_us"),
        }

    return answer


def _decisions(rule: Any, history: Any, records: Any, at: str) -> Any:
    """Return the decision of a rule after each record, at the instant that the field `at` names."""
    from vcgym.baselines.records import Record
    from vcgym.baselines.rule import allocate, decide, start, update

    state = allocate(rule, 1, len(history))
    start(rule, state, np.ones(1, np.bool_), history[None], np.zeros(1, np.uint64))
    decided = []
    for row in records.tolist():
        record = Record(*row)
        update(rule, state, 0, record)
        decided.append(decide(rule, state, 0, getattr(record, at)))
    return np.array(decided, np.int64)


set_model(ServedModel())
