"""The statements of S1 and S4: the names in them exist, each has a verdict, and a changed file is rejected."""

import json

import pytest

from lab.papers.arithmetic import DATA
from lab.papers.judge import CANNOT, NOT, REPRODUCED
from lab.papers.senders.reproduce import measured, page, verdicts
from lab.papers.senders.statements import FILE, SenderTerm, SendingStatement, Statements, load_statements
from lab.papers.verdicts import VERDICTS
from vcgym.baselines.system_files import system_names
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.results.kinds import RATE
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.traces.cards import DataError, parse_carded

STATEMENTS = load_statements()


def test_statements_name_what_there_is():
    senders = system_names()
    kinds = set(SendingScenario("order").kinds) | {""}
    assert len({one.id for one in STATEMENTS}) == len(STATEMENTS) == 50
    for one in STATEMENTS:
        for term in (*one.terms, *([one.share_of] if one.share_of else [])):
            assert term.sender in senders
            assert term.kind in kinds
            assert (term.kind == "") == (one.setting != "tcp")
        assert one.terms or one.constant or one.rule == "none"


def statement(**changes):
    base = {"id": "x", "source": "S1", "kind": "X", "text": "x", "published": "x", "rule": "higher", "setting": "loss", "unit": "points"}
    return SendingStatement.model_validate(base | changes)


def test_verdicts_of_made_up_runs():
    played = {
        ("5 %", "", name): [dict.fromkeys(RATE.metric, mean + step) for step in (-0.01, 0.0, 0.01, 0.02)]
        for name, mean in (("A", 0.5), ("B", 0.4))
    }
    terms = [SenderTerm(sender="A", metric="r").model_dump(), SenderTerm(sender="B", metric="r", weight=-1.0).model_dump()]
    ours = measured(statement(terms=terms), played, "5 %")
    assert ours == pytest.approx((0.1, 0.1, 0.1))
    share = statement(terms=terms, share_of=terms[1] | {"weight": 1.0}, rule="at least", accepted=(0.1, 10.0))
    assert measured(share, played, "5 %").value == pytest.approx(0.1 / 0.405)
    words = [next(iter(verdicts(one, played)))["verdict"] for one in (statement(terms=terms), share, statement(terms=terms, rule="lower"))]
    assert words == [REPRODUCED, REPRODUCED, NOT]
    zero = {key: [dict.fromkeys(RATE.metric, 0.0)] * 3 for key in played}
    row = next(iter(verdicts(share, zero)))
    assert (row["verdict"], row["reason"]) == (CANNOT, "what it is to be a share of is 0")


def test_every_statement_has_a_verdict_even_without_worlds(tmp_path):
    without = [row for one in STATEMENTS if one.setting == "none" for row in verdicts(one, {})]
    write(VERDICTS, without, tmp_path / "verdicts.parquet")
    assert {row["verdict"] for row in without} == {REPRODUCED, CANNOT}
    assert all(row["reason"] for row in without)
    assert "| expiry time (S1 section 4) | 200 ms | **reproduced** 200 ms |" in page(without)


def test_a_metric_that_does_not_exist_is_refused():
    document = json.loads((DATA / FILE).read_text())
    document["statements"][0]["terms"][0]["metric"] = "joy"
    with pytest.raises(DataError, match="metric is 'joy'"):
        parse_carded(Statements, FILE, json.dumps(document))
