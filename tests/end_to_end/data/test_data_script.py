"""The command line of vcgym-data: list, verify, import of every format, download without a network."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from vcgym.agents.config.base import DataConfig
from vcgym.network.scenarios.bottleneck.rate_worlds import SETS
from vcgym.network.scenarios.paths.leo import FOLDER as LEO
from vcgym.network.scenarios.paths.leo import measured
from vcgym.network.traces.card_file import read_card
from vcgym.network.traces.cards import DataError, card_path, data_root
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.trace_file import read_trace
from vcgym.scripts.importing.command import DataCommand
from vcgym.scripts.importing.formats import Ping
from vcgym.scripts.importing.making import make, measured_sets, set_names
from vcgym.scripts.importing.throughput_cuts import cut_traces, drives


def attempt(cwd, *overrides, **environment):
    known = {name: value for name, value in os.environ.items() if name != "VCGYM_DATA"} | environment
    command = [sys.executable, "-m", "vcgym.scripts.data", *overrides]
    return subprocess.run(command, cwd=cwd, env=known, capture_output=True, text=True, check=False)


def call(cwd, *overrides, **environment):
    done = attempt(cwd, *overrides, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_list_then_verify_then_a_change(tmp_path):
    (tmp_path / "measured").mkdir()
    call(tmp_path, "do=import", "format=ping", f"file={shipped()}/sample_ping.txt", "output=measured/mine.csv.gz")
    listed = call(tmp_path, VCGYM_DATA="measured")
    for word in ("table1.json", "mine.csv.gz", "synthesised", "MIT, as this project", "as said", "wonderproxy_pings", "wp-public-data"):
        assert word in listed
    assert "1 files as their cards say, 0 without a card" in call(tmp_path, "do=verify", "data.root=measured")
    with gzip.open(tmp_path / "measured" / "mine.csv.gz", "ab") as file:
        file.write(b"9999.000,1.000\n")
    failed = attempt(tmp_path, "do=verify", "data.root=measured")
    assert failed.returncode == 1
    assert "mine.csv.gz: sha256 of the content is" in failed.stderr and "Traceback" not in failed.stderr
    assert "differs" in call(tmp_path, "do=list", "data.root=measured")
    # Nothing else was written, by hydra or anyone.
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["measured", "mine.csv.gz", "mine.csv.gz.card.json"]


def test_every_format_is_imported(tmp_path):
    (tmp_path / "plain.txt").write_text("".join(f"64 bytes from 192.0.2.1: seq={n} ttl=57 time={20 + n}.5 ms\n" for n in (0, 1, 3)))
    assert "4 probes over 0.0 s, 1 lost, round trips" in call(
        tmp_path, "do=import", "format=ping", "format.interval_ms=10", "file=plain.txt", "output=ping.csv.gz"
    )
    columns = ["format.time_column=sent_ms", "format.time_unit=ms", "format.delay_column=one_way_delay_ms", "format.delay_unit=ms"]
    series = f"file={shipped()}/sample_series.csv"
    call(tmp_path, "do=import", "format=csv", *columns, "format.round_trip=false", series, "output=csv.csv.gz")
    assert not read_trace(tmp_path / "csv.csv.gz").round_trip
    rows = "".join(f"{1.6e9 + n / 50:.3f},{n},{960 * n}\n" for n in range(100))
    (tmp_path / "call.csv").write_text(f"frame.time_epoch,rtp.seq,rtp.timestamp\n{rows}")
    rtp = ["format=rtp", "format.sample_rate_hz=48000", "format.floor_ms=25"]
    call(tmp_path, "do=import", *rtp, "file=call.csv", "output=rtp.csv.gz")
    assert np.unique(read_trace(tmp_path / "rtp.csv.gz").one_way_delay_us).tolist() == [25_000]
    bursts = "".join(f"0,1,2020-07-19 0{n}:00:00,{90 + n},{95 + n},{99 + n},1\n" for n in range(3))
    (tmp_path / "raw.csv").write_text(f"source,destination,timestamp,min,avg,max,mdev\n{bursts}")
    call(tmp_path, "do=import", "format=wonderproxy_raw", "file=raw.csv", "output=medians.csv")
    call(tmp_path, "do=import", "format=wonderproxy_raw", "format.statistic=pooled", "file=raw.csv", "output=pooled.csv")
    assert (tmp_path / "medians.csv").read_text().split() == [
        "src_id,dst_id,min_ms,avg_ms,max_ms,mdev_ms",
        "0,1,91.000,96.000,100.000,1.000",
    ]
    assert (tmp_path / "pooled.csv").read_text().split()[1] == "0,1,90.000,96.000,101.000,1.291"
    (tmp_path / "grouped.csv").write_text("source,destination,min,avg,max,mdev\n1,0,90,95,99,1\n")
    assert "1 ordered pairs" in call(tmp_path, "do=import", "format=wonderproxy_grouped", "file=grouped.csv", "output=pairs.csv")


def test_sets_are_made_again_from_their_sources(tmp_path):
    assert "equal to the known file" in call(tmp_path, "do=make", "set=generated_cellular", "output=made")
    again = attempt(tmp_path, "do=make", "set=generated_cellular", "output=made")
    assert again.returncode == 1 and "generated_cellular.csv.gz: file is 'existing'" in again.stderr
    # Stand-ins: as many bytes of the public repositories as are quoted here are read as they are cut, and are not the known files.
    (tmp_path / "shaper").mkdir()
    for cut in measured_sets()["leo_ping_10ms"].files.values():
        (tmp_path / cut.source).write_text("1734547219236183808,32.4\n1734547219236247040,16.4\n1734547219255994112,25.0\n")
    other = attempt(tmp_path, "do=make", "set=leo_ping_10ms", "source=.", "output=root")
    assert other.returncode == 1 and other.stdout.count("NOT equal: the known file has") == 5
    made = tmp_path / "root" / "leo_ping_10ms" / "oneweb_iowa.csv.gz"
    assert gzip.decompress(made.read_bytes()) == b"t_ms,rtt_ms\n0,32.4\n0.063,16.4\n19.81,25\n"
    assert read_card(card_path(made)).source.startswith("https://github.com/clarkzjw/LEOLiveStreaming, commit aa159d32")
    assert measured(str(tmp_path / "root"))[0].shape == (5, 3)


def test_named_traces_are_cut_from_a_source_of_many(tmp_path):
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    (fetched / "trace_866_http---www.amazon.com_0").write_text("0.0\t0.9\n5.0\t0.8\n")
    (fetched / "test_fcc_trace_7_http---edition.cnn.com_60_0").write_text("0.0\t1.5\n")
    (fetched / "tram.ljabru.log_0").write_text("0.0\t2.29\n")
    named = ["fcc_7_edition.cnn.com_60_0", "fcc_866_amazon.com_0"]
    cut_traces("throughputs", fetched, named, "a repository", "none stated", tmp_path / "two.csv.gz")
    expected = b"trace,t_s,mbps\nfcc_7_edition.cnn.com_60_0,0.0,1.5\nfcc_866_amazon.com_0,0.0,0.9\nfcc_866_amazon.com_0,5.0,0.8\n"
    assert gzip.decompress((tmp_path / "two.csv.gz").read_bytes()) == expected
    with pytest.raises(DataError, match=r"traces that are not there \(1 of 1\) is 'tram'"):
        cut_traces("throughputs", fetched, ["tram"], "", "", tmp_path / "none.csv.gz")


def test_drives_are_cut_at_steps_either_way_and_keep_no_position(tmp_path):
    """A step of 5 s stays in a drive, one of 6 s or back by an hour begins another; a drive of 59 rows has no number."""
    begins = {"drive": 36_000, "after 6 s": 36_000 + 64 + 6, "too short": 50_000, "an hour earlier": 32_000}
    seconds = {name: [begin + n + (5 if n else 0) - bool(n) for n in range(60 - (name == "too short"))] for name, begin in begins.items()}
    times = [f"{at // 3600}:{at // 60 % 60:02d}:{at % 60:02d}".zfill(8) for of_drive in seconds.values() for at in of_drive]
    lines = "".join(f"2023-04-04 {time} CDT,{n}.5,61.66069857582001,44.86,-93.74,suburban\n" for n, time in enumerate(times))
    for short in ("mob", "att", "tm", "vz"):
        (tmp_path / f"{short}_all_area1.csv").write_text(f"time,throughput,speed,latitude,longtitu,area_type\n{lines}")
    found = drives(tmp_path)
    assert list(found)[3:6] == ["att_000", "att_001", "att_002"] and len(found) == 12
    assert [len(found[name]) for name in list(found)[:3]] == [60, 60, 60]
    assert found["att_000"][:3] == ["0,0.5,61.66,suburban", "5,1.5,61.66,suburban", "6,2.5,61.66,suburban"]
    assert found["att_001"][0] == "0,60.5,61.66,suburban" and found["att_002"][0] == "0,179.5,61.66,suburban"
    (tmp_path / "vz_all_area1.csv").write_text("time,throughput,speed,area_type\nnoon,1.5,61.6,urban\n")
    with pytest.raises(DataError, match=r"vz_all_area1.csv: line 2, time is 'noon'"):
        drives(tmp_path)


def test_every_measured_set_of_a_ranked_suite_can_be_made_again():
    assert {name for names in SETS.values() for name in names} | {LEO} <= set(set_names())


@pytest.mark.data
@pytest.mark.parametrize("name", ["wonderproxy_ten_places", "cloud", "world_links", "leo_ping_10ms", "mahimahi"])
def test_every_set_at_hand_is_made_as_it_is_known(tmp_path, name):
    """Measured files stand for their repositories: they hold all that was cut from them, but for the hour of the day."""
    source, root = data_root(), data_root()
    if name in measured_sets():
        source = tmp_path / "repository"
        for file, cut in measured_sets()[name].files.items():
            (source / cut.source).parent.mkdir(parents=True, exist_ok=True)
            rows = gzip.decompress((root / measured_sets()[name].folder / file).read_bytes()).decode().split()[1:]
            (source / cut.source).write_text("".join(map(AS_PUBLISHED[name], rows)))
    found = list(make(name, source, tmp_path / "made"))
    assert found and all(made.equal for made in found)


def _reply(row):
    since_ms, rtt_ms = row.split(",")
    return f"{1734547219000000000 + round(float(since_ms) * 1e6)},{float(rtt_ms)}\n"


def _opportunities(row):
    at_ms, packets = row.split(",")
    return f"{at_ms}\n" * int(packets)


AS_PUBLISHED = {"leo_ping_10ms": _reply, "mahimahi": _opportunities}
PING = ["do=import", "format=ping", f"file={shipped()}/sample_ping.txt"]
REFUSED = {
    "nothing to import": (["do=import"], "do=import needs format and file and output"),
    "unknown format": ([*PING[:1], "format=pcap"], "format is 'pcap'; allowed: csv, mahimahi, ping"),
    "a field left out": (
        ["do=import", "format=csv", "format.round_trip=true", "format.delay_unit=ms", *PING[2:], "output=a.csv.gz"],
        "format.delay_column, format.time_column, format.time_unit are not given; type format.delay_column=... format.time_column=... form",
    ),
    "a file that is not there": (
        [*PING[:2], "file=gone.txt", "output=a.csv.gz"],
        "file is 'gone.txt'; allowed: a file or folder that exists",
    ),
    "another ending": ([*PING, "output=a.txt"], "a.txt: name of the file is 'a.txt'; allowed: a name ending in .csv.gz"),
    "a file that is there": ([*PING, "output=there.csv.gz"], "there.csv.gz: file is 'existing'"),
    "nothing to make from": (["do=make", "set=cloud", "output=a"], "do=make needs source"),
    "a set that nothing makes": (["do=make", "set=clod", "output=a", "source=."], "allowed: wonderproxy_ten_places, cloud, world_links"),
    "no source": (["do=make", "set=mahimahi", "output=a", "source=."], "ATT-LTE-driving.down: file is 'No such file or directory'"),
    "no network": (["do=download", "set=starlink_isl_ping", "data.root=."], "connection is"),
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
    ("fields", "message"),
    [
        ({"do": "remove"}, "Input should be 'list', 'verify', 'import', 'download', 'make' or 'fit'"),
        ({"do": "import", "format": Ping()}, "do=import needs file and output"),
        ({"do": "download", "set": "wonderproxy_pings"}, r"do=download needs data\.root \(or VCGYM_DATA\)"),
        ({"do": "download", "set": "all", "data": DataConfig(root=Path("."))}, "set is 'all'; allowed: wonderproxy_pings"),
        ({"overwrite": True}, "Extra inputs are not permitted"),
    ],
)
def test_a_command_that_lacks_something_is_refused_before_work(monkeypatch, fields, message):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(ValidationError, match=message):
        DataCommand(**fields)


def test_a_folder_that_is_not_there_is_made_but_not_below_a_file(tmp_path):
    Ping().convert(shipped() / "sample_ping.txt", tmp_path / "new" / "a.csv.gz")
    assert read_trace(tmp_path / "new" / "a.csv.gz").round_trip
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"a\.csv\.gz: file is '(FileExists|NotADirectory)Error"):
        Ping().convert(shipped() / "sample_ping.txt", tmp_path / "file" / "a.csv.gz")
