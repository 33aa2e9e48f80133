"""Code of a registered agent of an algorithm of Stable-Baselines3: MLflow runs this file, which loads the zip in its folder."""

from typing import Any

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from vcgym.agents.evaluation.own_policy import OwnPolicy, load_own


class ServedOwn(PythonModel):
    """MLflow model from features of observations (sessions, features) to actions, each as the first of a call."""

    def load_context(self, context: Any) -> None:
        self.agent = OwnPolicy(load_own(context.artifacts["agent.zip"]))

    def predict(self, context: Any, model_input: np.ndarray, params: Any = None) -> Any:  # mlflow uses the signature, not type hints
        return self.agent.predict(np.asarray(model_input))[0]


set_model(ServedOwn())
