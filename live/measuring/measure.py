"""Measurement of delays between hosts that run relays, or of the paths of a session, as traces with cards.

Between hosts no clock but this machine's is read. In each slot a probe goes to every host A and back, time T(A), and one over every ordered
pair A, B and back, time T(A, B). The one-way delay from A to B is T(A, B) - (T(A) + T(B)) / 2: the ways between this machine and the hosts
count half of their round trips. Its error is half the difference of the two directions of these ways; it is zero for the hosts' own
machine, and does not depend on the way between A and B. Each relay's own time (docs/live.md) adds to the result.

The paths of a session are measured one way: its receiver's address must be on this machine, or on one with the same clock.
"""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.live.call.stats import OnSlot, unseen
from vcgym.live.measuring.prober import Prober
from vcgym.live.protocol.nodes import NEVER_US, open_socket, serve, unix_us
from vcgym.live.protocol.session import Session, address_of, hop_of
from vcgym.live.protocol.wire import Address
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.traces.cards import Card
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import ENDING, write_trace

LEAD_US = 500_000


class MeasuredDelays(NamedTuple):
    """Measured delays.

    Attributes:
        names: name of each series.
        delay_us: int64 (series, slots), one-way delay, or LOST.
        described: method, for the cards.
    """

    names: list[str]
    delay_us: NDArray[np.int64]
    described: str


def measure_pairs(
    secret: bytes, hosts: Sequence[Address], slots: int, first_session: int, host: str = "127.0.0.1", on_slot: OnSlot = unseen
) -> MeasuredDelays:  # fmt: skip
    """Probe every ordered pair of two or more hosts in every slot; `host` is this machine's address as the hosts see it."""
    alone, pairs = [(a,) for a in range(len(hosts))], list(permutations(range(len(hosts)), 2))
    found_us = _probed(secret, [[hosts[n] for n in via] for via in (*alone, *pairs)], slots, first_session, (host, 0), on_slot)
    own_us, over_us = np.array([_held(row) for row in found_us[: len(hosts)]]), found_us[len(hosts) :]
    a, b = np.array(pairs).T
    known = (over_us != LOST) & (own_us[a] != LOST) & (own_us[b] != LOST)
    delay_us = np.where(known, np.maximum(over_us - (own_us[a] + own_us[b]) // 2, 0), LOST)
    names = [f"{hop_of(hosts[i])}-{hop_of(hosts[j])}".replace(":", "_") for i, j in pairs]
    return MeasuredDelays(names, delay_us, "one-way delay as a difference of round trips; ways to the probing machine count half of theirs")


def measure_session(secret: bytes, session: Session, first_session: int, on_slot: OnSlot = unseen) -> MeasuredDelays:
    """Probe every path of a session in every slot of its length, one way; its receiver must not run."""
    end = address_of(session.media[0][-1])
    paths = [[address_of(hop) for hop in hops[:-1]] for hops in session.media]
    delay_us = _probed(secret, paths, session.packets, first_session, end, on_slot)
    names = [f"path-{path:03d}" for path in range(len(paths))]
    return MeasuredDelays(names, delay_us, "one-way delay; sender and receiver have one clock")


def write_traces(measured: MeasuredDelays, folder: Path, name: str) -> list[Path]:
    """Write a trace with a card for each series on which anything arrived, as `scenario=replay traces=FOLDER` reads them.

    Raises:
        DataError: a file exists.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sent_us, files = np.arange(measured.delay_us.shape[1]) * SLOT_US, []
    for series, delay_us in zip(measured.names, measured.delay_us, strict=True):
        if (delay_us != LOST).any():
            card = Card(
                name=series, description=f"{name}: {measured.described}", source="vcgym-measure, a probe per 10 ms over UDP",
                licence="not stated", sha256="0" * 64, kind="measured", units="milliseconds",
            )  # fmt: skip
            files.append(folder / f"{series}{ENDING}")
            write_trace(Trace(series, sent_us, delay_us, card, round_trip=False), files[-1])
    return files


def _probed(
    secret: bytes, vias: Sequence[Sequence[Address]], slots: int, first_session: int, end: Address, on_slot: OnSlot
) -> NDArray[np.int64]:  # fmt: skip
    """Return the delays (routes, slots) of routes over `vias` that end here; port 0 of `end` is chosen by the system."""
    with open_socket(*end) as opened:
        own = opened.getsockname()
        prober = Prober(secret, [[*via, own] for via in vias], first_session, slots, unix_us() + LEAD_US)

        def done() -> bool:
            on_slot(prober.slot)
            return prober.due_us == NEVER_US

        serve([(opened, prober)], done)
    return prober.delay_us


def _held(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a series in which a lost value is the last known one, LOST before the first."""
    last = np.maximum.accumulate(np.where(row != LOST, np.arange(len(row)), -1))
    return np.where(last >= 0, row[last], LOST)
