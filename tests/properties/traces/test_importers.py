"""Imports of ping logs and CSV: the shipped samples, handmade logs; any content is a trace or rejected with file, line and value."""

import gzip
import json
import re
import tracemalloc
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from campaigns.importers import READERS
from hypothesis import given, settings
from hypothesis import strategies as st

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces import reading
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.trace import TraceError

COLUMNS = {"time_column": "t", "delay_column": "d", "round_trip": True}
MS = COLUMNS | {"time_unit": "ms", "delay_unit": "ms"}
SHIPPED = Path(str(files("vcgym.data")))


def log(tmp_path, *lines):
    path = tmp_path / "log.txt"
    path.write_text("\n".join(lines))
    return path


def reply(seq, rtt="20.0", stamp=None):
    return (f"[{stamp}] " if stamp else "") + f"64 bytes from 192.0.2.1: icmp_seq={seq} ttl=57 time={rtt} ms"


def test_the_shipped_ping_log():
    made = import_ping_text(SHIPPED / "sample_ping.txt")
    text = (SHIPPED / "sample_ping.txt").read_text()
    assert made.card.kind == "synthesised"
    assert len(made.sent_us) == 320
    assert np.count_nonzero(made.one_way_delay_us == LOST) == text.count("no answer yet") == 14
    assert made.one_way_delay_us[0] == 25_500
    assert np.diff(made.sent_us).max() < 14_000


def test_the_shipped_series():
    made = import_csv(
        SHIPPED / "sample_series.csv",
        time_column="sent_ms",
        time_unit="ms",
        delay_column="one_way_delay_ms",
        delay_unit="ms",
        round_trip=False,
    )
    assert not made.round_trip
    assert made.card.kind == "synthesised"
    assert made.sent_us[1] == 13_408
    assert made.one_way_delay_us[1] == 12_813
    assert np.count_nonzero(made.one_way_delay_us == LOST) == (SHIPPED / "sample_series.csv").read_text().count(",\n") == 9


def test_a_card_that_does_not_match_its_file_is_refused(tmp_path):
    card = json.loads((SHIPPED / "sample_series.csv.card.json").read_text())
    path = tmp_path / "s.csv"
    path.write_text("t,d\n0,20\n")
    (tmp_path / "s.csv.card.json").write_text(json.dumps(card))
    with pytest.raises(DataError, match="sha256 of the content"):
        import_csv(path, **MS)
    (tmp_path / "s.csv.card.json").write_text(json.dumps(card | {"kind": "guessed"}))
    with pytest.raises(DataError, match=r"s\.csv\.card\.json: card .*kind"):
        import_csv(path, **MS)


def test_stamps_are_when_the_reply_was_seen(tmp_path):
    lines = (
        reply(1, "20.0", "100.020000"),
        "[100.031] no answer yet for icmp_seq=2",
        reply(4, "5.5", "100.035500"),
        reply(3, "40", "100.06"),
    )
    made = import_ping_text(log(tmp_path, *lines))
    # 2 lies halfway between 1 and 3; its line is written when 3 was sent.
    assert made.sent_us.tolist() == [0, 10_000, 20_000, 30_000]
    assert made.one_way_delay_us.tolist() == [20_000, LOST, 40_000, 5_500]


def test_a_log_without_stamps_needs_the_spacing(tmp_path):
    lines = (
        "PING 192.0.2.1 (192.0.2.1): 56 data bytes",
        reply(0, "12.345"),
        "Request timeout for icmp_seq 1",
        reply(2, "11"),
        reply(2, "13") + " (DUP!)",
        "",
        "--- 192.0.2.1 ping statistics ---",
        "3 packets transmitted, 2 packets received, 33.3% packet loss",
        "round-trip min/avg/max/stddev = 11.000/11.672/12.345/0.672 ms",
    )
    made = import_ping_text(log(tmp_path, *lines), interval_ms=10)
    assert made.sent_us.tolist() == [0, 10_000, 20_000]
    assert made.one_way_delay_us.tolist() == [12_345, LOST, 11_000]
    with pytest.raises(TraceError, match=r"log\.txt: line 2, time stamp is None; allowed: a stamp on every reply \(ping -D\)"):
        import_ping_text(tmp_path / "log.txt")


def test_numbers_wrap_at_sixteen_bits(tmp_path):
    made = import_ping_text(log(tmp_path, *(reply(seq) for seq in (65_534, 0, 65_535, 2))), interval_ms=10)
    assert made.sent_us.tolist() == [0, 10_000, 20_000, 30_000, 40_000]
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == [3]


@pytest.mark.parametrize(
    ("lines", "interval_ms", "message"),
    [
        ([reply(1, "3", "1.0")], 10, "line 1, time stamp is 1.0; allowed: no stamps when interval_ms"),
        ([reply(1)], 0.01, "interval_ms is 0.01; allowed: 1.2 to 1200"),
        ([reply(70_000)], 10, "line 1, icmp_seq is '70000'; allowed: a number from 0 to 65535"),
        ([reply(1), reply(1)], 10, "line 2, seq is 1; allowed: each number answered once; line 1 has it too"),
        (["hello"], 10, "line 1 is 'hello'"),
        (["no answer yet for icmp_seq=1"], 10, "number of replies is 0"),
        ([""], None, "number of replies is 0"),
    ],
)
def test_a_bad_ping_log_is_refused(tmp_path, lines, interval_ms, message):
    with pytest.raises(TraceError, match=rf"log\.txt: {message}"):
        import_ping_text(log(tmp_path, *lines), interval_ms=interval_ms)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("t,d\n0,1\n1,NaN\n", "ms", "line 3, d is 'NaN'"),
        ("t,d\n0,1\n1,-0.5\n", "ms", "line 3, d is '-0.5'; allowed: a number from 0 to 60000"),
        ("t,d\n0,1\n1,61\n", "s", "line 3, d is '61'; allowed: a number from 0 to 60"),
        ("t,d\n2,1\n1,1\n", "ms", "line 3, t is 1.0; allowed: at least 2.0"),
        ("t,d\n,1\n", "ms", "line 2, t is ''"),
        ("d\n1\n", "ms", "a column t"),
        ("t,d\n0,\n", "ms", "answered probes is 0"),
        ('t,d\n0,"1\n', "ms", "line 2 is 'unexpected end of data'"),
        ("t,d\n0,1\n90000,1\n", "s", "t, mean spacing in s is 90000.0; allowed: 0.0012 to 1.2; is the unit right"),
        ("t,d\n0,1\n", "min", "time_unit is 'min'; allowed: s, ms, us, ns"),
    ],
)
def test_a_bad_csv_is_refused(tmp_path, text, unit, message):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        import_csv(path, **COLUMNS, time_unit=unit, delay_unit=unit)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "gone.txt", tmp_path):
        with pytest.raises(TraceError, match="allowed: a plain file of at most"):
            import_ping_text(path)


CELLS = st.sampled_from(["0", "-1", "1e400", "nan", "1_0", "", "12.5", "9" * 40, '"', "x", "- 20", "timed out"]) | st.floats().map(repr)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=40)
@given(data=st.data())
def test_any_content_is_read_or_refused_with_its_file(tmp_path_factory, name, data):
    """Any bytes, and lines of which a number is anything."""
    reader = READERS[name]

    def spoiled(line, number, cell):
        places = list(re.finditer(r"[0-9.]+", line))
        place = places[number % len(places)]
        return f"{line[: place.start()]}{cell}{line[place.end() :]}"

    line = st.integers(0, 9).map(reader.line)
    lines = st.lists(line | st.builds(spoiled, line, st.integers(0, 99), CELLS) | st.text(max_size=20), max_size=8)
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(data.draw(st.binary(max_size=300) | lines.map(lambda some: "\n".join([reader.header, *some, ""]).encode())))
    try:
        assert reader.read(path)
    except DataError as error:
        assert str(error).startswith(str(path))


@pytest.mark.parametrize("line", [pytest.param("", marks=pytest.mark.long), "no answer yet for icmp_seq=1"])
def test_lines_without_numbers_are_not_kept(tmp_path, line, monkeypatch):
    path = tmp_path / "log.txt.gz"
    content = f"{line}\n".encode() * (2_000_000 // (len(line) + 1))
    path.write_bytes(gzip.compress(content, 1))
    monkeypatch.setattr(reading, "MAX_CONTENT_BYTES", len(content))
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match="number of replies is 0"):
            import_ping_text(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(content)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "row"), [("csv", b"0,\n"), ("series", b"0,\n"), ("mahimahi", b"1\n"), ("rtp", b"1,1,1\n"), ("throughput", b"1,1\n")]
)
def test_the_shortest_rows_take_at_most_ten_times_their_bytes(tmp_path, name, row):
    reader, path = READERS[name], tmp_path / "short.csv"
    content = f"{reader.header}\n{reader.line(0)}\n".encode() + row * 100_000
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with suppress(DataError):  # many such rows are no measurement
            reader.read(path)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content) + 2**21  # a block of text
    finally:
        tracemalloc.stop()


def test_lines_are_bounded_in_number_and_length(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LINES", 100)
    path = tmp_path / "s.csv"
    path.write_text("t,d\n" + "".join(f"{10 * i},20\n" for i in range(99)))
    assert len(import_csv(path, **MS).sent_us) == 99
    path.write_text("t,d\n" + "".join(f"{10 * i},20\n" for i in range(100)))
    with pytest.raises(TraceError, match="number of lines is 'more than 100'; allowed: at most 100"):
        import_csv(path, **MS)
    path.write_text("t,d\n0,20\n10," + "2" * 70_000 + "\n")
    with pytest.raises(TraceError, match="line 3, number of characters is 'more than 65536'; allowed: at most 65536"):
        import_csv(path, **MS)


def test_a_span_of_more_than_a_day_is_named_by_its_line(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("t,d\n" + "".join(f"{i},0.02\n" for i in range(86_403)))
    with pytest.raises(TraceError, match=r"s\.csv: line 86403, t, us after the first is 86401000000; allowed: at most 86400000000"):
        import_csv(path, **COLUMNS, time_unit="s", delay_unit="s")


def test_an_error_has_at_most_300_characters_and_one_line(tmp_path):
    folder = tmp_path / ("d" * 200)
    folder.mkdir()
    path = folder / "s.csv"
    path.write_text("t,d\n0,20\n10," + "2" * 60_000 + "\n")
    with pytest.raises(TraceError) as caught:
        import_csv(path, **MS)
    said = str(caught.value)
    assert len(said) <= 300 and "s.csv: line 3, d is '2222" in said and said.endswith("...; allowed: a number from 0 to 60000")
    assert len(str(DataError("f", "w\nw", "v" * 5_000, "a" * 5_000))) <= 300 and "\n" not in str(DataError("f", "w\nw", "v", "a"))
