"""WonderProxy's public pings, raw and grouped, on synthetic bursts: equal to slow twins, or rejected with file and line."""

import gzip
import statistics

import numpy as np
import pytest

from vcgym.network.traces import columns, reading
from vcgym.network.traces.importers.wonderproxy import burst_medians, import_grouped, import_raw, pooled, write_pairs
from vcgym.network.traces.reading import TraceError

HEADER = '"source","destination","timestamp","min","avg","max","mdev"'


def bursts(rng, count):
    """Rows of a raw file and, for each pair of different servers, its bursts."""
    rows, pairs = [], {}
    for i in range(count):
        source, destination = rng.integers(0, 5, 2).tolist()
        low, mean, high = np.sort(rng.integers(50_000, 90_000, 3) / 1e3).tolist()
        mdev = int(rng.integers(0, 5_000)) / 1e3
        rows.append(f'"{source}","{destination}","2020-07-{19 + i % 2} 0{i % 10}:00:17.{i % 1000:03d}","{low}","{mean}","{high}","{mdev}"')
        if source != destination:
            pairs.setdefault((source, destination), []).append((low, mean, high, mdev))
    return rows, dict(sorted(pairs.items()))


def written(tmp_path, rows, header=HEADER, name="pings.csv.gz"):
    path = tmp_path / name
    path.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    return path


def test_medians_and_pooled_statistics_equal_their_slow_twins(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_BLOCK_CELLS", 64)
    rows, pairs = bursts(np.random.default_rng(1), 500)
    raw = import_raw(written(tmp_path, rows))
    assert len(raw.source) == 500
    assert str(raw.started[13]) == "2020-07-20T03:00:17.013"
    medians, together = burst_medians(raw), pooled(raw)
    for made in (medians, together):
        assert list(zip(made.source.tolist(), made.destination.tolist(), strict=True)) == list(pairs)
    for i, found in enumerate(pairs.values()):
        low, mean, high, mdev = zip(*found, strict=True)
        assert [column[i] for column in medians[4:]] == pytest.approx([statistics.median(column) for column in zip(*found, strict=True)])
        assert (together.min_ms[i], together.max_ms[i]) == (min(low), max(high))
        assert together.mean_ms[i] == pytest.approx(statistics.fmean(mean))
        square = statistics.fmean(m**2 + d**2 for m, d in zip(mean, mdev, strict=True))
        assert together.sd_ms[i] == pytest.approx((square - statistics.fmean(mean) ** 2) ** 0.5)


def test_the_grouped_file_holds_the_medians(tmp_path):
    raw = import_raw(written(tmp_path, bursts(np.random.default_rng(2), 300)[0]))
    medians = burst_medians(raw)
    rows = [f"{s},{d},{a!r},{b!r},{c!r},{e!r}" for s, d, a, b, c, e in zip(*(column.tolist() for column in medians[2:]), strict=True)]
    shuffled = np.random.default_rng(3).permutation([*rows, "2,2,0.014,0.027,0.137,0.025"]).tolist()
    grouped = import_grouped(written(tmp_path, shuffled, "source,destination,min,avg,max,mdev", "grouped.csv.gz"))
    assert grouped.statistic == "medians"
    for ours, theirs in zip(grouped[2:], medians[2:], strict=True):
        assert np.array_equal(ours, theirs)
    card = write_pairs(grouped, tmp_path / "pairs.csv")
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert lines[0] == "src_id,dst_id,min_ms,avg_ms,max_ms,mdev_ms"
    assert len(lines) == 1 + len(rows)
    assert grouped.card.sha256 in card.description
    write_pairs(pooled(raw), tmp_path / "pooled.csv.gz")
    assert gzip.decompress((tmp_path / "pooled.csv.gz").read_bytes()).startswith(b"src_id,dst_id,min_ms,mean_ms,max_ms,std_ms\n0,1,")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('"0","1","2020-07-19 00:00:17.000","20","19","30","1"', r"line 300, min, avg and max is \(20\.0, 19\.0, 30\.0\)"),
        ('"0","1","2020-07-19 00:00:17.000","20","nan","30","1"', "line 300, avg is 'nan'"),
        ('"0","1","2020-07-19 00:00:17.000","20","25","60001","1"', "line 300, max is '60001'; allowed: a number from 0 to 60000"),
        ('"0","1","2020-07-19 00:00:17.000","20","25","30","-1"', "line 300, mdev is '-1'"),
        ('"0","1","2020-07-19 00:00:17.000","20","25","30"', "line 300, number of fields is 6; allowed: 7"),
        ('"0","1.5","2020-07-19 00:00:17.000","20","25","30","1"', "line 300, destination is 1.5; allowed: a whole number"),
        ('"-1","1","2020-07-19 00:00:17.000","20","25","30","1"', "line 300, source is '-1'"),
        ('"0","1","2020-02-31 00:00:17.000","20","25","30","1"', "line 300, timestamp is '2020-02-31 00:00:17.000'; allowed: a time"),
        ('"0","1","19/07/2020","20","25","30","1"', "line 300, timestamp is '19/07/2020'"),
        ('"0","1","NaT","20","25","30","1"', "line 300, timestamp is 'NaT'"),
        ('"0","1","2020-07-19 00:00:17.000","20,5","25","30","1"', "line 300, min is '20,5'"),
        ('"0","1","2020-07-19 00:00:17.000","20","25","30","1', "line 301 is .*; allowed: separated values"),
    ],
)
def test_a_bad_burst_is_named(tmp_path, row, message):
    rows, _ = bursts(np.random.default_rng(4), 400)
    with pytest.raises(TraceError, match=rf"pings\.csv\.gz: {message}"):
        import_raw(written(tmp_path, [*rows[:298], row, *rows[299:]]))


def test_a_pair_that_stands_twice_is_named(tmp_path):
    rows = ["0,1,20,25,30,1", "1,0,20,25,30,1", "0,1,20,25,31,1"]
    with pytest.raises(TraceError, match=r"line 4, source and destination is \(0, 1\); allowed: each pair once; line 2 has it too"):
        import_grouped(written(tmp_path, rows, "source,destination,min,avg,max,mdev"))


def test_other_units_columns_and_sizes_are_refused(tmp_path, monkeypatch):
    for scale, message in ((1e-3, "avg, median in ms is 0"), (1e3, "allowed: a number from 0 to 60000")):
        rows = [f"0,1,{200 * scale},{250 * scale},{300 * scale},{scale}"]
        with pytest.raises(TraceError, match=message):
            import_grouped(written(tmp_path, rows, "source,destination,min,avg,max,mdev"))
    with pytest.raises(TraceError, match=r"line 1, header is .*; allowed: a column timestamp"):
        import_raw(written(tmp_path, ["0,1,20,25,30,1"], "source,destination,min,avg,max,mdev"))
    path = written(tmp_path, bursts(np.random.default_rng(5), 400)[0])
    with monkeypatch.context() as patched:
        patched.setattr(reading, "MAX_CONTENT_BYTES", 20_000)
        with pytest.raises(TraceError, match="unpacked size in bytes"):
            import_raw(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TraceError, match=r"pings\.csv\.gz: file is"):
        import_raw(path)
    with pytest.raises(TraceError, match="number of pairs of different servers is 0"):
        burst_medians(import_raw(written(tmp_path, ['"3","3","2020-07-19 00:00:17.000","20","25","30","1"'])))
