"""The board of senders: metrics of a call by hand, intervals, ranks, entries, frozen suites; the statements of S1 and S4."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from vcgym.baselines.rule import is_oracle
from vcgym.envs.call.sender.batch import SendingTotals
from vcgym.envs.call.sender.loop import LOGGED
from vcgym.leaderboard.papers.reproduce.rules import CANNOT, NOT, REPRODUCED
from vcgym.leaderboard.papers.reproduce.verdicts import VERDICTS
from vcgym.leaderboard.results.files import read, write
from vcgym.leaderboard.sending.board import markdown, ranks, values
from vcgym.leaderboard.sending.columns import METRIC, METRICS, RESULTS
from vcgym.leaderboard.sending.intervals import interval
from vcgym.leaderboard.sending.published import FILE, SendingStatement, Term, load_published, parse_published
from vcgym.leaderboard.sending.reproduce import _rows, measured, page
from vcgym.leaderboard.sending.rollout import capacity_bps, metrics
from vcgym.leaderboard.sending.run import run_suite
from vcgym.leaderboard.sending.suites import FROZEN, MEASURED, SENDING_SUITES, playable, worlds_hash
from vcgym.network.bottleneck.capacity import constant, steps
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.sending_scenarios import SendingScenario
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.catalogue import shipped
from vcgym.scripts.senders import load_senders

LINK = SharedLink("x", 1, steps("x", [(0.0, 1.0), (5.0, 3.0)], 10.0), seconds=10.0, counts_from_s=4.0, forward_ms=20.0)


def totals(**counts):
    return SendingTotals(**{name: np.array([counts.get(name, [0, 0])], np.int64) for name in SendingTotals._fields})


def test_metrics_by_hand():
    log = np.zeros(4, LOGGED)
    log["created_us"] = [3_999_999, 4_000_000, 5_000_000, 6_000_000]
    log["sent_us"] = log["created_us"] + [0, 0, 10_000, 30_000]
    log["arrived_us"] = [4_100_000, 4_050_000, 5_250_000, -1]
    log["size_bytes"], log["kind"] = 1000, [VIDEO, AUDIO, VIDEO, VIDEO]
    counts = totals(created=[4, 2], rejected=[1, 0], discarded=[1, 1], sent=[2, 1], delivered=[1, 1], on_time=[0, 1], lost=[1, 0])
    found = metrics(LINK, log, counts, 0)
    assert set(found) == set(METRIC)
    assert (found["audio_on_time"], found["video_on_time"], found["audio_late"], found["video_late"]) == (0.5, 0.0, 0.0, 0.25)
    assert found["throughput_kbps"] == pytest.approx(16 / 6)
    assert capacity_bps(LINK) == pytest.approx(16e6 / 6)
    assert found["utilisation"] == pytest.approx(1e-3)
    assert (found["delay_p50_ms"], found["transit_p50_ms"]) == (150.0, 145.0)
    assert found["queueing_ms"] == 125.0
    assert found["waiting_ms"] == pytest.approx(40 / 3)
    assert (found["lost"], found["unsent"]) == (pytest.approx(1 / 3), 0.5)
    assert found["r"] == rating(200.0, 0.5)
    rate = 2 * 0.6 * np.log(4 * 0.008 + 1) / 6
    assert found["utility"] == pytest.approx(rate - 0.130 - 10 * (1 - 2 / 6))


def test_interval_is_students():
    draws = np.random.default_rng(0).normal(3.0, 2.0, 30)
    found, expected = interval([draws]), stats.ttest_1samp(draws, 0.0).confidence_interval()
    assert found == pytest.approx((draws.mean(), expected.low, expected.high))
    half = interval([draws, draws + 1.0])
    welch = stats.ttest_ind(draws, -(draws + 1.0), equal_var=False).confidence_interval()
    assert (half.low, half.high) == pytest.approx((welch.low / 2, welch.high / 2))
    assert interval([np.ones(5)]) == (1.0, 1.0, 1.0)
    assert np.isnan(interval([np.ones(1)]).low)


def rows(**systems):
    made = []
    for system, (centre, spread) in systems.items():
        for kind in ("a", "b"):
            for seed, drawn in enumerate(np.random.default_rng(1).normal(0, 1, 20)):
                row = dict.fromkeys(METRIC, centre + spread * drawn)
                made.append(
                    {"system": system, "suite": "rate-v0", "scenario": "rate", "kind": kind, "split": "test", "seed": seed, "trace": "x",
                     "capacity_kbps": 1.0} | row
                )  # fmt: skip
    return pa.Table.from_pylist(made, RESULTS.schema)


def test_ranks_are_of_paired_runs():
    results = rows(good=(1.0, 5.0), bad=(0.9, 5.0), same=(0.95, 5.5), oracle_x=(2.0, 0.0))
    found = ranks(results, "utility", ["oracle_x"])
    assert list(found) == ["oracle_x", *sorted(("good", "same"), key=lambda name: -np.mean(values(results, name, "utility"))), "bad"]
    assert found["oracle_x"] == ""
    assert found["good"] == "1-2" if found["same"] != "2" else found["good"] == "1"
    assert found["bad"] in ("3", "2-3")
    assert list(ranks(results, "delay_p95_ms", []))[-1] == "oracle_x"


def test_page_has_every_system_and_kind():
    text = markdown(SENDING_SUITES["rate-v0"], rows(GCC=(1.0, 1.0), oracle_x=(2.0, 0.0)), ["oracle_x"])
    for words in ("| GCC |", "|  | oracle_x |", "rate-v0: delivered, kbit/s", "not corrected"):
        assert words in text


def test_every_sender_is_what_its_name_says():
    senders = load_senders(None)
    asked = {"UNMOD", "SBPN1", "SBPN2", "SBPN2-W", "SBPN2-F", "TFRC-FR", "TFRC-4342", "GCC-WEBRTC", "GCC-WEBRTC-NOPRE", "GCC-DRAFT",
             "GCC-DRAFT-PRE", "FIXED", "oracle_rate"}  # fmt: skip
    assert asked <= set(senders)
    assert [name for name, sender in senders.items() if is_oracle(sender.rate)] == ["oracle_rate"]
    assert senders["GCC-WEBRTC"].rate.prefilter
    assert not senders["GCC-WEBRTC-NOPRE"].rate.prefilter
    with pytest.raises(ValueError, match="senders has 'SBPN9'; allowed: FIXED"):
        load_senders(["SBPN9"])


@pytest.mark.parametrize("name", ["order", "rate", "calls"])
def test_suites_are_frozen(name):
    assert worlds_hash(SendingScenario(name)) == FROZEN[name]


@pytest.mark.data
def test_measured_suite_is_frozen():
    assert worlds_hash(SendingScenario(MEASURED)) == FROZEN[MEASURED]


def test_measured_worlds_are_left_out_without_data(monkeypatch):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    assert [scenario.name for scenario in playable(SENDING_SUITES["rate-v0"])] == ["rate"]
    assert {suite.runs for suite in SENDING_SUITES.values()} == {30}


def test_a_suite_is_played_and_played_again_alike(tmp_path):
    suite = SENDING_SUITES["rate-v0"]._replace(runs=2)
    told = []
    for folder in ("a", "b"):
        senders = load_senders(["FIXED"])
        table = run_suite(suite, [SendingScenario("rate")], senders, tmp_path / folder, lambda done, what: told.append(what))
    assert table.num_rows == 4 * 2
    assert told[:4] == [f"FIXED on rate, {kind}" for kind in SendingScenario("rate").kinds]
    for name in ("sending.parquet", "sending.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert read(RESULTS, tmp_path / "a" / "sending.parquet").num_rows == 8
    wifi = values(table, "FIXED", "throughput_kbps", ("rate", "wifi"))[0]
    assert wifi == pytest.approx([1000, 1000], rel=0.03)


STATEMENTS = load_published()


def test_statements_name_what_there_is():
    senders = load_senders(None)
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
        ("5 %", "", name): [dict.fromkeys(METRIC, mean + step) for step in (-0.01, 0.0, 0.01, 0.02)]
        for name, mean in (("A", 0.5), ("B", 0.4))
    }
    terms = [Term(sender="A", metric="r").model_dump(), Term(sender="B", metric="r", weight=-1.0).model_dump()]
    ours = measured(statement(terms=terms), played, "5 %")
    assert ours == pytest.approx((0.1, 0.1, 0.1))
    share = statement(terms=terms, share_of=terms[1] | {"weight": 1.0}, rule="at least", accepted=(0.1, 10.0))
    assert measured(share, played, "5 %").value == pytest.approx(0.1 / 0.405)
    words = [next(iter(_rows(one, played)))["verdict"] for one in (statement(terms=terms), share, statement(terms=terms, rule="lower"))]
    assert words == [REPRODUCED, REPRODUCED, NOT]
    zero = {key: [dict.fromkeys(METRIC, 0.0)] * 3 for key in played}
    row = next(iter(_rows(share, zero)))
    assert (row["verdict"], row["reason"]) == (CANNOT, "what it is to be a share of is 0")


def test_every_statement_has_a_verdict_even_without_worlds(tmp_path):
    without = [row for one in STATEMENTS if one.setting == "none" for row in _rows(one, {})]
    write(VERDICTS, without, tmp_path / "verdicts.parquet")
    assert {row["verdict"] for row in without} == {REPRODUCED, CANNOT}
    assert all(row["reason"] for row in without)
    assert "| expiry time (S1 section 4) | 200 ms | **reproduced** 200 ms |" in page(without)


def test_a_changed_statement_is_refused():
    text = (shipped() / FILE).read_text()
    with pytest.raises(DataError, match="sha256"):
        parse_published(text.replace("over 10 %", "over 11 %"))
    document = json.loads(text)
    document["statements"].append(document["statements"][0])
    with pytest.raises(DataError, match="each id once"):
        parse_published(json.dumps(document))
    document["statements"][0]["terms"][0]["metric"] = "joy"
    with pytest.raises(DataError, match="metric is 'joy'"):
        parse_published(json.dumps(document))


def test_columns_of_the_file(tmp_path):
    table = rows(GCC=(1.0, 1.0))
    write(RESULTS, table.to_pylist(), tmp_path / "sending.parquet")
    assert len({column.name for column in METRICS}) == len(METRICS)
    assert constant(1e6).rates_bps.tolist() == [1_000_000]
