"""Fairness of calls that share a bottleneck: each rate rule against itself and the others, and cases of RFC 8867.

pair          two calls from the beginning, 120 s, 2 Mbit/s, 25 ms each way, a queue of 0.3 s; measured in the second half
late          the same, but the other call begins after 20 s
rfc8867-5.4   three calls of one rule, from 0, 20 and 40 s on to 119 s; 3.5 Mbit/s, 50 ms, a queue of 0.3 s; measured from 80 s on
rfc8867-5.5   five calls of one rule, ways of 10, 25, 50, 100 and 150 ms, from 0 ... 40 s on; 4 Mbit/s, 300 s; measured in the second half

Other systems are played in `pair` and `late` against themselves, against each rule and against CUBIC. CUBIC's rate is that of the whole
call: what it sent and the queue did not drop.

Jain's index of n rates is 1 if all are equal and 1 / n if one has everything.

Left out of RFC 8867's cases: the random delay variation of at most 30 ms, and the changes of the video's rate by up to 5 %.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import PACING
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccDraft, GccWebrtc
from vcgym.baselines.rate.nada.nada import Nada
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.systems import System
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.envs.call.sender.no_uplink import BY_PACKET
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.columns import interval_text
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sharing import jain
from vcgym.network.scenarios.bottleneck.rmcat import RMCAT_AUDIO, RMCAT_KBPS, RMCAT_VIDEO
from vcgym.network.traces.plain_file import replace_file

RULES = {
    "gcc_webrtc": System(GccWebrtc(), Fifo(), pacing=PACING),
    "gcc_draft": System(GccDraft(), Fifo(), pacing=PACING),
    "tfrc": System(Tfrc(), Fifo(), pacing=BY_PACKET),
    "nada": System(Nada(), Fifo(), pacing=1.0),
    "nada_xmax": System(Nada(max_signal_ms=500.0), Fifo(), pacing=1.0),
    "scream_v1": System(ScreamV1(), Fifo(), pacing=1.0),
    "scream_v2": System(ScreamV2(), Fifo(), pacing=1.5),
    "fixed": System(FixedRate(1000.0), Fifo(), pacing=PACING),
}
FIXED_KBPS = 1000.0
CUBIC = "cubic"
RUNS = 30
_QUEUE_S = 0.3
_PAIR_MS = 25.0
_LEARNED_KBPS = (300.0, 50.0, 4000.0)


class Pairing(NamedTuple):
    """Calls that share a bottleneck: the rule of the first by its name, its world, when it is measured, and the rule itself."""

    case: str
    rule: str
    against: str
    link: SharedLink
    from_s: float
    to_s: float
    sender: System


class PairingShares(NamedTuple):
    """Delivered rates and delays of a pairing; the first axis is the run."""

    bps: NDArray[np.float64]  # (runs, flows) delivered while measured
    delay_ms: NDArray[np.float64]  # (runs, flows) capture to arrival, 95th percentile; NaN for CUBIC


def pairings_of(systems: Mapping[str, System]) -> list[Pairing]:
    """Return the pairings of systems, by name, with themselves, with each rule and with CUBIC."""
    return [_pair(name, other, at_s, one) for name, one in systems.items() for other in (name, *RULES, CUBIC) for at_s in (0.0, 20.0)]


def pairings() -> list[Pairing]:
    """Return the pairings of the rules."""
    pairs = [(a, b) for i, a in enumerate(RULES) for b in list(RULES)[i:]]
    found = [_pair(a, b, 0.0) for a, b in pairs] + [_pair(a, b, 20.0) for a in RULES for b in RULES]
    for rule in (name for name in RULES if name != "fixed"):
        found.append(_rmcat("rfc8867-5.4", rule, 3.5, (50.0,) * 3, 20.0, 120.0, 119.0, 80.0))
        found.append(_rmcat("rfc8867-5.5", rule, 4.0, (10.0, 25.0, 50.0, 100.0, 150.0), 10.0, 300.0, 300.0, 150.0))
    return found


def _link(name: str, mbps: float, way_ms: float, seconds: float, flows: Sequence[OtherCall | Tcp]) -> SharedLink:
    trace = constant(mbps * 1e6)
    return SharedLink(
        name, 0, trace, queue_packets=8192, queue_bytes=int(_QUEUE_S * mbps * 1e6 / 8), forward_ms=way_ms, backward_ms=way_ms,
        flows=tuple(flows), seconds=seconds, rates_kbps=_LEARNED_KBPS,
    )  # fmt: skip


def _pair(rule: str, against: str, starts_s: float, system: System | None = None) -> Pairing:
    other: OtherCall | Tcp
    if against == CUBIC:
        other = Tcp("cubic", 1500, _PAIR_MS, _PAIR_MS, starts_s=starts_s)
    elif against in RULES:
        rates = (FIXED_KBPS,) * 3 if against == "fixed" else _LEARNED_KBPS
        other = OtherCall(against, pacing=RULES[against].pacing or 0.0, rates_kbps=rates, starts_s=starts_s)
    else:
        other = OtherCall(SAME, rates_kbps=_LEARNED_KBPS, starts_s=starts_s)
    link, from_s = _link("pair", 2.0, _PAIR_MS, 120.0, [other]), starts_s if against == CUBIC else 60.0
    return Pairing("late" if starts_s else "pair", rule, against, link, from_s, 120.0, system or RULES[rule])


def _rmcat(
    case: str, rule: str, mbps: float, ways_ms: tuple[float, ...], apart_s: float, seconds: float, stops_s: float, from_s: float
) -> Pairing:  # fmt: skip
    others = [
        OtherCall(
            rule, pacing=RULES[rule].pacing or 0.0, audio=RMCAT_AUDIO, video=RMCAT_VIDEO, rates_kbps=RMCAT_KBPS, forward_ms=way_ms,
            backward_ms=way_ms, starts_s=apart_s * (1 + i), stops_s=stops_s,
        )
        for i, way_ms in enumerate(ways_ms[1:])
    ]  # fmt: skip
    link = _link(case, mbps, ways_ms[0], min(seconds, stops_s), others)
    link = link._replace(audio=RMCAT_AUDIO, video=RMCAT_VIDEO, rates_kbps=RMCAT_KBPS)
    return Pairing(case, rule, rule, link, from_s, stops_s, RULES[rule])


def play_pairing(pairing: Pairing, runs: int = RUNS) -> PairingShares:
    """Play a pairing with seeds from 0 on."""
    sender, link = pairing.sender, pairing.link
    calls = [flow for flow in link.flows if isinstance(flow, OtherCall)]
    batch = SendingBatch(runs, sender.rate, sender.order, Worlds.of(link), pacing=sender.pacing or 0.0, log_packets=1 << 17)
    for seed in range(runs):
        batch.start(seed, link._replace(seed=seed))
    batch.play(np.arange(runs))
    bps, delay_ms = np.zeros((runs, 1 + len(link.flows))), np.full((runs, 1 + len(link.flows)), np.nan)
    for row in range(runs):
        for i, log in enumerate([batch.log(row), *(batch.log_of_other(row, call) for call in range(len(calls)))]):
            arrived = log[(log["arrived_us"] >= pairing.from_s * 1e6) & (log["arrived_us"] < pairing.to_s * 1e6)]
            bps[row, i] = 8.0 * arrived["size_bytes"].sum() / (pairing.to_s - pairing.from_s)
            delay_ms[row, i] = np.percentile((arrived["arrived_us"] - arrived["created_us"]) / 1000.0, 95) if len(arrived) else np.nan
        if pairing.against == CUBIC:
            flow = batch.tables.dumbbell.flows.flow[row, 0]
            bps[row, 1] = 8.0 * flow["size_bytes"] * (flow["sent"] - flow["dropped"]) / (pairing.to_s - pairing.from_s)
    return PairingShares(bps, delay_ms)


def fairness(
    folder: Path, played: Sequence[Pairing], on_progress: Callable[[int, str], None], runs: int = RUNS
) -> list[list[str]]:  # fmt: skip
    """Play pairings, write sending_fairness.md, and return the rows of its table."""
    rows = []
    for done, pairing in enumerate(played):
        on_progress(done, f"{pairing.case}, {pairing.rule} and {pairing.against}")
        rows.append(_row(pairing, play_pairing(pairing, runs)))
    replace_file(folder / "sending_fairness.md", f"# How calls share\n\n{markdown_table(HEADINGS, rows, HEADINGS[:3])}\n".encode())
    return rows


HEADINGS = ("case", "first call", "others", "share of the first %", "Jain's index", "least share %", "of capacity %", "delay p95 ms")


def _row(pairing: Pairing, shares: PairingShares) -> list[str]:
    of_all = shares.bps / shares.bps.sum(axis=1, keepdims=True)
    capacity_bps = float(pairing.link.trace.rates_bps[0])
    first, index, least, used = (
        interval([values])
        for values in (100 * of_all[:, 0], jain(shares.bps), 100 * of_all.min(axis=1), 100 * shares.bps.sum(axis=1) / capacity_bps)
    )
    delays = "; ".join("-" if np.isnan(ms) else f"{ms:.0f}" for ms in shares.delay_ms.mean(axis=0))
    return [
        pairing.case, pairing.rule, pairing.against, interval_text(first, 1),
        interval_text(index, 3), f"{least.value:.1f}", f"{used.value:.1f}", delays,
    ]  # fmt: skip
