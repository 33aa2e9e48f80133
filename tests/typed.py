"""Commands as a user types them, without the measured series and the tracking server of this process, and scripts; each in its own."""

import os
import subprocess
import sys

VCGYM = "vcgym.scripts.console.program"


def attempt(cwd, *words, program=VCGYM, **environment):
    known = {name: value for name, value in os.environ.items() if name not in ("VCGYM_DATA", "MLFLOW_TRACKING_URI")}
    called = [sys.executable, "-m", program, *words]
    return subprocess.run(called, cwd=cwd, env=known | environment, capture_output=True, text=True, check=False)


def call(cwd, *words, **how):
    """Return what a command prints."""
    done = attempt(cwd, *words, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


def output_of(code, *words, cwd=None, **environment):
    """Return what a script prints; warnings are off, since numpy wraps uint64 where plain Python stands for a kernel."""
    ran = [sys.executable, "-W", "ignore", "-c", code, *words]
    done = subprocess.run(ran, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
