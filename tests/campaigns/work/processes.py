"""Processes of a campaign, each in its own session, so that a kill also ends its children."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from campaigns.work.pieces import FINAL

TESTS = Path(__file__).parents[2]


def start(name, folder, output=subprocess.DEVNULL, cwd=None, **environment):
    """Start a piece of work in `folder`, tracked in `cwd` or there."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])}
    variables.pop("MLFLOW_TRACKING_URI", None)
    command = [sys.executable, "-m", "campaigns.work.pieces", name, str(folder)]
    return subprocess.Popen(command, cwd=cwd or folder, env=variables | environment, stdout=output, stderr=output, start_new_session=True)


def kill(process, number=signal.SIGKILL):
    """Send a signal to a process and its children, and wait for its end."""
    os.killpg(process.pid, number)
    process.wait()


def finish(name, folder, **how):
    """Run a piece of work to its end; return its status and seconds."""
    began = time.monotonic()
    status = start(name, folder, **how).wait()
    return status, time.monotonic() - began


def logged(name, folder, log, **environment):
    """Run a piece of work to its end with its output in a file; return its status."""
    with log.open("wb") as output:
        return start(name, folder, output, **environment).wait()


def message(log, folder):
    """Return the error message of a piece of work (its last line, unless that is progress), and say so if it was a traceback."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "compiled code" in line or "vcgym-" in line or "Error" in line or "Interrupt" in line]
    said = telling[-1].replace(str(folder), "PLACE").replace(str(folder.with_name("disk")), "PLACE")[:200] if telling else ""
    return f"traceback, {said}" if any(line.startswith("Traceback") for line in lines) else said


def results(name, folder):
    """Return the hash of every result of a piece of work, by path."""
    files = sorted(path for pattern in FINAL[name] for path in folder.glob(pattern) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
