"""Records as an observation: all that have reached the location since the last decision, one per row, in order of arrival."""

from vcgym.baselines.records import write_record
from vcgym.envs.call.paths.feed import read_next, unread
from vcgym.envs.call.paths.receiving import record_in_hand
from vcgym.envs.call.paths.state import awaits_level
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

RECORDS_SHOWN = 512


@kernel
def show_feed(calls, which, records, count):
    """Move the records at the router's location into an observation; return False if they do not fit.

    Args:
        calls: (sessions,) of CALL; their feeds are read.
        which: int64 (n,), sessions.
        records: int64 (sessions, RECORDS_SHOWN, 8), rows of `Record`, the first `count` written.
        count: int64 (sessions,), number of records, overwritten.
    """
    for s in which:
        call = calls[s]
        now_us = call.slot * SLOT_US
        count[s] = 0
        while unread(call.feed, now_us):
            if count[s] == records.shape[1]:
                return False
            write_record(records[s], count[s], read_next(call.feed))
            count[s] += 1
    return True


@kernel
def show_arrival(calls, which, receiver, records, count):
    """Write the current arrival, the only record at the receiver.

    Args:
        calls: (sessions,) of CALL; read only.
        which: int64 (n,), sessions.
        receiver: parameters of the receiver's controller, which name the buffer.
        records: int64 (sessions, RECORDS_SHOWN, 8); row 0 is written.
        count: int64 (sessions,), 1 or 0 records, overwritten.
    """
    for s in which:
        call = calls[s]
        count[s] = 0
        if awaits_level(call):
            write_record(records[s], 0, record_in_hand(call, receiver, call.packet_shift))
            count[s] = 1
