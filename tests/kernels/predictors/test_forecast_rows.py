"""Rows of the predictors: inputs equal those of a slow twin on the log, holdouts are disjoint, broken files are rejected."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twins.session import Inside
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import is_oracle
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig
from vcgym.leaderboard.forecasts.data import ROWS, build
from vcgym.leaderboard.forecasts.logging_router import UNKNOWN, LoggingRouter
from vcgym.network.scenarios.scenario import Scenario
from vcgym.predictors.rows import COLUMNS, partition, read_rows

PACKETS = 600
SYSTEMS = {"DRT-WM": System(Direct(), WMJitter())}


def settings(folder, **changes):
    parts = [DataPart(scenario="table1", mode=mode, seeds=1) for mode in ("paper", "correlated")]
    given = {"parts": parts, "systems": ["DRT-WM"], "packets": PACKETS, "rows": 2000, "threads": 1, "folder": folder} | changes
    return PredictorDataConfig(**given)


def built(folder, **changes):
    return build(settings(folder, **changes), SYSTEMS, lambda done, note: None)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return built(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def noted_call():
    """A call over the direct path without probes, noted, and the same call without notes."""
    batches = []
    for router in (LoggingRouter(Direct(), PACKETS), Direct()):
        batch = CallBatch(Scenario("wonderproxy", "paper", PACKETS), 1, router, WMJitter(), probe_rate=0.0, log=True)
        batch.start(0, batch.scenario.draw("train", 3))
        batch.play(np.arange(1))
        batches.append(batch)
    return batches


def test_a_noted_call_is_the_same_call(noted_call):
    noted, plain = noted_call
    assert np.array_equal(noted.played().emitted_us, plain.played().emitted_us)


def test_a_noted_router_is_never_ranked():
    assert is_oracle(LoggingRouter(Direct(), 1))


def test_notes_are_what_the_log_says_was_known(noted_call):
    batch = noted_call[0]
    played, notes = batch.played(), batch.path_state.notes[0]
    feedback_us = batch.calls["feed"]["delay_us"][0]
    arrived_us = played.arrived_us[0]
    for packet in range(0, PACKETS, 7):
        known = [k for k in range(packet) if 0 <= arrived_us[k] <= packet * 10_000 - feedback_us]
        note = notes[packet]
        if not known:
            assert note["transmit_ms"] == note["age_ms"] == UNKNOWN
            continue
        newest = max(known)
        assert note["transmit_ms"] == (arrived_us[newest] - newest * 10_000) / 1000.0
        assert note["age_ms"] == (packet - newest) * 10.0
        lost = arrived_us[packet] < 0
        assert note["oracle_transmit_ms"] == (UNKNOWN if lost else (arrived_us[packet] - packet * 10_000) / 1000.0)


def test_lag_and_difference_follow_what_was_fed_back(noted_call):
    batch = noted_call[0]
    played, notes = batch.played(), batch.path_state.notes[0]
    feedback_us = batch.calls["feed"]["delay_us"][0]
    arrived_us = played.arrived_us[0]
    order = sorted((int(arrived_us[k]), k) for k in range(PACKETS) if arrived_us[k] >= 0)
    rule, delays_ms = Inside(WMJitter(), np.zeros((1, 3)), 0), []
    coming = iter(order)
    head = next(coming)
    for packet in range(PACKETS - 100):  # the last packets are still under way when the log ends
        while head[0] + feedback_us <= packet * 10_000:
            at_us, k = head
            late = int(played.emitted_us[0, k] < 0)
            rule.learn(Record(MEDIA, k, 0, k * 10_000, at_us, at_us + feedback_us, 0, late))
            if not late:
                delays_ms.append((at_us - k * 10_000) / 1000.0)
            head = next(coming)
        assert notes["lag_ms"][packet] == rule.decide(packet * 10_000) / 1000.0
        assert notes["diff_ms"][packet] == pytest.approx(delays_ms[-1] - delays_ms[-2] if len(delays_ms) > 1 else 0.0)


def test_rows_are_about_as_many_as_asked_and_sound(file):
    rows = read_rows(file)
    assert 0.9 * 2000 <= len(rows) <= 1.1 * 2000
    assert set(rows["mode"]) == {"paper", "correlated"}
    assert (rows["age_ms"] >= rows["transmit_ms"]).all()  # nothing is known before it arrived
    assert read_rows(file, jitter="diff").inputs[:, 1] == pytest.approx(rows["diff_ms"])


def test_same_settings_same_bytes_whatever_the_threads(file, tmp_path):
    assert built(tmp_path, threads=3).read_bytes() == file.read_bytes()


def test_rows_of_the_test_split_are_not_learnt_from(tmp_path):
    path = built(tmp_path, splits=["train", "test"])
    with pytest.raises(ValueError, match=r"column split holds \['test'\]; allowed here: train"):
        read_rows(path)


@pytest.mark.parametrize("holdout", ["random", "time", "pair"])
def test_a_holdout_shares_no_row(file, holdout):
    rows = read_rows(file)
    parts = partition(rows, holdout, 5)
    packets = [list(zip(of["session"], of["packet"], strict=True)) for of in (rows, *parts)]
    assert sorted(itertools.chain(*packets[1:])) == packets[0]
    assert 0.1 <= len(parts.test) / len(rows) <= 0.35
    pairs = [set(zip(part["scenario"], part["pair"], strict=True)) for part in parts]
    for one, other in itertools.combinations(range(3), 2):
        assert (pairs[one] & pairs[other] == set()) == (holdout == "pair")
    if holdout == "time":
        for session in np.unique(rows["session"]):
            last = parts.fit["packet"][parts.fit["session"] == session].max()
            assert parts.test["packet"][parts.test["session"] == session].min() > last


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transmit_ms": float("nan")}, "row 0 of column transmit_ms is nan"),
        ({"end_to_end_ms": -3.0}, r"row 0 of column end_to_end_ms is -3\.0"),
        ({"lag_ms": float("inf")}, "row 0 of column lag_ms is inf"),
        ({"session": 99}, "not in order|in order of session"),
    ],
    ids=str,
)
def test_unsound_rows_are_refused(file, tmp_path, change, message):
    table = pq.read_table(file)
    for name, value in change.items():
        values = table[name].to_pylist()
        values[0] = value
        table = table.set_column(COLUMNS.get_field_index(name), COLUMNS.field(name), pa.array(values, COLUMNS.field(name).type))
    pq.write_table(table, tmp_path / ROWS)
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / ROWS)


def test_files_that_are_no_rows_are_refused(file, tmp_path):
    with pytest.raises(FileNotFoundError, match="vcgym predictor-data makes them"):
        read_rows(tmp_path / ROWS)
    (tmp_path / ROWS).write_bytes(file.read_bytes()[:200])
    with pytest.raises(ValueError, match="is not a whole Parquet file"):
        read_rows(tmp_path / ROWS)
    pq.write_table(pq.read_table(file).drop_columns(["age_ms"]), tmp_path / ROWS)
    with pytest.raises(ValueError, match="has the columns"):
        read_rows(tmp_path / ROWS)
    pq.write_table(pq.read_table(file).slice(0, 0), tmp_path / ROWS)
    with pytest.raises(ValueError, match="has no rows"):
        read_rows(tmp_path / ROWS)
