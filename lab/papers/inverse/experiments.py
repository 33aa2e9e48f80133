"""The ablation as experiments, the evidence for causes of verdicts (`lab.papers.causes`)."""

from collections.abc import Iterator

from lab.papers.causes import OUT_OF_REACH, Experiment
from lab.papers.inverse.assumptions import DECLARED
from lab.papers.inverse.page import changed, value_text
from lab.papers.inverse.results import Inverse
from lab.papers.inverse.trial import judged_statements
from lab.papers.vcroute.statements import LATE_LEARNS


def experiments(found: Inverse) -> Iterator[Experiment]:
    """Yield the experiment for each statement that does not hold, as WMJitter is printed or if late packets teach."""
    by_id = {one.id: one for one in judged_statements()}
    for reading, row in (*(("", row) for row in found.ablation), *((LATE_LEARNS, row) for row in found.late)):
        name, value = f"{row.statement}{reading}", value_text(by_id[row.statement], row.after)
        if row.changes:
            causes = tuple(dict.fromkeys(DECLARED[field].cause for field in row.changes))
            yield Experiment(statement=name, causes=causes, changed=f"mode paper with {changed(row.changes)}", found=value)
        else:
            tried = f"none of {found.budget.late if reading else found.budget.tried} combinations of assumptions"
            yield Experiment(statement=name, causes=(OUT_OF_REACH,), changed=tried, found=f"{value} in mode paper")
