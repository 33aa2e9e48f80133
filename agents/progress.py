"""How far a long piece of work is: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rich.progress
from rich.console import Console

Tell = Callable[[int, str], None]


@contextmanager
def progress(title: str, total: int) -> Iterator[Tell]:
    """Yield `tell(done, note)`, to be called with how much of `total` is done and what there is to say."""
    console = Console()
    if not console.is_terminal:
        yield lambda done, note: console.print(f"{title} {done:,}/{total:,} {note}", highlight=False, soft_wrap=True)
        return
    columns = (*rich.progress.Progress.get_default_columns(), rich.progress.TextColumn("{task.fields[note]}"))
    with rich.progress.Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total, note="")
        yield lambda done, note: bar.update(task, completed=done, note=note)
