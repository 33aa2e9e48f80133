"""Run campaigns by name: `python -m campaigns --scale small importers`; status 1 if a case failed."""

import argparse
import importlib
import pkgutil
import sys
import tempfile
import time
from pathlib import Path

import campaigns
from campaigns import SCALES, save, table

OUTPUT = Path("outputs/campaigns").absolute()  # some campaigns change the working folder


def _names():
    """Return the names of all campaigns: the modules that have a function `run`."""
    found = (module.name for module in pkgutil.iter_modules(campaigns.__path__) if not module.name.startswith("_"))
    return [name for name in found if hasattr(importlib.import_module(f"campaigns.{name}"), "run")]


def main():
    parser = argparse.ArgumentParser(prog="campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", help="all if none")
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0])
    asked = parser.parse_args()
    failed = 0
    for name in asked.names or _names():
        began = time.monotonic()
        cases = []
        with tempfile.TemporaryDirectory(prefix=f"vcgym-{name}-") as folder:
            for case in importlib.import_module(f"campaigns.{name}").run(asked.scale, Path(folder)):
                cases.append(case)
                print(case, file=sys.stderr, flush=True)
                save(cases, OUTPUT / f"{name}-{asked.scale}.json")  # so that a campaign that is ended leaves what it has found
        wrong = sum(not case.held for case in cases)
        failed += wrong
        took_s = time.monotonic() - began
        print(f"## {name} ({asked.scale}): {len(cases)} cases, {wrong} did not hold, {took_s:.0f} s\n\n{table(cases)}\n", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
