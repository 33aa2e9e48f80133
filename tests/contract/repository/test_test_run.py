"""All tests are run: `make test` covers every folder, `.ci/run` what it deselects; each has a time limit. Campaigns can be imported."""

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import campaigns
import pytest

ROOT = Path(__file__).parents[3]
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]


def test_make_test_covers_every_folder_once():
    named = (ROOT / "Makefile").read_text().partition("PARTS :=")[2].partition("\n\n")[0]
    parts = [ROOT / "tests" / name for name in re.findall(r"[\w/]+", named)]
    whole = ROOT / "tests" / "end_to_end"  # all `long` but for its commands
    for path in (ROOT / "tests").rglob("test_*.py"):
        is_long = path.is_relative_to(whole) and not path.is_relative_to(whole / "commands")
        assert sum(path.is_relative_to(part) for part in parts) == (0 if is_long else 1), path


@pytest.mark.long  # collects what imports all that trains
def test_whole_commands_are_all_of_the_long_rest():
    command = [sys.executable, "-m", "pytest", "tests/end_to_end", "--ignore=tests/end_to_end/commands", "--collect-only", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout


def test_the_long_rest_is_run_elsewhere():
    ran = (ROOT / ".ci" / "run").read_text()
    deselected = re.findall(r"not (\w+)", OPTIONS["addopts"][-1])
    assert {mark.partition(":")[0] for mark in OPTIONS["markers"]} == set(deselected)
    for mark in deselected:
        assert f"marked {mark}" in ran or f"-m {mark}" in ran, mark


def test_a_test_that_hangs_fails_with_its_stack_and_the_run_goes_on(tmp_path):
    (tmp_path / "test_it.py").write_text("import time\n\ndef test_hangs():\n    time.sleep(600)\n\ndef test_goes_on():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "--timeout=1", f"--timeout-method={OPTIONS['timeout_method']}", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    assert "time.sleep(600)" in done.stdout and "Timeout" in done.stdout
    assert 0 < OPTIONS["timeout"] < OPTIONS["faulthandler_timeout"] and OPTIONS["faulthandler_exit_on_timeout"]


def test_campaigns_import_what_is_there():
    names = [module.name for module in pkgutil.walk_packages(campaigns.__path__, "campaigns.") if not module.name.endswith("__main__")]
    assert len(names) > 10
    for name in names:
        importlib.import_module(name)
