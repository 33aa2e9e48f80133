"""Commands that moved to the laboratory, which only a checkout has. Their old names go with the next release."""

import os
import sys
from pathlib import Path

MOVED = ("train_allocator", "train_order", "train_pair", "train_rate")
_CHECKOUT = Path(__file__).resolve().parents[2]


def run_moved(command: str, arguments: list[str]) -> None:
    """Say what to type, and run that in place of this process; without a checkout, end with status 2."""
    name = command.replace("_", "-")
    sys.stderr.write(f"vcgym-{name}: now `python -m lab {name}` in a checkout of vcgym; this name goes with the next release\n")
    if not (_CHECKOUT / "lab" / "__main__.py").is_file():
        sys.exit(2)
    path = os.pathsep.join(filter(None, [str(_CHECKOUT), os.environ.get("PYTHONPATH")]))
    os.execve(sys.executable, [sys.executable, "-m", "lab", name, *arguments], os.environ | {"PYTHONPATH": path})
