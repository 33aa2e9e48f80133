"""The books of a call: totals of the clocked accounting, 10-second windows, and the log of each packet, all of it in integers."""

import numpy as np

from vcgym.network.kernels.jit import kernel
from vcgym.network.playout import player as players
from vcgym.network.playout.quality import REDUCED_KNEE_MS

WINDOW_TICKS = 1000  # 10 s
LONG_RUN_TICKS = 6  # concealment beyond 60 ms swallows a syllable
NOT_LOGGED = -1
_KNEE_US = int(1000 * REDUCED_KNEE_MS)

BOOKS = np.dtype(
    [
        ("plans_sent", "i8"),
        ("path_changes", "i8"),
        ("probes_sent", "i8"),
        ("ticks_played", "i8"),
        ("ticks_stretched", "i8"),
        ("ticks_concealed", "i8"),
        ("ticks_silent", "i8"),
        ("offset_us_sum", "i8"),
        ("excess_us_sum", "i8"),  # of the offsets above the knee of the delay impairment
        ("conceal_runs", "i8"),
        ("conceal_longest_ticks", "i8"),
        ("conceal_runs_long", "i8"),
        ("running_conceal_ticks", "i8"),
        ("last_path", "i8"),
        ("window", "i8"),  # the 10-s window that is open, and the totals when it was opened
        ("window_ticks", "i8"),
        ("window_concealed", "i8"),
        ("window_offset_us", "i8"),
    ]
)
LOG = np.dtype((np.record, [("path", "i2"), ("arrived_us", "i8"), ("emitted_us", "i8"), ("flushed", "?"), ("played_us", "i8")]))


@kernel
def open_books(books, windows, log, s):
    """Start with empty books; `windows` (sessions, windows, 3) and `log` (sessions, packets or 0) are emptied in row `s`."""
    books.plans_sent = 0
    books.path_changes = 0
    books.probes_sent = 0
    books.ticks_played = 0
    books.ticks_stretched = 0
    books.ticks_concealed = 0
    books.ticks_silent = 0
    books.offset_us_sum = 0
    books.conceal_runs = 0
    books.conceal_longest_ticks = 0
    books.conceal_runs_long = 0
    books.running_conceal_ticks = 0
    books.last_path = -1
    books.excess_us_sum = 0
    books.window = 0
    books.window_ticks = 0
    books.window_concealed = 0
    books.window_offset_us = 0
    windows[s, :, :] = 0
    for packet in range(log.shape[1]):
        line = log[s, packet]
        line.path = NOT_LOGGED
        line.arrived_us = NOT_LOGGED
        line.emitted_us = NOT_LOGGED
        line.flushed = False
        line.played_us = NOT_LOGGED


@kernel
def book_send(books, log, s, packet, path, arrives_us):
    """A packet leaves on `path` and will arrive at `arrives_us` (NOT_LOGGED: never)."""
    if books.last_path >= 0 and path != books.last_path:
        books.path_changes += 1
    books.last_path = path
    if packet < log.shape[1]:
        log[s, packet].path = path
        log[s, packet].arrived_us = arrives_us


@kernel
def book_tick(books, windows, log, s, kind, unit, offset_us, at_us):
    """One tick of the player, as `vcgym.network.playout.player.tick` reports it."""
    if kind == players.PLAYED:
        books.ticks_played += 1
        books.running_conceal_ticks = 0
        if unit < log.shape[1]:
            log[s, unit].played_us = at_us
    elif kind == players.ENDED:
        _close_window(books, windows, s)
        return
    elif kind == players.SILENT:
        books.ticks_silent += 1
        return
    else:
        _book_other(books, log, s, kind, unit, at_us)
    books.offset_us_sum += offset_us
    books.excess_us_sum += max(0, offset_us - _KNEE_US)
    if _ticks(books) - books.window_ticks == WINDOW_TICKS and books.window < windows.shape[1] - 1:
        _close_window(books, windows, s)


@kernel
def _book_other(books, log, s, kind, unit, at_us):
    if kind == players.CONCEALED:
        books.ticks_concealed += 1
        books.running_conceal_ticks += 1
        if books.running_conceal_ticks == 1:
            books.conceal_runs += 1
        if books.running_conceal_ticks == LONG_RUN_TICKS + 1:
            books.conceal_runs_long += 1
        books.conceal_longest_ticks = max(books.conceal_longest_ticks, books.running_conceal_ticks)
        return
    books.running_conceal_ticks = 0
    if kind == players.STRETCHED:
        books.ticks_stretched += 1
        return
    books.ticks_played += 1
    if unit < log.shape[1]:
        log[s, unit].played_us = at_us
        log[s, unit + 1].played_us = at_us


@kernel
def _ticks(books):
    """Ticks so far that are not silent."""
    return books.ticks_played + books.ticks_stretched + books.ticks_concealed


@kernel
def _close_window(books, windows, s):
    windows[s, books.window, 0] = _ticks(books) - books.window_ticks
    windows[s, books.window, 1] = books.ticks_concealed - books.window_concealed
    windows[s, books.window, 2] = books.offset_us_sum - books.window_offset_us
    books.window += 1
    books.window_ticks = _ticks(books)
    books.window_concealed = books.ticks_concealed
    books.window_offset_us = books.offset_us_sum
