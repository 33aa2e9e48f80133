"""The application study: its set-ups as worlds, metrics of known courses, verdicts, and the file of statements."""

import json

import numpy as np
import pytest

from lab.papers.applications.calls import REPEATS, PlayedCells, play_cell
from lab.papers.applications.experiments import QUEUES_MS, SECONDS, TRAFFIC, ExperimentCell, link_of
from lab.papers.applications.measures import measure
from lab.papers.applications.reproduce import CALIBRATED, cells_of, page, verdict
from lab.papers.applications.statements import FILE, ApplicationStatement, Statements, load_statements
from lab.papers.judge import CANNOT, NOT, REPRODUCED
from lab.papers.register import DATA
from lab.papers.verdicts import INPUT, OUTCOME
from vcgym.network.traces.cards import DataError, canonical_sha256, parse_carded

STATEMENTS = load_statements()


def test_worlds_of_the_study():
    dropped = link_of(ExperimentCell("disrupted", "up", "zoom", 0.25))
    assert dropped.trace.rates_bps.tolist() == [1_000_000_000, 250_000, 1_000_000_000]
    assert dropped.trace.times_us.tolist() == [0, 60_000_000, 90_000_000]
    assert (dropped.seconds, dropped.queue_bytes) == (300.0, 9375)
    assert link_of(ExperimentCell("static", "up", "meet", 0.3, queue_ms=100.0)).queue_bytes == 4500
    assert (
        link_of(ExperimentCell("static", "up", "teams", 1.0)).forward_ms
        == 2 * link_of(ExperimentCell("static", "up", "meet", 1.0)).forward_ms
    )
    assert link_of(ExperimentCell("static", "up", "teams", 10.0, viewing="pinned", parties=8)).rates_kbps[2] == 2900.0
    (call,) = link_of(ExperimentCell("competing", "up", "zoom", 0.5, "teams")).flows
    assert (call.starts_s, call.stops_s, call.forward_ms, call.rates_kbps[2]) == (30.0, 150.0, 40.0, 1440.0)
    assert link_of(ExperimentCell("competing", "down", "zoom", 0.5, "netflix")).flows == TRAFFIC["netflix"]


@pytest.mark.long  # compiles loops that no other quick test needs
def test_an_experiment_is_played():
    cell = ExperimentCell("competing", "up", "zoom", 0.5, "teams")
    played = play_cell(cell)
    assert played.mbps.shape == played.other_mbps.shape == (REPEATS, int(SECONDS["competing"]))
    assert (played.other_mbps[:, :30] == 0.0).all()
    assert (played.other_mbps[:, 151:] == 0.0).all()
    assert (played.mbps.mean(axis=1) > 2.0 * played.other_mbps[:, 30:150].mean(axis=1)).all()
    total = (played.mbps + played.other_mbps)[:, 30:150].mean(axis=1)
    assert ((total > 0.4) & (total < 0.505)).all()
    downloads = play_cell(ExperimentCell("competing", "down", "teams", 0.5, "youtube"))
    assert (measure("other_mbps", cell, downloads) > 0.2).all()


def course(changes, seconds=300):
    """A rate by second that changes at given seconds, twice."""
    mbps = np.zeros(seconds)
    for at_s, rate in changes:
        mbps[at_s:] = rate
    return PlayedCells(np.array([mbps, mbps]), np.array([0.5 * mbps, 0.5 * mbps]))


def test_metrics_of_known_courses():
    drop = ExperimentCell("disrupted", "up", "zoom", 0.25)
    recovers = course([(0, 0.8), (60, 0.2), (110, 0.79), (150, 1.0), (200, 0.8)])
    assert measure("recovery_s", drop, recovers).tolist() == [18.0, 18.0]  # the median of 5 s is back with its third second
    assert measure("peak", drop, recovers).tolist() == [1.25, 1.25]
    assert measure("stable_s", drop, recovers).tolist() == [108.0, 108.0]
    never = course([(0, 0.8), (60, 0.2)])
    assert measure("recovery_s", drop, never).tolist() == [206.0, 206.0]
    assert measure("stable_s", drop, never).tolist() == [0.0, 0.0]
    beside = course([(0, 9.0), (30, 0.2), (120, 0.4), (150, 9.0)], 180)
    cell = ExperimentCell("competing", "up", "zoom", 0.5, "meet")
    assert measure("mbps", cell, beside) == pytest.approx(0.25)
    assert measure("utilisation", cell, beside) == pytest.approx(0.5)
    assert measure("settled_mbps", cell, beside) == pytest.approx(0.4)
    assert measure("smaller_mbps", cell, beside) == pytest.approx(0.2)
    assert measure("other_settled_mbps", cell, beside) == pytest.approx(0.2)


def statement(**changes):
    term = {"setup": "static", "way": "up", "application": "meet", "levels_mbps": [0.5, 1.0], "metric": "utilisation", "over": "min"}
    base = {"id": "x", "source": "S3", "kind": "X", "text": "x", "published": "x", "rule": "at least", "accepted": (0.85, 1.0)}
    return ApplicationStatement.model_validate(base | {"unit": "%", "terms": [term]} | changes)


def test_a_fitted_statement_is_calibrated_or_missed_and_never_counts():
    one, missed, plain = statement(fitted=True), statement(fitted=True, accepted=(0.97, 1.0)), statement(id="y")
    played = {cell: course([(0, 0.9 * cell.mbps)], 150) for cell in cells_of([one])}
    assert len(played) == 2 * len(QUEUES_MS)
    rows = [verdict(of, played, QUEUES_MS[0]) for of in (one, missed, plain, statement(rule="none", terms=[], note="why"))]
    assert [(row["verdict"], row["origin"]) for row in rows] == [
        (CALIBRATED, INPUT), (NOT, INPUT), (REPRODUCED, OUTCOME), (CANNOT, OUTCOME),
    ]  # fmt: skip
    assert rows[0]["ours"] == pytest.approx(0.9)
    assert "| 300 ms | 1 | 1 |\n" in page(rows)
    assert "| 300 ms | 1 | 0 | 0 | 1 | 100 % | 100 % |\n" in page(rows)


def test_the_file():
    assert len(STATEMENTS) == 67
    assert sum(one.fitted for one in STATEMENTS) == 32
    for one in STATEMENTS:
        assert bool(one.terms) == (one.rule != "none")
    text = (DATA / FILE).read_text()
    with pytest.raises(DataError, match="sha256"):
        parse_carded(Statements, FILE, text.replace("> 85 %", "> 95 %"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"levels_mbps": [-0.5]}, r"terms\.0\.levels_mbps\.0"),
        ({"levels_mbps": []}, r"terms\.0\.levels_mbps"),
        ({"against": "tcp"}, "against is 'tcp' in set-up 'static'"),
        ({"parties": 5}, "parties = speaker, 5"),
        ({"application": "skype"}, r"terms\.0\.application"),
    ],
)
def test_terms_that_cannot_be_played_are_refused(spoil, words):
    document = json.loads((DATA / FILE).read_text())
    document["statements"] = document["statements"][:1]
    document["statements"][0]["terms"][0].update(spoil)
    document["card"]["sha256"] = canonical_sha256({"statements": document["statements"]})
    with pytest.raises(DataError, match=words):
        parse_carded(Statements, FILE, json.dumps(document))
