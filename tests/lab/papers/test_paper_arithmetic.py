"""Arithmetic on printed numbers: intervals of rounding, the checks of all papers, and what a register refuses."""

import json
import math
from itertools import product

import pytest

from lab.papers.arithmetic import ARITHMETIC, CONSISTENT, CONTRADICTORY, DATA, Arithmetic, arithmetic_rows, arithmetic_table, result
from lab.papers.conferences import statements as conferences
from lab.papers.senders import statements as senders
from lab.papers.vcroute import statements as vcroute
from lab.papers.verdicts import VERDICTS
from vcgym.leaderboard.results.files import write
from vcgym.network.traces.cards import DataError, parse_carded

PAPERS = (vcroute, senders, conferences)
ROWS = {row["statement"]: row for paper in PAPERS for row in arithmetic_rows(paper.load_arithmetic())}


def check(formula, accepted=(0.0, 1.0), **numbers):
    return Arithmetic(id="x", source="here", text="x", published="x", numbers=numbers, formula=formula, accepted=accepted)


def test_a_printed_number_stands_for_all_that_round_to_it():
    assert result(check("a", a="0.70")) == pytest.approx((0.7, 0.695, 0.705))
    assert result(check("a", a="29")) == (29.0, 28.5, 29.5)
    assert result(check("2 * 3")) == (6.0, 6.0, 6.0)


@pytest.mark.parametrize("formula", ["a - b / c", "(a + b) * c", "sqrt(a ** 2 + b) / c", "max(a, b) - min(b, 2 * c)"])
def test_the_interval_is_that_of_all_roundings(formula):
    numbers = {"a": "1.5", "b": "0.25", "c": "2"}
    ends = {"a": (1.45, 1.5, 1.55), "b": (0.245, 0.25, 0.255), "c": (1.5, 2.0, 2.5)}
    names = {"sqrt": math.sqrt, "max": max, "min": min}
    tried = [eval(formula, names | dict(zip(ends, values, strict=True))) for values in product(*ends.values())]
    found = result(check(formula, **numbers))
    assert found == pytest.approx((eval(formula, names | {"a": 1.5, "b": 0.25, "c": 2.0}), min(tried), max(tried)))


def test_rounding_is_no_contradiction():
    """0.19 of 0.5 is 38 %, less than 39 %; but 0.195 is 39 %."""
    verdicts = [arithmetic_rows([check("rate / 0.5", (0.385, 0.705), rate=rate)])[0]["verdict"] for rate in ("0.19", "0.190", "0.20")]
    assert verdicts == [CONSISTENT, CONTRADICTORY, CONSISTENT]


@pytest.mark.parametrize("formula", ["a +", "b", "abs(a)", "a if a else 1", "a / 0", "__import__('os')"])
def test_what_cannot_be_evaluated_is_refused(formula):
    with pytest.raises(ValueError, match="formula is"):
        check(formula, a="1")


def test_the_contradictions_of_all_papers(tmp_path):
    assert {name for name, row in ROWS.items() if row["verdict"] == CONTRADICTORY} == {
        "sum-via-guangzhou", "sum-headline", "sum-overhead", "sum-pooled-error", "sum-least-delay", "sum-less-than-two-hops",
        "S1-sum-payload", "S2-sum-ring",
    }  # fmt: skip
    assert {row["origin"] for row in ROWS.values()} == {ARITHMETIC}
    write(VERDICTS, list(ROWS.values()), tmp_path / "verdicts.parquet")


def test_the_arithmetic_is_shown():
    """I6 and I8."""
    assert ROWS["sum-via-guangzhou"]["reason"] == "100 * (1 - (1 - 0.06 / 100) * (1 - 0.68 / 100)) = 0.7396 [0.7296, 0.7496] %"
    assert ROWS["sum-overhead"]["reason"] == "100 * 9.1 / 796 = 1.143 [1.136, 1.15] %"
    lines = arithmetic_table(ROWS.values()).splitlines()
    assert len(lines) == 2 + len(ROWS)
    assert "**contradictory**" in lines[2]
    assert "**" not in lines[-1]


@pytest.mark.parametrize("part", ["statements", "arithmetic"])
@pytest.mark.parametrize("paper", PAPERS)
def test_a_changed_file_is_refused(paper, part):
    document = json.loads((DATA / paper.FILE).read_text())
    document[part][0]["published"] += "0"
    with pytest.raises(DataError, match="sha256"):
        parse_carded(paper.Statements, paper.FILE, json.dumps(document))
    document[part].append(document[part][0])
    with pytest.raises(DataError, match="each id once"):
        parse_carded(paper.Statements, paper.FILE, json.dumps(document))


def test_a_check_about_nothing_is_refused():
    document = json.loads((DATA / senders.FILE).read_text())
    document["arithmetic"][0]["about"] = ["S1-nothing"]
    with pytest.raises(DataError, match="S1-nothing"):
        parse_carded(senders.Statements, senders.FILE, json.dumps(document))
    document["arithmetic"][0] |= {"about": [], "id": document["statements"][0]["id"]}
    with pytest.raises(DataError, match="each id once"):
        parse_carded(senders.Statements, senders.FILE, json.dumps(document))
