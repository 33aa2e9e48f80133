"""Records that reach a location, in order of arrival there, and commands that leave it.

A feed is a ring of records (`vcgym.baselines.records.Record`, one int64 row each). All records leave the receiver and take the same time to
the location, so they arrive there in order of arrival at the receiver. No record is ever dropped: a full ring is an error. Commands take a
constant time to their destination; a ring holds those in flight.
"""

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.records import Record, read_record, write_record
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

RECORDS = 1024  # powers of two
COMMANDS_UNDER_WAY = 512
RECORD_FIELDS = len(Record._fields)
KNOWN = Record._fields.index("known_us")


@record
class Feed:
    """Records on their way to a location."""

    written: int = 0
    read: int = 0
    delay_us: int = 0  # from the receiver to the location
    rows: NDArray[np.int64] = np.zeros((RECORDS, RECORD_FIELDS), np.int64)  # record n is in row n % RECORDS


@record
class Commands:
    """Values on their way from a location."""

    written: int = 0
    read: int = 0
    latest: int = 0  # last value sent; before the first, that in force
    in_force: int = 0
    delay_us: int = 0
    effective_us: NDArray[np.int64] = np.zeros(COMMANDS_UNDER_WAY, np.int64)
    value: NDArray[np.int64] = np.zeros(COMMANDS_UNDER_WAY, np.int64)


@kernel
def append(feed, record):
    """Append a record that leaves the receiver, with `known_us` not yet set; return False if the ring is full."""
    if feed.written - feed.read >= RECORDS:
        return False
    i = feed.written & (RECORDS - 1)
    write_record(feed.rows, i, record)
    feed.rows[i, KNOWN] = record.arrived_us + feed.delay_us
    feed.written += 1
    return True


@kernel
def unread(feed, now_us):
    """Return True if an unread record has reached the location by `now_us`."""
    return feed.read < feed.written and feed.rows[feed.read & (RECORDS - 1), KNOWN] <= now_us


@kernel
def read_next(feed):
    """Return the oldest unread record and mark it as read."""
    i = feed.read & (RECORDS - 1)
    feed.read += 1
    return read_record(feed.rows, i)


@kernel
def command(commands, value, now_us):
    """Send a value unless it repeats the last one; return 0 if repeated, 1 if sent, -1 if the ring is full.

    The first decision belongs to call set-up and is in force at once.
    """
    first = commands.written == 0
    if not first and value == commands.latest:
        return 0
    if commands.written - commands.read >= COMMANDS_UNDER_WAY:
        return -1
    i = commands.written & (COMMANDS_UNDER_WAY - 1)
    commands.latest = value
    commands.effective_us[i] = now_us if first else now_us + commands.delay_us
    commands.value[i] = value
    commands.written += 1
    return 1


@kernel
def in_force(commands, now_us):
    """Return the value in force at `now_us`."""
    while commands.read < commands.written and commands.effective_us[commands.read & (COMMANDS_UNDER_WAY - 1)] <= now_us:
        commands.in_force = commands.value[commands.read & (COMMANDS_UNDER_WAY - 1)]
        commands.read += 1
    return commands.in_force
