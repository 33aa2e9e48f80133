"""Numbers computed by hand from the papers and from libwebrtc; each is named by the tests that assert it.

R of routing, P of playout, L of the predictor, G of GCC, N of NADA, C of SCReAM, T of TCP, S of scheduling, M of conferences.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

FACTS = {
    "R1": "paths by number of relays",
    "R2": "beliefs of VCRoute after three rewards",
    "R3": "the order of updates as printed gives other beliefs",
    "R4": "samples until the starting belief weighs one percent",
    "R5": "Via's index of two arms",
    "R6": "top-k of given intervals",
    "R7": "shares of plans and of path changes",
    "R8": "relayed delays and losses of Table I",
    "R9": "two Gaussian arms",
    "P1": "ten packets behind a watermark and in a count buffer",
    "P2": "emission strictly below the watermark is another system",
    "P3": "the same ten behind shorter lags",
    "P4": "constant delay",
    "P5": "accumulated jitter",
    "P6": "histogram after eight samples",
    "P7": "histogram as reset",
    "P8": "samples until the forget factor is reached",
    "P9": "when the quantile moves",
    "P10": "lag out of order",
    "P11": "NetEQ's target after one late packet",
    "P12": "NetEQ's reorder histogram",
    "P13": "NetEQ's cap by the buffer",
    "P14": "player: a packet lost, reordered, the end lost",
    "P15": "player: a step of delay",
    "P16": "player: a target that falls, packets held",
    "P17": "player: spikes over a first-in-first-out path",
    "G1": "groups with and without the filter of bursts",
    "G2": "a step of the adaptive threshold",
    "G3": "over-use on the second group",
    "G5": "trendline",
    "G6": "changes of the target",
    "G7": "capacity estimate",
    "G8": "loss controllers",
    "N1": "gradual update",
    "N2": "its fixed point",
    "N3": "accelerated ramp-up",
    "N4": "warped delay",
    "N5": "penalties of loss and marks",
    "N6": "shares of two flows",
    "C1": "congestion window of version 1",
    "C2": "reference window of version 2, its rate and a loss",
    "C3": "its delay",
    "T1": "CUBIC after a loss",
    "T2": "utilisation of a Reno flow",
    "S-2": "TFRC's equation",
    "S-3": "its denominator",
    "S-4": "loss at which the call just fits",
    "S-5": "initial window",
    "S-6": "mean loss interval",
    "S-1": "traffic of the call",
    "S-7": "latest age that is sent",
    "S-8": "order of four packets",
    "S-9": "expired packets alone in the queue",
    "L1": "parameters of the predictor",
    "L2": "its published figures agree",
    "L3": "its published share needs a heavy tail",
    "L4": "a noiseless set is fitted",
    "M1": "rates on the dumbbell",
    "M2": "trees do not always reach the min-cut",
    "M3": "queueing at Celerity's fixed point",
    "M4": "trees cross the bottleneck once",
    "M5": "the min-cut is concave",
    "M6": "the critical cut is a subgradient",
    "M7": "a relay that is too late",
}


@functools.cache
def named_by_tests():
    """Return the facts named at the start of test docstrings, with these tests."""
    found = {}
    for file in sorted(Path(__file__).parents[2].rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for fact in re.findall(r"\b([RPGTLNCM]\d+|S-\d+):", ast.get_docstring(node) or ""):
                    found.setdefault(fact, []).append(f"{file.name}::{node.name}")
    return found


@pytest.mark.parametrize("fact", FACTS)
def test_each_fact_is_held_by_a_test(fact):
    assert named_by_tests().get(fact), FACTS[fact]


def test_no_test_names_a_fact_that_is_not_listed():
    assert set(named_by_tests()) <= set(FACTS)
