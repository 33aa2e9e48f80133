"""Code of a registered agent: MLflow runs this file, which reads the published weights in its folder. Nothing is pickled."""

from pathlib import Path
from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from vcgym.agents.published.export import load_agent


class ServedAgent(PythonModel):
    """MLflow model from features of observations (sessions, features) to actions."""

    def load_context(self, context: Any) -> None:
        self.agent = load_agent(Path(context.artifacts["card.json"]).parent)

    def predict(self, context: Any, model_input: np.ndarray, params: Any = None) -> Any:  # mlflow uses the signature, not type hints
        return self.agent.predict(np.asarray(model_input))[0]


set_model(ServedAgent())
