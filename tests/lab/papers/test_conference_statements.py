"""The statements of S2: what is computed is as published, metrics of known courses, and a changed file is rejected."""

import json

import numpy as np
import pytest

from lab.papers.arithmetic import DATA
from lab.papers.conferences.measures import of_course, play_fixed_point
from lab.papers.conferences.reproduce import Runs, page, verdict
from lab.papers.conferences.statements import FILE, Exact, NotComparable, PrintedConstant, Statements, load_statements
from lab.papers.judge import CANNOT, NOT, REPRODUCED
from lab.papers.verdicts import INPUT, OUTCOME, VERDICTS
from vcgym.conference.network.network import LOGGED
from vcgym.conference.network.world import dumbbell_timeline
from vcgym.conference.rules.celerity import Celerity
from vcgym.conference.rules.play import PlayedConference, play
from vcgym.leaderboard.results.files import write
from vcgym.network.traces.cards import DataError, canonical_sha256, parse_carded

A, B, C, D = range(4)
PLANNED = ("optimum", "optimum of three hops", "mutualcast", "simulcast")
STATEMENTS = load_statements()
COMPUTED = [
    one
    for one in STATEMENTS
    if isinstance(one.measure, PrintedConstant | Exact | NotComparable) or getattr(one.measure, "system", "") in PLANNED
]


def test_all_that_is_computed_is_as_published_but_theorem_1(tmp_path):
    rows = [verdict(one, Runs([], {})) for one in COMPUTED]
    write(VERDICTS, rows, tmp_path / "verdicts.parquet")
    missed = {row["statement"] for row in rows if row["verdict"] == NOT}
    assert missed == {"S2-ring-trees"}
    assert {row["verdict"] for row in rows if row["origin"] == INPUT} == {REPRODUCED}
    assert {row["statement"] for row in rows if row["verdict"] == CANNOT} == {one.id for one in STATEMENTS if one.rule == "none"}
    assert "| optimum of two hops, 80 kbps of cross traffic: A | S2 section 6.1 | 200 kbps | **reproduced** 200 kbit/s |" in page(rows)


@pytest.mark.long  # compiles loops that no other quick test needs
def test_a_packet_passes_the_bottleneck_once_and_queues_as_its_price_says():
    """M3: beta / R is 50 ms each way. M4: it is 60 ms from E to F when 400 kbps are left there."""
    plain, less = (play_fixed_point(capacity_kbps, 0) for capacity_kbps in (480.0, 400.0))
    assert plain.queueing_ms[[A, C], [C, A]] == pytest.approx(50.0, rel=0.15)
    assert less.queueing_ms[A, C] == pytest.approx(60.0, rel=0.15)
    assert less.queueing_ms[C, A] == pytest.approx(50.0, rel=0.15)
    assert plain.queueing_ms[A, B] < 2.0
    assert plain.crossings == pytest.approx((1.0, 1.0, 0.0, 0.0), abs=0.03)


def course(changes, lost=()):
    """All sessions at a rate that changes at given seconds; one arrival a second, 0.1 s late, but 0.9 s in the first 100 s."""
    kbps = np.zeros((1000, 4, 4))
    for at_s, rate in changes:
        kbps[at_s:] = rate
    share = np.zeros(1000)
    share[list(lost)] = 0.5
    log = np.zeros(1000, LOGGED)
    log["created_us"] = np.arange(1000) * 1_000_000
    log["arrived_us"] = log["created_us"] + np.where(np.arange(1000) < 100, 900_000, 100_000)
    return PlayedConference(kbps, kbps, kbps[:, 0], 0.0, share, 0.04, log, np.zeros(4, np.int64), kbps[:, 0], kbps)


def test_metrics_of_known_courses():
    known = course([(0, 100.0), (40, 240.0), (600, 10.0)], lost=(10, 320, 720))
    assert of_course("settled_s", known) == 40.0  # of windows of 10 s, the one from second 39 on has 226 kbps
    assert of_course("settled_s", course([(0, 240.0)])) == 0.0
    assert of_course("lost", known) == 0.0  # all losses are in seconds that are not steady
    assert of_course("lost", course([(0, 240.0)], lost=(60,))) == 0.5
    assert of_course("mean_delay_ms", known) == pytest.approx((50 * 900.0 + 700 * 100.0) / 750)
    assert of_course("p99_delay_ms", known) == pytest.approx(900.0)
    assert of_course("overhead", known) == 0.04


def test_the_course_of_a_timeline_is_judged(tmp_path):
    runs = Runs([play(dumbbell_timeline(seed), Celerity(), 1 << 19) for seed in range(2)], {})
    judged = {one.id: verdict(one, runs) for one in STATEMENTS if one not in COMPUTED and one.measure.of in ("rate", "course")}
    assert {row["origin"] for row in judged.values()} == {OUTCOME}
    assert judged["S2-celerity-plain-A"]["verdict"] == judged["S2-loss"]["verdict"] == REPRODUCED
    assert judged["S2-delay-mean"]["ours"] < judged["S2-delay-p99"]["ours"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"session": "E"}, r"measure\.rate\.session"),
        ({"from_s": -1}, r"measure\.rate\.from_s"),
        ({"of": "luck"}, r"statements\.0\.measure"),
    ],
)
def test_measures_that_do_not_exist_are_refused(spoil, words):
    document = json.loads((DATA / FILE).read_text())
    document["statements"] = document["statements"][:1]
    document["statements"][0]["measure"].update(spoil)
    document["card"]["sha256"] = canonical_sha256({"statements": document["statements"]})
    with pytest.raises(DataError, match=words):
        parse_carded(Statements, FILE, json.dumps(document))
