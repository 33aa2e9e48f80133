"""Names of systems in words, `greedy / EWMA, tuned` for GRD+EWMA-tuned. The codes are the ids that a user types."""

import re

RULES = {
    "DRT": "direct path", "BEST": "best history", "RND": "random", "RR": "paths in turn", "VIA": "Via", "VIA5": "Via, five paths",
    "VIAR": "Via, paths renewed", "VCR": "VCRoute", "VCRL": "VCRoute, newest delay", "VCR2": "VCRoute, delay and spread",
    "VCR5": "VCRoute-5", "VCR5D": "VCRoute-5, delayed", "VCR5L": "VCRoute-5, newest delay", "VCR5M": "VCRoute-5, means",
    "VCR5O": "VCRoute-5, online", "GRD": "greedy", "LIN": "LinUCB", "DTS": "Thompson, discounted",
    "SWTS": "Thompson, window", "WM": "WMJitter", "WML": "WMJitter, late", "WMR": "WMJitter, reset", "WMH": "WMJitter, held",
    "BF": "count buffer", "BFP": "published count buffer", "NEQ": "NetEQ", "FIX": "fixed lag", "CNT": "fixed count", "EWMA": "EWMA",
    "EWMAH": "EWMA, held", "QTL": "quantile", "QTLH": "quantile, held",
}  # fmt: skip
"""Code of a rule over paths -> its words."""
SYSTEMS = {
    "CALL-PLAIN": "plain WebRTC call", "CALL-PAPERS": "the papers' rules", "CALL-TUNED": "the papers' rules, tuned",
    "CALL-REFERENCE": "each board's best rule", "CALL-LEARNED": "each board's learned rule", "learned": "learned pair",
    "learned-rl": "pair by reward alone", "learned-whole": "learned on whole calls", "learned-rate": "learned rate",
    "learned-order": "learned order", "ALLOCATOR": "learned allocator", "CELERITY": "Celerity", "MUTUALCAST": "Mutualcast",
    "SIMULCAST": "simulcast", "SFU": "forwarding unit", "FIXED": "fixed rate", "GCC-DRAFT": "GCC of the draft",
    "GCC-WEBRTC": "GCC of libwebrtc", "GCC-DRAFT-PRE": "GCC of the draft, bursts joined",
    "GCC-WEBRTC-NOPRE": "GCC of libwebrtc, bursts apart", "NADA": "NADA", "NADA-XMAX": "NADA, limited signal", "SCREAM-V1": "SCReAM v1",
    "SCREAM-V2": "SCReAM v2", "SBPN1": "SBPN v1", "SBPN2": "SBPN v2", "SBPN2-E": "SBPN v2, evicting", "SBPN2-F": "SBPN v2, full queue",
    "SBPN2-W": "SBPN v2, weighted", "TFRC-4342": "TFRC of RFC 4342", "TFRC-FR": "TFRC, faster restart",
    "UNMOD": "TFRC, first in first out", "RED1": "one earlier frame", "RED2": "two earlier frames", "RED3": "three earlier frames",
    "CHIME": "adaptive RED of Chime", "NACK": "retransmission", "NACK-FEC": "retransmission and parity of libwebrtc", "HAIRPIN": "Hairpin",
    "OPUS-FEC": "in-band FEC of Opus", "DRED": "deep redundancy of Opus", "COPY-RED": "copies and frames, triggered",
    "COPY-RISE": "copies, triggered",
    "COPY-NACK": "copies, triggered, and retransmission", "COPY-HELD": "copies held back, or repair packets, by the budget",
    "RED-MISSING": "earlier frames, triggered", "COPY1": "a copy", "COPY2": "two copies", "FEC5": "parity, one in five",
    "DIVERSITY": "a copy, lag by both paths",
}  # fmt: skip
"""Code of a system -> its words."""
TUNED = {"-paper-tuned": ", tuned for paper", "-rate-tuned": ", tuned for rate", "-order-tuned": ", tuned for order", "-tuned": ", tuned"}


def in_words(name: str) -> str:
    """Return the name of a system in words; the name itself if it has none, as a system of the user."""
    if name.startswith("oracle_"):
        return f"hindsight, {in_words(name.removeprefix('oracle_'))}"
    ending = next((ending for ending in TUNED if name.endswith(ending)), "")
    code = name.removesuffix(ending)
    if code in SYSTEMS:
        return SYSTEMS[code] + TUNED.get(ending, "")
    rules = re.split(r"[-+]", code)
    if len(rules) != 2 or not set(rules) <= set(RULES):
        return name
    return " / ".join(RULES[rule] for rule in rules) + TUNED.get(ending, "")


def with_id(name: str) -> str:
    """Return the name of a system in words, and the id that a user types in brackets."""
    return name if in_words(name) == name else f"{in_words(name)} ({name})"
