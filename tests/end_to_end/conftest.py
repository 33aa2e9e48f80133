"""Whole commands in processes of their own, trainings and boards: all but the start and the refusals of commands carry the mark `long`."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OTHERS = {"data", "browser", "realtime"}
# Ray starts its workers with a niceness of 15, so that next to other programs a sweep of seconds takes minutes.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  (the name is Ray's)
QUICK = {HERE / "commands" / f"test_{name}.py" for name in ("laboratory", "literal_values", "program", "typing_errors", "user_configs")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE) and item.path not in QUICK and not OTHERS & {mark.name for mark in item.iter_markers()}:
            item.add_marker(pytest.mark.long)
