"""Leaderboard files: equal rows give equal bytes, and anything other than the declared columns is rejected."""

import math
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from board_rows import row as row_of

from vcgym.leaderboard.evaluation.cells.cells import Batch, Cell
from vcgym.leaderboard.evaluation.kinds.kind import FinishedCalls
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import LocalAgent
from vcgym.leaderboard.evaluation.suites import KINDS
from vcgym.leaderboard.results.files import DELAY_CDF, RESULTS, TIMING, read, read_results, results_of, write
from vcgym.leaderboard.results.kinds import CALL

row = partial(row_of, CALL)
ROWS = [row(system=system, seed=seed, r=80.0 + seed) for system in ("a", "b") for seed in (1, 2, 3)]


def test_equal_rows_give_equal_bytes_in_any_order(tmp_path):
    write(RESULTS, ROWS, tmp_path / "one.parquet")
    write(RESULTS, [dict(reversed(row.items())) for row in reversed(ROWS)], tmp_path / "other.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_what_is_written_is_read_in_key_order(tmp_path):
    path = tmp_path / "made" / "here" / "results.parquet"
    write(RESULTS, [row(r=math.nan, seed=9), *ROWS], path)
    table = read(RESULTS, path)
    assert table.schema.names == list(CALL.types)
    assert table["seed"].to_pylist() == [1, 1, 2, 2, 3, 3, 9]
    assert table["system"].to_pylist()[:2] == ["a", "b"]
    assert math.isnan(table["r"].to_pylist()[-1])
    assert [file.name for file in path.parent.iterdir()] == ["results.parquet"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({key: value for key, value in row().items() if key != "pair"}, r"missing columns \['pair'\], unknown columns \[\]"),
        (row(jitter=1.0), r"missing columns \[\], unknown columns \['jitter'\]"),
        (row(seed="one"), "column 'seed' takes int64, got 'one'"),
        (row(seed=1.5), r"column 'seed' takes int64, got 1\.5"),
        (row(suite_version=1), "column 'suite_version' takes string, got 1"),
        (row(pair=None), "column 'pair' takes string, got None"),
        (ROWS[2], "two rows share the key .*'seed': 3"),
    ],
)
def test_bad_rows_are_refused_and_the_old_file_stays(tmp_path, bad, message):
    path = tmp_path / "results.parquet"
    write(RESULTS, ROWS, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        write(RESULTS, [*ROWS, bad], path)
    assert path.read_bytes() == before


def without(path, *columns):
    pq.write_table(pq.read_table(path).drop_columns(list(columns)), path)
    return path


def test_a_metric_that_an_older_file_lacks_is_read_as_missing(tmp_path):
    path = tmp_path / "results.parquet"
    write(RESULTS, ROWS, path)
    whole = read(RESULTS, path)
    older = read_results(without(path, "mos", "g114_band", "probes_sent"))
    assert older.schema.names == whole.schema.names
    assert {name for name in whole.schema.names if older[name].null_count} == {"mos", "g114_band", "probes_sent"}
    assert older["probes_sent"].type == pa.int64() and older["mos"].null_count == len(ROWS)
    assert older["r"].equals(whole["r"])


@pytest.mark.parametrize("name", ["r", "seed", "card", "packets", "parameters"])
def test_a_file_without_identity_or_the_ranked_metric_is_refused(tmp_path, name):
    path = tmp_path / "results.parquet"
    write(RESULTS, ROWS, path)
    with pytest.raises(ValueError, match=rf"missing columns \['{name}'"):
        read(RESULTS, without(path, name))


@pytest.mark.parametrize("columns", [kind.columns for kind in KINDS.values()], ids=KINDS)
def test_the_kind_of_a_file_is_told_though_it_lacks_metrics(tmp_path, columns):
    layout, path = results_of(columns), tmp_path / "results.parquet"
    write(layout, [row_of(columns)], path)
    kept = {columns.ranked_by, columns.mark, "utility"}
    found = read_results(without(path, *(column.name for column in columns.metrics if column.name not in kept)))
    assert found.schema.names == list(columns.types) and found[columns.ranked_by].null_count == 0


def test_a_number_of_a_cell_that_no_column_names_is_refused():
    cell = Cell("a", LocalAgent(None, "", ()), Batch("tiny", "v0", 100, Part("table1", "paper", 1), "0", (("x", 3),)), PATHS)
    complete, rollout = row(delays=[]), FinishedCalls(None, 1.0, 1.0)
    assert cell.table([complete], rollout, {}).num_rows == 1
    with pytest.raises(ValueError, match=r"row 0 for a cell: missing columns \[\], unknown columns \['jitter'\]"):
        cell.table([complete | {"jitter": 1.0}], rollout, {})
    with pytest.raises(ValueError, match=r"row 0 for a cell: missing columns \['mos'\]"):
        cell.table([{name: value for name, value in complete.items() if name != "mos"}], rollout, {})


def test_files_of_another_make_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no leaderboard file .*absent\.parquet"):
        read(RESULTS, tmp_path / "absent.parquet")
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(ValueError, match=r"text\.parquet is not a whole Parquet file"):
        read(RESULTS, tmp_path / "text.parquet")
    timing = {"system": "a", "mode": "paper", "decision_us": 2.0, "wall_clock_s": 1.0, "hardware": "two cores"}
    write(TIMING, [timing], tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: missing columns .*'accounting'"):
        read(DELAY_CDF, tmp_path / "t.parquet")
    pq.write_table(pa.Table.from_pylist([timing | {"decision_us": 2}]), tmp_path / "i.parquet")
    with pytest.raises(ValueError, match="column 'decision_us' holds int64, wanted double"):
        read(TIMING, tmp_path / "i.parquet")
