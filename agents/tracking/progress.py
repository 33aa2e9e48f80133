"""Progress of long work: a bar on a terminal; elsewhere plain lines, the first, the last, and one in ten seconds between them."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rich.progress
from rich.console import Console
from rich.markup import escape

# Called with the number of finished steps and a note.
OnProgress = Callable[[int, str], None]

BEFORE = "before this run"
"""Note of the first report of work that goes on after a kill."""
LINE_EVERY_S = 10.0


@contextmanager
def progress(title: str, total: int | None) -> Iterator[OnProgress]:
    """Yield `report_progress(done, note)`; call it with the number of finished steps, up to `total` if it is known, and a note."""
    console = Console(emoji=False)
    if not console.is_terminal:
        lines = _Lines(console, title, "" if total is None else f"/{total:,}")
        try:
            yield lines.report
        finally:
            lines.print()
        return
    bar, percent, left = rich.progress.Progress.get_default_columns()[1:]
    columns = "[progress.description]{task.description}", bar, percent, rich.progress.TimeElapsedColumn(), left, "{task.fields[note]}"
    with rich.progress.Progress(*columns, console=console, refresh_per_second=2) as bars:
        task = bars.add_task(title, total=total, note="")
        yield lambda done, note: bars.update(task, completed=done, note=escape(note))


def unseen(done: int, note: str) -> None:
    """Show nothing."""


class _Lines:
    """Reports as lines of text; one that came too soon after another waits for the end, or for the next."""

    def __init__(self, console: Console, title: str, of: str) -> None:
        self._console, self._title, self._of = console, title, of
        self._waiting, self._next_s = "", 0.0

    def report(self, done: int, note: str) -> None:
        self._waiting = f"{self._title} {done:,}{self._of} {note}".rstrip()
        if time.monotonic() >= self._next_s:
            self.print()

    def print(self) -> None:
        if self._waiting:
            self._console.print(self._waiting, highlight=False, markup=False, soft_wrap=True)
            self._waiting, self._next_s = "", time.monotonic() + LINE_EVERY_S
