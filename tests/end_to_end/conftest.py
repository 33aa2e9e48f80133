"""Whole commands in processes of their own, trainings and boards: all but the start and the refusals of commands carry the mark `long`."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
OTHERS = {"data", "browser", "namespaces", "listening", "realtime"}
QUICK = {HERE / "commands" / name for name in ("test_program.py", "test_typing_errors.py")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE) and item.path not in QUICK and not OTHERS & {mark.name for mark in item.iter_markers()}:
            item.add_marker(pytest.mark.long)
