"""Replies of a ping by arrival: send order, losses, and rejection of missing or broken files; the data root."""

import gzip
import hashlib

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.scenarios.paths import leo
from vcgym.network.traces.cards import DataError, data_root
from vcgym.network.traces.reading import TraceError
from vcgym.network.traces.trace import to_slots
from vcgym.network.traces.trace_file import read_trace


def read(folder, text):
    file = folder / "made.csv.gz"
    file.write_bytes(gzip.compress(text.encode()))
    return read_trace(file)


def test_send_time_is_arrival_less_round_trip_in_send_order(tmp_path):
    text = "t_ms,rtt_ms,seq\n100,30,1\n111,30.5,2\n140,20,5\n141,31,4\n5150,,6\n5200,40,7\n"
    made = read(tmp_path, text)
    # 3 left no row and is halfway between 2 and 4; 6 gave up at 5150, which is not when it was sent.
    assert made.sent_us.tolist() == [0, 10_500, 25_250, 40_000, 50_000, 2_570_000, 5_090_000]
    assert made.one_way_delay_us.tolist() == [30_000, 30_500, LOST, 31_000, 20_000, LOST, 40_000]
    assert made.card.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_without_numbers_every_row_is_one_ping(tmp_path):
    made = read(tmp_path, "t_ms,rtt_ms\n0,10\n12,\n20,10\n")
    assert made.sent_us.tolist() == [0, 10_000, 20_000]
    assert made.one_way_delay_us.tolist() == [10_000, LOST, 10_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t_ms,rtt_ms\n0,10\n1,nan\n", "line 3, rtt_ms is 'nan'; allowed: a number from 0 to 60000"),
        ("t_ms,rtt_ms\n0,10\n1,-4\n", "line 3, rtt_ms is '-4'"),
        ("t_ms,rtt_ms\n0,10\n9,10\n8,10\n", r"line 4, t_ms is 8.0; allowed: at least 9.0"),
        ("rtt_ms\n10\n", r"line 1, header is \['rtt_ms'\]; allowed: sent_ms and one of .* or t_ms, rtt_ms and perhaps seq"),
        ("t_ms,rtt_ms\n,10\n", "line 2, t_ms is ''"),
        ("t_ms,rtt_ms\n5,\n", "answered probes is 0"),
        ("sent_ms,one_way_delay_ms\n0,20\n10,nan\n", "line 3, one_way_delay_ms is 'nan'; allowed: a number"),
        ("sent_ms,one_way_delay_ms\n0,\n10,\n", "answered probes is 0"),
        ("t_ms,rtt_ms,seq\n5,1,1.5\n", "line 2, seq is 1.5; allowed: a whole number"),
        ("t_ms,rtt_ms\n0,10\n7\n", "line 3, number of fields is 1; allowed: 2"),
        ("t_ms,rtt_ms\n", "number of rows below the header is 0"),
        ("t_ms,t_ms\n1,2\n", "each name once"),
        ("", r"line 1, header is \[\]"),
    ],
)
def test_a_bad_series_is_refused(tmp_path, text, message):
    with pytest.raises(TraceError, match=rf"made\.csv\.gz: .*{message}"):
        read(tmp_path, text)


def test_a_root_without_the_series_is_refused(tmp_path):
    with pytest.raises(TraceError, match="a folder leo_ping_10ms"):
        leo.measured(str(tmp_path))
    (tmp_path / leo.FOLDER).mkdir()
    with pytest.raises(TraceError, match=r"starlink_victoria_1\.csv\.gz: file is .No such file"):
        leo.measured(str(tmp_path))


def test_the_data_folder_is_found_by_argument_then_variable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("VCGYM_DATA", "here")
    assert data_root() == tmp_path / "here"
    assert data_root(str(tmp_path)) == tmp_path
    monkeypatch.delenv("VCGYM_DATA")
    with pytest.raises(DataError, match=r"VCGYM_DATA is None; allowed: a folder; set VCGYM_DATA=FOLDER, data=FOLDER of an environment"):
        data_root()


def test_a_missing_data_folder_names_the_setting_and_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VCGYM_DATA", str(tmp_path / "gone"))
    with pytest.raises(DataError, match=r"VCGYM_DATA \(.*gone\)"):
        data_root()
    with pytest.raises(DataError, match=r"data \(.*away\)"):
        data_root(str(tmp_path / "away"))


# Slots, lost probes and the median half round trip (ms) of each measured series.
MEASURED = {
    "oneweb_iowa": (109_505, 0, 25.4),
    "starlink_isl": (11_422, 228, 74.5),
    "starlink_victoria_1": (80_025, 0, 12.7),
    "starlink_victoria_4": (79_689, 0, 13.0),
}


@pytest.mark.data
@pytest.mark.parametrize("name", MEASURED)
def test_the_measured_series(name):
    made = read_trace(*leo.files(data_root(), (name,)))
    slots = to_slots(made)
    length, lost, median_ms = MEASURED[name]
    assert len(slots) == length
    assert np.count_nonzero(made.one_way_delay_us == LOST) == lost
    assert round(float(np.median(slots[slots != LOST])) / 1e3, 1) == median_ms
    assert np.percentile(np.diff(made.sent_us), 95) <= 20_000
