"""Simulate how often 95 % intervals contain the truth; ``python -m lab.shipped.coverage [suites]`` writes data/coverage.json."""

import json
import sys
from pathlib import Path

from vcgym.leaderboard.statistics.coverage import EQUALS, KINDS, SEEDS, simulate
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

SUITES = 1500


def main() -> None:
    """Simulate the coverage, print it and write the file."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else SUITES
    rows = []
    for seeds in SEEDS:
        rows.append(simulate(seeds, suites)._asdict())
        print(rows[-1], flush=True)
    body = {"rows": rows}
    card = {
        "name": "coverage",
        "description": f"How often 95 % intervals of the leaderboard contain the truth, by worlds of each of {KINDS} kinds, and how often "
        f"a board of {EQUALS} equal systems calls any better",
        "source": "simulation of vcgym.leaderboard.statistics.coverage, made by python -m lab.shipped.coverage",
        "licence": "MIT",
        "sha256": canonical_sha256(body),
        "kind": "synthesised",
        "units": "shares of simulated suites, 0 to 1",
    }
    path = Path(__file__).resolve().parents[2] / "data" / "coverage.json"
    replace_file(path, (json.dumps({"card": card, **body}, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
