"""Sets of measured data are made again from their sources, by the program and as a command."""

import gzip
from functools import partial
from pathlib import Path

import pytest
import typed

from lab.shipped.sets.making import make, measured_sets, set_names
from lab.shipped.sets.throughput_cuts import cut_traces, drives
from vcgym.network.scenarios.bottleneck.rate_worlds import SETS
from vcgym.network.scenarios.paths.leo import FOLDER as LEO
from vcgym.network.scenarios.paths.leo import measured
from vcgym.network.traces.card_file import read_card
from vcgym.network.traces.cards import DataError, card_path, data_root

HOME = Path(__file__).parents[3]
attempt, call = (partial(one, program="lab", PYTHONPATH=str(HOME)) for one in (typed.attempt, typed.call))


@pytest.mark.long
def test_sets_are_made_again_from_their_sources(tmp_path):
    assert "equal to the known file" in call(tmp_path, "make-set", "set=generated_cellular", "output=made")
    again = attempt(tmp_path, "make-set", "set=generated_cellular", "output=made")
    assert again.returncode == 1 and "generated_cellular.csv.gz: file is 'existing'" in again.stderr
    # Stand-ins: as many bytes of the public repositories as are quoted here are read as they are cut, and are not the known files.
    (tmp_path / "shaper").mkdir()
    for cut in measured_sets()["leo_ping_10ms"].files.values():
        (tmp_path / cut.source).write_text("1734547219236183808,32.4\n1734547219236247040,16.4\n1734547219255994112,25.0\n")
    other = attempt(tmp_path, "make-set", "set=leo_ping_10ms", "source=.", "output=root")
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


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["set=cloud"], "source is None; allowed with set=cloud: a folder with a copy of its source"),
        pytest.param(["set=clod", "source=."], "allowed: wonderproxy_ten_places, cloud, world_links", marks=pytest.mark.long),
        pytest.param(["set=mahimahi", "source=."], "ATT-LTE-driving.down: file is 'No such file or directory'", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(tmp_path, overrides, message):
    failed = attempt(tmp_path, "make-set", *overrides, "output=a")
    assert failed.returncode == 1 and message in failed.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
