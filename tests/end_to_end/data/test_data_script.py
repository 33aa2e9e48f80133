"""The command lines of vcgym data and vcgym import: list, check, import of every format, download without a network."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from typed import attempt, call

from vcgym.agents.config.base import DataConfig
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.trace_file import read_trace
from vcgym.scripts.importing.config import CatalogueConfig, ImportConfig
from vcgym.scripts.importing.formats import Ping


def test_list_then_verify_then_a_change(tmp_path):
    (tmp_path / "measured").mkdir()
    call(tmp_path, "import", "format=ping", f"file={shipped()}/sample_ping.txt", "output=measured/mine.csv.gz")
    listed = call(tmp_path, "data", VCGYM_DATA="measured")
    for word in ("table1.json", "mine.csv.gz", "synthesised", "MIT, as this project", "as said", "wonderproxy_pings", "wp-public-data"):
        assert word in listed
    assert "1 files as their cards say, 0 without a card" in listed
    with gzip.open(tmp_path / "measured" / "mine.csv.gz", "ab") as file:
        file.write(b"9999.000,1.000\n")
    failed = attempt(tmp_path, "data", "data.root=measured")
    assert failed.returncode == 1
    assert "mine.csv.gz: sha256 of the content is" in failed.stderr and "Traceback" not in failed.stderr
    assert "differs" in failed.stdout
    # Nothing else was written, by hydra or anyone.
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["measured", "mine.csv.gz", "mine.csv.gz.card.json"]


def test_every_format_is_imported(tmp_path):
    (tmp_path / "plain.txt").write_text("".join(f"64 bytes from 192.0.2.1: seq={n} ttl=57 time={20 + n}.5 ms\n" for n in (0, 1, 3)))
    assert "4 probes over 0.0 s, 1 lost (25 %), round trips p50 21.5, p95 " in call(
        tmp_path, "import", "format=ping", "format.interval_ms=10", "file=plain.txt", "output=ping.csv.gz"
    )
    columns = ["format.time_column=sent_ms", "format.time_unit=ms", "format.delay_column=one_way_delay_ms", "format.delay_unit=ms"]
    series = f"file={shipped()}/sample_series.csv"
    call(tmp_path, "import", "format=csv", *columns, "format.round_trip=false", series, "output=csv.csv.gz")
    assert not read_trace(tmp_path / "csv.csv.gz").round_trip
    rows = "".join(f"{1.6e9 + n / 50:.3f},{n},{960 * n}\n" for n in range(100))
    (tmp_path / "call.csv").write_text(f"frame.time_epoch,rtp.seq,rtp.timestamp\n{rows}")
    rtp = ["format=rtp", "format.sample_rate_hz=48000", "format.floor_ms=25"]
    call(tmp_path, "import", *rtp, "file=call.csv", "output=rtp.csv.gz")
    assert np.unique(read_trace(tmp_path / "rtp.csv.gz").one_way_delay_us).tolist() == [25_000]
    (tmp_path / "link.json").write_text('{"uplink": {"trace_pattern": [{"duration": 9000, "capacity": 900, "loss": 0.01, "rtt": 80}]}}')
    done = call(tmp_path, "import", "format=alphartc", "file=link.json", "output=link.csv.gz")
    assert "one-way delay 40 to 40 ms, loss 1 to 1 %" in done
    pairs = [{"id": "CP1", "type": "candidate-pair", "timestamp": 1e3 * n, "currentRoundTripTime": 0.05 + n / 1e3} for n in range(9)]
    (tmp_path / "stats.json").write_text(json.dumps([[pair] for pair in pairs]))
    assert "9 probes over 8.0 s" in call(tmp_path, "import", "format=getstats", "file=stats.json", "output=stats.csv.gz")
    bursts = "".join(f"0,1,2020-07-19 0{n}:00:00,{90 + n},{95 + n},{99 + n},1\n" for n in range(3))
    (tmp_path / "raw.csv").write_text(f"source,destination,timestamp,min,avg,max,mdev\n{bursts}")
    call(tmp_path, "import", "format=wonderproxy_raw", "file=raw.csv", "output=medians.csv")
    call(tmp_path, "import", "format=wonderproxy_raw", "format.statistic=pooled", "file=raw.csv", "output=pooled.csv")
    assert (tmp_path / "medians.csv").read_text().split() == [
        "src_id,dst_id,min_ms,avg_ms,max_ms,mdev_ms",
        "0,1,91.000,96.000,100.000,1.000",
    ]
    assert (tmp_path / "pooled.csv").read_text().split()[1] == "0,1,90.000,96.000,101.000,1.291"
    (tmp_path / "grouped.csv").write_text("source,destination,min,avg,max,mdev\n1,0,90,95,99,1\n")
    assert "1 ordered pairs" in call(tmp_path, "import", "format=wonderproxy_grouped", "file=grouped.csv", "output=pairs.csv")


PING = ["import", "format=ping", f"file={shipped()}/sample_ping.txt"]
REFUSED = {
    "nothing to import": (["import"], "format, file, output are not given; type format=... file=... output=..."),
    "unknown format": ([*PING[:1], "format=pcap"], "format is 'pcap'; allowed: alphartc, csv, fping, getstats,"),
    "a field left out": (
        ["import", "format=csv", "format.round_trip=true", "format.delay_unit=ms", *PING[2:], "output=a.csv.gz"],
        "format.delay_column, format.time_column are not given; type format.delay_column=... format.time_column=...",
    ),
    "a file that is not there": (
        [*PING[:2], "file=gone.txt", "output=a.csv.gz"],
        "file is 'gone.txt'; allowed: a file or folder that exists",
    ),
    "another ending": ([*PING, "output=a.txt"], "a.txt: name of the file is 'a.txt'; allowed: a name ending in .csv.gz"),
    "a file that is there": ([*PING, "output=there.csv.gz"], "there.csv.gz: file is 'existing'"),
    "no network": (["data", "set=starlink_isl_ping", "data.root=."], "connection is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(tmp_path, name):
    overrides, message = REFUSED[name]
    (tmp_path / "there.csv.gz").touch()
    # A proxy where nobody listens stands for a machine that is offline.
    failed = attempt(tmp_path, *overrides, https_proxy="http://127.0.0.1:1")
    assert failed.returncode == 1
    assert message in failed.stderr
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["there.csv.gz"]


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (ImportConfig, {"format": Ping()}, r"file\n +Field required"),
        (
            ImportConfig,
            {"format": None, "file": shipped(), "output": Path("a")},
            r"format\n +Input should be a valid dictionary",
        ),
        (CatalogueConfig, {"set": "wonderproxy_pings"}, r"set needs data\.root \(or VCGYM_DATA\)"),
        (CatalogueConfig, {"set": "all", "data": DataConfig(root=Path("."))}, "set is 'all'; allowed: wonderproxy_pings"),
        (CatalogueConfig, {"overwrite": True}, "Extra inputs are not permitted"),
    ],
)
def test_a_command_that_lacks_something_is_refused_before_work(monkeypatch, kind, fields, message):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(ValidationError, match=message):
        kind(**fields)


def test_a_folder_that_is_not_there_is_made_but_not_below_a_file(tmp_path):
    Ping().imported(shipped() / "sample_ping.txt", tmp_path / "new" / "a.csv.gz")
    assert read_trace(tmp_path / "new" / "a.csv.gz").round_trip
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"a\.csv\.gz: file is '(FileExists|NotADirectory)Error"):
        Ping().imported(shipped() / "sample_ping.txt", tmp_path / "file" / "a.csv.gz")
