"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rich.progress
from rich.console import Console

# Called with the number of finished steps and a note.
OnProgress = Callable[[int, str], None]


@contextmanager
def progress(title: str, total: int) -> Iterator[OnProgress]:
    """Yield `report_progress(done, note)`; call it with the number of finished steps, up to `total`, and a note."""
    console = Console()
    if not console.is_terminal:
        yield lambda done, note: console.print(f"{title} {done:,}/{total:,} {note}", highlight=False, soft_wrap=True)
        return
    columns = (*rich.progress.Progress.get_default_columns(), rich.progress.TextColumn("{task.fields[note]}"))
    with rich.progress.Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)
