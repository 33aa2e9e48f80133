"""Write data/ladder.csv and the table of docs/train.md from data/zoo_references.csv: ``python -m lab.shipped.ladder``.

The worlds of the references are sampled again for their kinds: those of a bottleneck, or strata of paths. Intervals are Student's, over the
differences to the best published rule world by world.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from io import StringIO

import numpy as np
from numpy.typing import NDArray

from lab.shipped.board import HOME, write_block
from lab.shipped.zoo_references import PATHS, link_of
from vcgym.envs import name_of
from vcgym.leaderboard.report.ladder import ALL, Rung, ladder_path
from vcgym.leaderboard.report.table import markdown_table
from vcgym.network.traces.card_file import replace_with_card
from vcgym.scripts.zoo.page import normalised, of_seeds
from vcgym.scripts.zoo.runs import ROLES, Reference, read_references, references_path
from vcgym.scripts.zoo.scoring import SENDERS

PAGE = "docs/train.md"
DIGITS = {"Rate": 3, "Send": 3, "SendOrder": 0}  # 2 of other names


def rungs(references: Sequence[Reference]) -> Iterator[Rung]:
    """Yield a row for each reference and kind of worlds, all first."""
    published = {one.env: np.array(one.scores) for one in references if one.role == "published"}
    for one in references:
        scores, kinds = np.array(one.scores), kinds_of(one.env, len(one.scores))
        for kind in (ALL, *np.unique(kinds).tolist()):
            at = (kinds == kind) | (kind == ALL)
            above = of_seeds(scores[at] - published[one.env][at])
            yield Rung(one.env, kind, one.role, one.name, int(at.sum()), float(scores[at].mean()), *above)


def kinds_of(env: str, worlds: int) -> NDArray[np.str_]:
    """Return the kind of each of the first validation worlds of an environment."""
    scenario = SENDERS.get(name_of(env))
    return np.array(
        [link_of(scenario, seed).name if scenario else PATHS.draw("validation", seed).stratum for seed in range(worlds)]
    )  # fmt: skip


def csv_text(rows: Sequence[Rung]) -> str:
    """Return the file as text."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(Rung._fields)
    table.writerows((*row[:5], *(f"{value:.4f}" for value in row[5:])) for row in rows)
    return text.getvalue()


def block(rows: Sequence[Rung]) -> str:
    """Return the table of the page: a row for each step, and in it the mean over all worlds of each environment, with its score."""
    every = [row for row in rows if row.kind == ALL]
    levels, envs = {(row.env, row.role): row.mean for row in every}, list(dict.fromkeys(row.env for row in every))

    def cell(env: str, role: str) -> str:
        mean = levels.get((env, role), math.nan)
        score = normalised(mean, env, levels)
        return f"{mean:,.{DIGITS.get(name_of(env), 2)}f} ({score:.0f})" if math.isfinite(mean) else ""

    return markdown_table(
        ["step", *(env.removeprefix("vcgym/") for env in envs)], ([role, *(cell(env, role) for env in envs)] for role in ROLES)
    )


def main() -> None:
    """Write file, card and page."""
    rows = list(rungs(read_references(references_path())))
    description = "Mean scores of rules, learned and told controllers and bounds, by environment and kind of worlds"
    source = "simulated worlds of the validation split, made by python -m lab.shipped.ladder"
    replace_with_card(ladder_path(), csv_text(rows).encode(), description, source, "as in data/zoo_references.csv")
    write_block(HOME / PAGE, "ladder", block(rows))
    print(f"{ladder_path()}: {len(rows)} rows")


if __name__ == "__main__":
    main()
