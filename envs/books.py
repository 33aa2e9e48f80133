"""The books of a call: totals of both accountings, 10-second windows, rewards since the last decision, and the log of each packet."""

import numpy as np

from vcgym.network import player as players
from vcgym.network.jit import kernel
from vcgym.network.quality import delay_impairment_reduced, tick_reward

WINDOW_TICKS = 1000  # 10 s
LONG_RUN_TICKS = 6  # concealment beyond 60 ms swallows a syllable
NOT_LOGGED = -1

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
        ("conceal_runs", "i8"),
        ("conceal_longest_ticks", "i8"),
        ("conceal_runs_long", "i8"),
        ("running_conceal_ticks", "i8"),
        ("last_path", "i8"),
        ("impairment_sum", "f8"),
        ("reward_emodel", "f8"),  # since the last decision
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
    books.impairment_sum = 0.0
    books.reward_emodel = 0.0
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
    """One tick of the player, as `vcgym.network.player.tick` reports it."""
    if kind == players.ENDED:
        return
    if kind == players.SILENT:
        books.ticks_silent += 1
        return
    window = min((books.ticks_played + books.ticks_stretched + books.ticks_concealed) // WINDOW_TICKS, windows.shape[1] - 1)
    concealed = 1 if kind == players.CONCEALED else 0
    if concealed == 1:
        books.ticks_concealed += 1
        books.running_conceal_ticks += 1
        if books.running_conceal_ticks == 1:
            books.conceal_runs += 1
        if books.running_conceal_ticks == LONG_RUN_TICKS + 1:
            books.conceal_runs_long += 1
        books.conceal_longest_ticks = max(books.conceal_longest_ticks, books.running_conceal_ticks)
    else:
        books.running_conceal_ticks = 0
        if kind == players.STRETCHED:
            books.ticks_stretched += 1
        else:
            books.ticks_played += 1
            if unit < log.shape[1]:
                log[s, unit].played_us = at_us
                if kind == players.FAST:
                    log[s, unit + 1].played_us = at_us
    books.offset_us_sum += offset_us
    books.impairment_sum += delay_impairment_reduced(offset_us / 1000.0)
    books.reward_emodel += tick_reward(offset_us, concealed)
    windows[s, window, 0] += 1
    windows[s, window, 1] += concealed
    windows[s, window, 2] += offset_us
