"""Play every tuned system on the validation worlds of suites and write data/bars.json: ``python -m lab.shipped.bars [suites]``.

Suites that are not named keep their bars. Measured worlds need the environment variable VCGYM_DATA.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vcgym.baselines.systems import tuning_trials
from vcgym.leaderboard.evaluation.bars import FILE, load_bars
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import SUITES, Suite
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.board import board_name
from vcgym.leaderboard.statistics.paired import pair_worlds, sample
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.plain_file import replace_file

FOLDER = Path("outputs/bars")


def main() -> None:
    """Play the tuned systems, choose the bars and write the file."""
    before = load_bars()
    metric, validation = dict(before.metric), dict(before.validation)
    for key in sys.argv[1:] or SUITES:
        suite = SUITES[key]
        name = f"{suite.name}-{suite.version}"
        metric[name], validation[name] = suite.columns.ranked_by, _means(suite)
        print(name, body_of(metric, validation)["bars"][name], flush=True)
    body = body_of(metric, validation)
    card = {
        "name": "bars",
        "description": "The tuned system that systems are compared with on each board, and the means of all tuned systems that chose it",
        "source": "simulated worlds of the validation split of each suite, made by python -m lab.shipped.bars",
        "licence": "MIT",
        "sha256": canonical_sha256(body),
        "kind": "fitted",
        "units": "those of the metric that a suite ranks by",
    }
    replace_file(Path(__file__).resolve().parents[2] / "data" / FILE, (json.dumps({"card": card, **body}, indent=1) + "\n").encode())


def _means(suite: Suite) -> dict[str, dict[str, float]]:
    """Return per board the mean ranked metric of each tuned system over the validation worlds in which all have one."""
    tuned = [name for name in systems_of(suite) if tuning_trials(name)]
    if not tuned:
        return {}
    rows = play(*tuned, suite=validation_suite(suite), folder=FOLDER)
    boards = pa.array(map(board_name, rows["mode"].to_pylist(), rows["stratum"].to_pylist()))
    return {board: _of_board(rows.filter(pc.equal(boards, board)), suite.columns.ranked_by) for board in sorted(set(boards.to_pylist()))}


def _of_board(rows: pa.Table, metric: str) -> dict[str, float]:
    paired = pair_worlds(rows)
    means = sample(paired, metric).values.mean(axis=-1)
    return {name: round(float(mean), 4) for name, mean in zip(paired.systems, means, strict=True)}


def validation_suite(suite: Suite) -> Suite:
    """Return the suite with worlds sampled from the validation split."""
    return suite._replace(parts=tuple(part._replace(split="validation") for part in suite.parts))


def body_of(metric: dict[str, str], validation: dict[str, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return the content of the file without its card; the best system of each board becomes the bar."""
    ordered = {
        suite: {board: dict(sorted(means.items(), key=lambda item: (-item[1], item[0]))) for board, means in boards.items()}
        for suite, boards in validation.items()
    }
    bars = {suite: {board: next(iter(means)) for board, means in boards.items()} for suite, boards in ordered.items()}
    return {"metric": metric, "bars": bars, "validation": ordered}


if __name__ == "__main__":
    main()
