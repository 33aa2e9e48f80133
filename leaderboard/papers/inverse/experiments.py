"""The ablation as experiments, the evidence for causes of verdicts (`vcgym.leaderboard.papers.causes`)."""

from collections.abc import Iterator

from vcgym.leaderboard.papers.causes import OUT_OF_REACH, Experiment
from vcgym.leaderboard.papers.inverse.assumptions import DECLARED
from vcgym.leaderboard.papers.inverse.page import changed, value_text
from vcgym.leaderboard.papers.inverse.results import Inverse
from vcgym.leaderboard.papers.inverse.trial import judged_statements


def experiments(found: Inverse) -> Iterator[Experiment]:
    """Yield the experiment for each statement that does not hold under the defaults."""
    by_id = {one.id: one for one in judged_statements()}
    for row in found.ablation:
        value = value_text(by_id[row.statement], row.after)
        if row.changes:
            causes = tuple(dict.fromkeys(DECLARED[name].cause for name in row.changes))
            yield Experiment(statement=row.statement, causes=causes, changed=f"mode paper with {changed(row.changes)}", found=value)
        else:
            name = f"none of {found.budget.tried} combinations of assumptions"
            yield Experiment(statement=row.statement, causes=(OUT_OF_REACH,), changed=name, found=f"{value} in mode paper")
