"""Names of systems: the family of a system, and the meaning of each code in its name."""

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from vcgym.baselines.system_files import system_names
from vcgym.leaderboard.evaluation.bars import of_any_kind
from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import START, Board, Line
from vcgym.leaderboard.statistics.seeds import SEED
from vcgym.network.scenarios.conference import SIZES

MAX_ROWS = 12
"""Rows of a short table: the best system of each family."""

FAMILIES = {
    "DRT": "the direct path", "BEST": "the path with the best history", "RND": "a random path for each packet", "RR": "paths in turn",
    "VIA": "Via (SIGCOMM 2016)", "VCR": "VCRoute (arXiv 2310.05054)", "GRD": "greedy on the newest feedback, with hysteresis",
    "LIN": "LinUCB, a contextual bandit", "DTS": "discounted Thompson sampling", "SWTS": "sliding-window Thompson sampling",
    "learned": "learned rules, shipped", "GCC": "Google congestion control", "TFRC": "TCP-friendly rate control",
    "NADA": "network-assisted dynamic adaptation (RFC 8698)", "SCREAM": "self-clocked rate adaptation: SCReAM",
    "ALLOCATOR": "Celerity with a smooth cut and searched constants", "CELERITY": "Celerity, trees and rates by loss and delay",
    "MUTUALCAST": "Mutualcast, trees through one receiver",
    "SIMULCAST": "a copy to every receiver", "SFU": "a selective forwarding unit",
    "CALL-PLAIN": "a plain WebRTC call: direct path, NetEQ, GCC, first in, first out", "CALL-PAPERS": "VCRoute, WMJitter, GCC and SBPN",
    "CALL-TUNED": "VCRoute, WMJitter, GCC and SBPN, tuned",
    "CALL-REFERENCE": "the reference rule of each control, chosen on the board of that control alone",
    "CALL-LEARNED": "a learned rule for each control, trained for the board of that control alone",
    "RED": "earlier frames in each packet, behind the learned pair", "COPY": "copies on further paths, behind the learned pair",
    "DIVERSITY": "a copy on a further path and a lag by the delays of both, behind the learned path",
    "FEC": "repair packets, behind the learned pair", "CHIME": "earlier frames by reported loss, behind the learned pair",
    "NACK": "retransmission on request, behind the learned pair",
    "HAIRPIN": "copies by the rounds left before the deadline, behind the learned pair",
    "OPUS": "the codec's copy of the frame before, behind the learned pair", "DRED": "the codec's deep redundancy, behind the learned pair",
    "SBPN": "scheduling by priority and expiry, over TFRC", "UNMOD": "TFRC, first in, first out", "FIXED": "a fixed bitrate",
}  # fmt: skip
"""First code of a name -> what the system routes or sends by."""

VARIANTS = {
    "VIA5": "Via among the five best paths", "VIAR": "Via, its paths chosen anew every 5 s", "VCR2": "VCRoute on delay plus spread",
    "VCR5": "VCRoute among the five best paths", "VCR5D": "VCR5 told delayed feedback", "VCR5L": "VCR5 rewarded by the newest delay",
    "VCR5M": "VCR5 that draws means", "VCR5O": "VCR5 that corrects its network in the call",
    "RED1": "one frame", "RED2": "two frames", "RED3": "three frames", "COPY1": "one copy", "COPY2": "two copies", "FEC5": "one in five",
    "VCRL": "VCRoute rewarded by the newest delay", "SBPN1": "SBPN, first version", "SBPN2": "SBPN, second version",
}  # fmt: skip
"""First code of a variant -> what is other than in its family."""

PARTS = {
    "WM": "playout by WMJitter", "WML": "WMJitter, taught by late packets too", "WMR": "WMJitter, begun anew at a path change",
    "WMH": "WMJitter, held after a change to a faster path", "BF": "count buffer with a NetEQ-like target", "BFP": "published count buffer",
    "NEQ": "NetEQ's delay manager", "FIX": "a fixed lag of 60 ms", "CNT": "a fixed count buffer", "EWMA": "average delay plus deviations",
    "EWMAH": "EWMA, held after a change to a faster path", "QTL": "quantile of recent delays",
    "QTLH": "QTL, held after a change to a faster path", "tuned": "parameters searched on the training split", "paper": "for mode paper",
    "rate": "for the suites of rates", "order": "for the suites of send orders", "rl": "learned by reward alone",
    "whole": "a send order learned on whole calls",
    "RED": "earlier frames where packets are missing or overtaken", "RISE": "where the path has risen or is silent",
    "MISSING": "where packets are missing or overtaken",
    "DRAFT": "as in the draft", "WEBRTC": "as in libwebrtc", "PRE": "bursts joined",
    "NOPRE": "bursts not joined", "XMAX": "the signal limited to 500 ms", "V1": "version 1 (RFC 8298)",
    "V2": "version 2 (the draft)", "4342": "RFC 4342", "FR": "faster restart", "E": "a full queue drops the worst packet",
    "F": "drops expired packets only when full", "W": "priority and time left are weighed",
}  # fmt: skip
"""A later code of a name -> what it stands for."""

STRATA = {
    "quiet": "no link is in a bad hour", "best-link": "a link of the fastest path is in a bad hour",
    "many-links": "the fastest path and three links in ten are in a bad hour", "relay-node": "the best relay and the direct path are bad",
    "user-node": "the receiver's access is in a bad hour, which no route avoids", "transition": "bad hours begin or end during the call",
    "natural": "bad hours come as often as measured", "one-second-bursts": "bursts that end before they are known of",
    "independent": "each packet's delay is drawn by itself", "measured": "measured series",
    "dumbbell": "Celerity's experiment: two parties at each of two routers, 480 kbit/s between these",
    "four-sites": "one party each in Los Angeles, Toronto, London and Hong Kong, limited by its own access",
    **{f"core-{parties}": f"{parties} parties, limited by the links between their cities" for parties in SIZES},
    **{f"edge-{parties}": f"{parties} parties, each limited by its own access" for parties in SIZES},
}  # fmt: skip
"""Strata in words: of calls over paths (`vcgym.network.worlds.strata`), and of conferences (`vcgym.network.scenarios.conference`)."""


def family(name: str) -> str:
    """Return the family of a shipped system; any other system is its own family, with its trainings and its start (before an update)."""
    if name not in _shipped():
        return name.removesuffix(START).partition(SEED)[0]
    return max((code for code in FAMILIES if name.startswith(code)), key=len, default=name)


def codes(names: Iterable[str]) -> dict[str, str]:
    """Return the meaning of each code in the names of shipped systems, families first."""
    found = {code for name in names if name in _shipped() for code in (family(name), *re.split(r"[-+]", name))}
    return {code: words for table in (FAMILIES, VARIANTS, PARTS) for code, words in table.items() if code in found}


def meaning(name: str) -> str:
    """Return the meaning of a name, code by code; "" for a system that is not shipped."""
    return "; ".join(words for code, words in codes([name]).items() if code in (name, *re.split(r"[-+]", name)))


def shown(board: Board, order: Sequence[str]) -> list[str]:
    """Return the representative systems in `order`, best first: the best of each family, the references, and the user's agents."""
    heads = {family(name): name for name in reversed(order)}.values()
    wanted = {*heads, board.published, board.bar.system, *mine(board)}
    return [name for name in order if name in wanted]


def few(board: Board, asked: Collection[str] = ()) -> list[Line]:
    """Return a few lines, best first: the first system, the references and the rule for unknown paths, the user's agents, those `asked`.

    Where nothing is asked for, the others are the best of each family, so that there are at most `MAX_ROWS` lines.
    """
    order = [line.standing.system for line in board.lines]
    needed = [order[0], board.published, board.bar.system, of_any_kind(), *mine(board)]
    best = dict.fromkeys(name for name in [*needed, *shown(board, order)] if name in order)
    kept = {*needed, *asked} if asked else set(list(best)[:MAX_ROWS])
    return [line for line in board.lines if line.standing.system in kept]


def mine(board: Board) -> list[str]:
    """Return the agents that are not shipped, best first."""
    return [line.standing.system for line in board.lines if is_own(line.standing.system, line.kind)]


def is_own(name: str, kind: str) -> bool:
    """Return True for an agent or local system that is not shipped, and is not the start of one."""
    return kind in AGENT_KINDS and name not in _shipped() and not name.endswith(START)


@functools.cache
def _shipped() -> frozenset[str]:
    return frozenset(system_names())
