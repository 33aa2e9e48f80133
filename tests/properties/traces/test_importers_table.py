"""CSV of send time and delay, valid and corrupted: the import equals the written data, or an error names the row."""

import gzip
import lzma

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.trace import TraceError, to_slots
from vcgym.network.traces.trace_file import read_trace, write_trace

COLUMNS = {"time_column": "t", "delay_column": "d", "round_trip": False}
SCALE = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}


def series(rng, rows, spacing_us, delay_us):
    """Sent and delay in whole microseconds, and the text in `unit`s."""
    sent = np.cumsum(rng.integers(spacing_us // 2, 2 * spacing_us, rows))
    delay = np.where(rng.random(rows) < 0.05, LOST, rng.integers(delay_us // 2, 2 * delay_us, rows))
    delay[0] = delay_us
    return sent - sent[0], delay


def text(sent, delay, time_unit="ms", delay_unit="ms"):
    """To the microsecond, whatever the unit; a column nobody asked for stands between."""
    digits = {"s": 6, "ms": 3, "us": 0, "ns": 0}
    cells = [
        f"{s / SCALE[time_unit]:.{digits[time_unit]}f},x,{'' if d == LOST else format(d / SCALE[delay_unit], f'.{digits[delay_unit]}f')}"
        for s, d in zip(sent.tolist(), delay.tolist(), strict=True)
    ]
    return "\n".join(["t,other,d", *cells, ""])


def read(tmp_path, content, time_unit="ms", delay_unit="ms", name="s.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return import_csv(path, **COLUMNS, time_unit=time_unit, delay_unit=delay_unit)


@pytest.mark.parametrize("time_unit", SCALE)
@pytest.mark.parametrize("delay_unit", SCALE)
def test_every_unit_and_no_other(tmp_path, time_unit, delay_unit):
    """A unit that is not the file's is refused, for each column by itself, over the whole range that is allowed."""
    rng = np.random.default_rng(1)
    for spacing_us, delay_us in ((2_000, 2_000), (10_000, 50_000), (800_000, 600_000)):
        sent, delay = series(rng, 500, spacing_us, delay_us)
        content = text(sent, delay, time_unit, delay_unit)
        made = read(tmp_path, content, time_unit, delay_unit)
        assert np.array_equal(made.sent_us, sent)
        assert np.array_equal(made.one_way_delay_us, delay)
        for said in SCALE:
            if said != time_unit:
                with pytest.raises(TraceError, match=r"s\.csv: .*(is the unit right|allowed: a number)"):
                    read(tmp_path, content, said, delay_unit)
            if said != delay_unit:
                with pytest.raises(TraceError, match=r"s\.csv: .*(is the unit right|allowed: a number)"):
                    read(tmp_path, content, time_unit, said)


def test_two_hundred_thousand_random_rows(tmp_path):
    rng = np.random.default_rng(2)
    for _ in range(200):
        sent, delay = series(rng, 1_000, 10_000, 40_000)
        lines = text(sent, delay).split("\n")
        at = int(rng.integers(2, 1_000))
        time, _, value = lines[at].split(",")
        spoils = {
            "decimal comma": f"{time.replace('.', ',')},x,{value}",
            "quoted decimal comma": f'{time},x,"20,5"',
            "one cell less": f"{time},x",
            "not a number": f"{time},x,nan",
            "infinite": f"{time},x,inf",
            "negative": f"{time},x,-1",
            "over a minute": f"{time},x,60001",
            "no time": f",x,{value}",
            "a clock running back": f"{float(time) - 100_000},x,{value}",
            "NUL": f"{time},x,2\0",
            "a space within a number": f"{time},x,2 0",
            "a word": f"{time},x,lost",
            "a second header": "t,other,d",
        }
        spoil = str(rng.choice(list(spoils)))
        with pytest.raises(TraceError, match=rf"s\.csv: line {at + 1}"):
            read(tmp_path, "\n".join([*lines[:at], spoils[spoil], *lines[at + 1 :]]))


def test_rows_by_reply_without_a_header(tmp_path):
    """What was sent is found again, whichever time stands in the file and however many replies overtook another."""
    rng = np.random.default_rng(6)
    sent, delay = series(rng, 1_000, 10_000, 40_000)
    lost = delay == LOST
    by_reply = np.argsort(np.where(lost, sent, sent + delay), kind="stable")
    assert (np.diff(sent[by_reply]) < 0).sum() > 100
    path, told = tmp_path / "s.csv", {"time_column": "1", "time_unit": "ns", "delay_unit": "us", "round_trip": True, "header": False}
    path.write_text("".join(f"{1000 * sent[i]},{delay[i]}\n" for i in by_reply if not lost[i]))
    made = import_csv(path, **told, delay_column="2")
    assert np.array_equal(made.sent_us, sent[~lost]) and np.array_equal(made.one_way_delay_us, delay[~lost]) and made.round_trip
    path.write_text("".join(f"{1000 * (sent[i] + delay[i])},x,{delay[i]}\n" for i in by_reply if not lost[i]))
    made = import_csv(path, **told, delay_column="3", time_of="reply")
    assert np.array_equal(made.sent_us, sent[~lost]) and np.array_equal(made.one_way_delay_us, delay[~lost])
    sent, delay, lost = sent[::9], delay[::9], lost[::9]  # so far apart that none overtakes another
    rows = ("," if gone else f"{1000 * (at + ms)},{ms}" for at, ms, gone in zip(sent.tolist(), delay.tolist(), lost, strict=True))
    path.write_text("\n".join([*rows, ""]))
    made = import_csv(path, **told, delay_column="2", time_of="reply")
    answered = made.one_way_delay_us != LOST
    assert np.array_equal(answered, ~lost[: len(answered)]) and np.array_equal(made.sent_us[answered], sent[~lost])


def test_rows_in_neither_order_are_refused(tmp_path):
    path, told = tmp_path / "s.csv", {"time_column": "1", "delay_column": "2", "delay_unit": "ms", "round_trip": False, "header": False}
    path.write_text("".join(f"{10 * n + (-500 if n == 40 else 0)},50\n" for n in range(100)))
    for time_of in ("send", "reply"):
        with pytest.raises(TraceError, match=r"line 41, 1 is -100.0; allowed: at least 390.0, the one before"):
            import_csv(path, **told, time_unit="ms", time_of=time_of)
    path.write_text("".join(f"{10 * n + (-25 if n == 40 else 0)},{'' if n == 40 else 50}\n" for n in range(100)))
    with pytest.raises(TraceError, match=r"line 41, 1 is 375.0; allowed: at least 390.0, the one before"):  # a lost packet has no reply
        import_csv(path, **told, time_unit="ms")
    with pytest.raises(TraceError, match=r"line 1, header is \['1', '2'\]; allowed: a column 3"):
        import_csv(path, **told | {"delay_column": "3"}, time_unit="ms")


def test_other_clothes(tmp_path):
    sent, delay = series(np.random.default_rng(3), 1_000, 10_000, 40_000)
    content = text(sent, delay).encode()
    dresses = (
        b"\xef\xbb\xbf" + content,
        content.replace(b"\n", b"\r\n"),
        content.replace(b"\n", b"\r"),
        content.replace(b"\n", b"\n\n"),
        content.replace(b",x,", b',"x",'),
    )
    for dress in dresses:
        assert np.array_equal(read(tmp_path, dress).one_way_delay_us, delay)
    assert np.array_equal(read(tmp_path, gzip.compress(content), name="s.csv.gz").sent_us, sent)
    assert np.array_equal(read(tmp_path, lzma.compress(content), name="s.csv.xz").sent_us, sent)
    with pytest.raises(TraceError, match=r"s\.csv\.xz: file is 'EOFError"):
        read(tmp_path, lzma.compress(content)[:-40], name="s.csv.xz")
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        with pytest.raises(TraceError, match=rf"s\.csv: encoding is '{encoding[:6].upper()}'; allowed: UTF-8 text; iconv -f"):
            read(tmp_path, content.decode().encode(encoding))
    with pytest.raises(TraceError, match=r"s\.csv: line 1 is b'\\xe9'; allowed: UTF-8 text; iconv -f ENCODING .* such as LATIN1"):
        read(tmp_path, content.replace(b"other", "d\xe9lai".encode("latin-1")))


def test_a_file_cut_off_within_a_row_is_refused_and_at_the_end_of_a_row_is_what_it_holds(tmp_path):
    rng = np.random.default_rng(4)
    sent, delay = series(rng, 300, 10_000, 40_000)
    content = text(sent, delay).encode()
    for cut in rng.integers(20, len(content), 300).tolist():
        rows = content[:cut].count(b"\n") - 1
        if content[cut - 1 : cut] == b"\n" and rows:
            assert np.array_equal(read(tmp_path, content[:cut]).one_way_delay_us, delay[:rows])
        else:
            with pytest.raises(TraceError, match=rf"s\.csv: line {rows + 2} is .*; the file may have been cut off"):
                read(tmp_path, content[:cut])


def test_an_imported_trace_is_read_back_as_it_was_and_never_overwritten(tmp_path):
    sent, delay = series(np.random.default_rng(5), 500, 10_000, 40_000)
    made = read(tmp_path, text(sent, delay))
    card = write_trace(made, tmp_path / "kept.csv.gz")
    again = read_trace(tmp_path / "kept.csv.gz")
    assert again.card == card and made.card.sha256 in card.description
    assert not again.round_trip
    assert np.array_equal(again.sent_us, sent) and np.array_equal(again.one_way_delay_us, delay)
    # Measured one way, a delay is not halved.
    assert to_slots(again).max() == delay.max()
    before = (tmp_path / "kept.csv.gz").read_bytes()
    with pytest.raises(ValueError, match=r"kept\.csv\.gz: file is 'existing'"):
        write_trace(made, tmp_path / "kept.csv.gz")
    assert (tmp_path / "kept.csv.gz").read_bytes() == before
    with pytest.raises(ValueError, match=r"a name ending in \.csv\.gz"):
        write_trace(made, tmp_path / "kept.txt")
    (tmp_path / "kept.csv.gz").write_bytes(gzip.compress(b"sent_ms,delay\n0,1\n"))
    with pytest.raises(ValueError, match="sent_ms and one of rtt_ms, one_way_delay_ms"):
        read_trace(tmp_path / "kept.csv.gz")
    (tmp_path / "kept.csv.gz").write_bytes(gzip.compress(b"sent_ms,rtt_ms\n0,1\n"))
    with pytest.raises(ValueError, match=r"kept\.csv\.gz: sha256 of the content"):
        read_trace(tmp_path / "kept.csv.gz")


TOLD = {"time_column": "t", "time_unit": "ms", "delay_column": "d", "delay_unit": "ms", "round_trip": False}
BY_NUMBER = {**TOLD, "time_column": "1", "delay_column": "2", "header": False}


def rows_of(*cells, separator=","):
    return "".join(f"{separator.join(row)}\n" for row in cells)


@pytest.mark.parametrize("time_of", ["send", "reply"])
def test_two_clocks_are_told_by_the_smallest_delay(tmp_path, time_of):
    """The receiver's clock is three seconds behind; the smallest delay is five milliseconds."""
    path = tmp_path / "s.csv"
    delays_ms = [14.0, 5.0, 7.5]
    times_ms = [10.0 * n + (delay if time_of == "reply" else 0.0) for n, delay in enumerate(delays_ms)]
    path.write_text(rows_of(("t", "d"), *((str(at), str(delay - 3000.0)) for at, delay in zip(times_ms, delays_ms, strict=True))))
    with pytest.raises(TraceError, match=r"line 2, d is '-2986\.0'; .* format\.floor_ms=MS if the two ends have two clocks"):
        import_csv(path, **TOLD, time_of=time_of)
    made = import_csv(path, **TOLD, time_of=time_of, floor_ms=5.0)
    assert made.one_way_delay_us.tolist() == [14_000, 5_000, 7_500] and made.sent_us.tolist() == [0, 10_000, 20_000]
    for told, message in (
        ({"floor_ms": -1.0}, "floor_ms is -1.0; allowed: 0.0 to 1000.0"),
        ({"round_trip": True, "floor_ms": 5.0}, "none"),
    ):
        with pytest.raises(TraceError, match=message):
            import_csv(path, **TOLD | told)


@pytest.mark.parametrize("unit", SCALE)
def test_the_unit_of_a_time_since_1970_is_told(tmp_path, unit):
    """Other units are refused with the right one; the first probe keeps its time on the clock."""
    path = tmp_path / "s.csv"
    start_us, scale = 1_734_547_219_236_184, {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}[unit]
    path.write_text(rows_of(*((f"{(start_us + 10_000 * n) / scale:.6f}", "20") for n in range(100))))
    made = import_csv(path, **BY_NUMBER | {"time_unit": unit})
    assert abs(made.start_us - start_us) <= 1 and np.abs(made.sent_us - 10_000 * np.arange(100)).max() <= 1
    write_trace(made, tmp_path / "s.csv.gz")
    again = read_trace(tmp_path / "s.csv.gz")
    assert again.start_us == made.start_us and np.array_equal(again.sent_us, made.sent_us)
    for said in set(SCALE) - {unit}:
        with pytest.raises(TraceError, match=rf"as a time since 1970 it is in {unit}$"):
            import_csv(path, **BY_NUMBER | {"time_unit": said})
