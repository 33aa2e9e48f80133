"""Write data/hindsight.parquet, the oracle with score 100 on the worlds of default: ``python -m lab.shipped.hindsight``."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from lab.studies.headroom.oracle_rows import Drawn, hindsight_row
from lab.studies.headroom.run import worlds
from vcgym.leaderboard.cache import cached
from vcgym.leaderboard.play import play
from vcgym.leaderboard.results import files as results
from vcgym.network.traces.card_file import replace_with_card

SUITE = "default"
FOLDER = Path("outputs/hindsight")
THREADS = 2


def main() -> None:
    """Play the oracles and write file and card."""
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(_row, worlds(play("DRT-WM", suite=SUITE, folder=FOLDER))))
    path = Path(__file__).resolve().parents[2] / "data" / results.HINDSIGHT
    results.write(results.RESULTS, found, path)
    description = f"Row of the oracle of the anchored scores on every world of suite {SUITE}"
    source = "simulated worlds of the test split, made by python -m lab.shipped.hindsight"
    replace_with_card(path, path.read_bytes(), description, source, "as in results.parquet")
    print(f"{path}: {len(found)} rows")


def _row(world: Drawn) -> dict[str, Any]:
    """Return the row of a world from its file in `FOLDER`; compute and save it if it does not exist."""

    def make() -> pa.Table:
        return results.table(results.RESULTS, [hindsight_row(world)], "hindsight")

    return dict(cached(FOLDER / "worlds", (world.identity,), make).to_pylist()[0])


if __name__ == "__main__":
    main()
