"""Play systems on a suite from Python: `play("VCR-WM", suite="correlated-v0")`."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.cells import cells
from vcgym.leaderboard.evaluation.evaluate import evaluate
from vcgym.leaderboard.evaluation.frozen import require_frozen_data
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.network.kernels.ranges import one_of

FOLDER = Path("outputs") / "played"


def play(
    *systems: str, suite: str | Suite = "quick-v2", named: Mapping[str, System] | None = None, folder: Path | str = FOLDER,
    threads: int = 1, workers: int = 0,
) -> pa.Table:  # fmt: skip
    """Play systems on the worlds of a suite and return their result rows, one for each system and world.

    What was played before is read from `folder`. Parts of the suite whose measured data are not there are left out.

    Args:
        *systems: names (`vcgym.baselines.systems.system_names`).
        suite: a key of `vcgym.leaderboard.evaluation.suites.SUITES`, or a suite of your own.
        named: systems of your own by name.
        folder: keeps what was played.
        threads: threads of this process that share the calls, without Ray; without effect on the rows.
        workers: 0, or the number of processes of a Ray started for it; without effect on the rows.

    Raises:
        ValueError: an unknown system or suite, or no system.
        DataError: measured data that is broken, or not that on which the suite is frozen.
    """
    players = {name: load_system(name) for name in systems} | dict(named or {})
    if not players:
        raise ValueError("systems is empty; allowed: at least one name or one system of your own")
    if isinstance(suite, str):
        one_of("suite", suite, tuple(SUITES))
        suite = SUITES[suite]
    parts = prepare(suite)
    require_frozen_data(suite, parts)
    planned = cells.plan(suite, parts, players)
    evaluate(planned, Path(folder) / cells.FOLDER, lambda done, note: None, threads, workers)
    return pa.concat_tables(cells.read(Path(folder) / cells.FOLDER / cell.file).rows for cell in planned)
