"""Live views of a call in the terminal: its seconds; or path, lag, delay, loss and R of the last 10 s, once a second."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from vcgym.agents.tracking.progress import progress
from vcgym.envs.call.counters import Totals, ratings_of
from vcgym.live.call.parties import Parties
from vcgym.network.kernels.slots import SLOT_US

EVERY_US = 1_000_000  # microseconds
WINDOW = 10  # views, so 10 s

OnSlot = Callable[[int], None]
"""Called with the number of slots so far, as often as you like."""


def unseen(slots: int) -> None:
    """Show nothing."""


@contextmanager
def seconds_shown(title: str, total_s: float | None = None) -> Iterator[OnSlot]:
    """Yield an `OnSlot` that shows each second of a call, or of a measurement."""
    with progress(f"{title}: seconds", None if total_s is None else round(total_s)) as report:
        shown = -1

        def on_slot(slots: int) -> None:
            nonlocal shown
            if (second := slots * SLOT_US // EVERY_US) > shown:
                shown = second
                report(second, "")

        yield on_slot


class Stats:
    """View of calls under way; call it with their parties as often as you like."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)
        self._next_s = 0.0
        self._totals: dict[int, deque[Totals]] = {}

    def __enter__(self) -> "Stats":
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.__exit__(kind, error, trace)

    def __call__(self, calls: list[Parties]) -> None:
        """Update the view if a second has passed."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + EVERY_US / 1e6
        table = Table("second", "path", "lag, ms", "delay, ms", "lost", "R, 10 s")
        for number, parties in enumerate(calls):
            listening = parties.receiver.listening
            kept = self._totals.setdefault(number, deque(maxlen=WINDOW + 1))
            kept.append(listening.totals())
            grown: dict[str, Any] = {name: getattr(kept[-1], name) - getattr(kept[0], name) for name in Totals._fields}
            delay_ms, lost = listening.last_second()
            path = str(parties.sender.paths[-1]) if parties.sender.paths else "-"
            rating = f"{float(ratings_of(Totals(**grown))[0]):.1f}"
            lag_ms = listening.level_us / 1000.0
            table.add_row(f"{listening.slot / 100:.0f}", path, f"{lag_ms:.0f}", f"{delay_ms:.0f}", f"{lost:.0%}", rating)
        self._live.update(table, refresh=True)
