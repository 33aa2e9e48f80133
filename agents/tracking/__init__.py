"""Tracking of runs and models in MLflow, which reads these variables when any module of the folder first imports it."""

import os

# Tracking sends data only to its own database.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# Commands print their own output alone.
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
# Give up a dead server within seconds, not minutes: MLflow's defaults are 7 tries of 120 s.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
