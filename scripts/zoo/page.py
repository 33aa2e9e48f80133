"""The page of the zoo: the table of all trainings so far, and its picture beside it."""

from pathlib import Path

from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.zoo.picture import draw
from vcgym.scripts.zoo.references import means, read_references, references_path
from vcgym.scripts.zoo.runs import Curves, planned_for
from vcgym.scripts.zoo.table import markdown, with_table


def write_page(page: Path, runs: Curves, decisions: int, worlds: int) -> None:
    """Write the table of a page anew, and pictures/zoo.png in its folder; nothing if no training was planned for `decisions`.

    Args:
        page: the page, whose other words stay.
        runs: all trainings so far; those planned for other numbers of decisions have tables of their own.
        decisions: planned decisions at which the trainings are compared and drawn.
        worlds: validation worlds of the scores.
    """
    curves, references = planned_for(runs, decisions), read_references(references_path())
    if not curves:
        return
    levels = means(references, worlds)
    table = markdown(runs, decisions, levels, {(one.env, one.role): one.name for one in references})
    text = page.read_text(encoding="utf-8") if page.is_file() else "# The zoo\n"
    replace_file(page, with_table(text, table).encode())
    draw(curves, levels, page.parent / "pictures" / "zoo.png")
