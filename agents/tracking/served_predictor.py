"""Code of a registered predictor: MLflow runs this file, which reads the published weights in its folder. Nothing is pickled."""

from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from vcgym.predictors.predictor import predict_each
from vcgym.predictors.published import load_network


class ServedPredictor(PythonModel):
    """MLflow model from the columns transmit_delay_ms and jitter_ms to end-to-end delays in ms."""

    def load_context(self, context: Any) -> None:
        self.network = load_network(Path(context.artifacts["predictor.json"]).parent)

    def predict(self, context: Any, model_input: np.ndarray, params: Any = None) -> Any:  # mlflow uses the signature, not type hints
        return predict_each(self.network, *(np.asarray(model_input[name]) for name in ("transmit_delay_ms", "jitter_ms")))


set_model(ServedPredictor())
