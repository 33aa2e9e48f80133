"""More than a million random lines of ping, valid and corrupted: the import equals the sent pings, or an error names the corrupted line.

Each log is written from known pings. Pings are evenly spaced, so the send time of a lost one is known too.
"""

import gzip
import tracemalloc
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces import reading
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.network.traces.trace import TraceError

START_US = 1_600_000_000_000_000
LINES = 1_000_000


class Log(NamedTuple):
    """A log and what was sent. `lines` has the replies in order of arrival, `ping` tells which ping each answers."""

    lines: list[str]
    ping: np.ndarray
    sent_us: np.ndarray
    delay_us: np.ndarray
    interval_ms: int
    stamped: bool


def a_log(rng, pings, stamped):
    interval_ms = int(rng.integers(5, 100))
    sent_us = np.arange(pings) * interval_ms * 1000
    # Steps of a tenth of a millisecond, as ping writes them; now and then so late that others overtake.
    rtt_us = (200 + rng.integers(0, 100, pings) + 3_000 * (rng.random(pings) < 0.01)) * 100
    lost = rng.random(pings) < 0.02
    for at in rng.integers(1, pings - 1, pings // 1000 + 1):
        lost[at : at + 30] = True
    lost[[0, -1]] = False
    ping = np.flatnonzero(~lost)
    ping = ping[np.argsort((sent_us + rtt_us)[ping], kind="stable")]
    seq = (np.arange(pings) + int(rng.choice([0, 1, 64_900, 65_535]))) % 65_536
    seen = START_US + sent_us + rtt_us
    host = rng.choice(["192.0.2.1", "host.example (192.0.2.1)", "2001:db8::1", "fe80::1%eth0"])
    lines = [
        (f"[{s // 1_000_000}.{s % 1_000_000:06d}] " if stamped else "") + f"64 bytes from {host}: icmp_seq={n} ttl=57 time={r / 10:.1f} ms"
        for s, n, r in zip(seen[ping].tolist(), seq[ping].tolist(), (rtt_us[ping] // 100).tolist(), strict=True)
    ]
    return Log(lines, ping, sent_us, np.where(lost, LOST, rtt_us), interval_ms, stamped)


def text(log, lines=None):
    return "\n".join(["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", *(log.lines if lines is None else lines), ""])


def summary(log):
    counts = f"{len(log.sent_us)} packets transmitted, {len(log.lines)} received, 2% packet loss, time 1ms"
    return ["", "--- 192.0.2.1 ping statistics ---", counts, "rtt min/avg/max/mdev = 20.0/25.0/330.0/1.0 ms"]


def read(tmp_path, log, content, name="log.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return import_ping_text(path, interval_ms=None if log.stamped else log.interval_ms)


def assert_equals(trace, log, answered=None):
    """The trace has the pings of the log from the first to the last one answered."""
    answered = np.sort(log.ping if answered is None else answered)
    whole = slice(answered[0], answered[-1] + 1)
    delay = np.full(len(log.delay_us), LOST)
    delay[answered] = log.delay_us[answered]
    assert np.array_equal(trace.sent_us, log.sent_us[whole] - log.sent_us[answered[0]])
    assert np.array_equal(trace.one_way_delay_us, delay[whole])


def other(lines, at, *instead):
    return [*lines[:at], *instead, *lines[at + 1 :]]


# Spoilers of one line: from the line to what stands there instead, and to the field that the error names.
ONE_LINE = {
    "decimal comma": (lambda line: spoiled_time(line, "25,5"), ", time"),
    "microseconds": (lambda line: line[:-2] + "us", ""),
    "seconds": (lambda line: line[:-2] + "s", ""),
    "no unit": (lambda line: line[:-3], ""),
    "not a number": (lambda line: spoiled_time(line, "nan"), ", time"),
    "infinite": (lambda line: spoiled_time(line, "inf"), ", time"),
    "negative": (lambda line: spoiled_time(line, "-0.1"), ", time"),
    "over a minute": (lambda line: spoiled_time(line, "60000.1"), ", time"),
    "beyond any float": (lambda line: spoiled_time(line, "1e999"), ", time"),
    "five thousand digits": (lambda line: spoiled_time(line, "9" * 5_000), ", time"),
    "nothing": (lambda line: spoiled_time(line, ""), ""),
    "underscore": (lambda line: spoiled_time(line, "2_5.0"), ", time"),
    "full-width digits": (lambda line: spoiled_time(line, "\uff12\uff15"), ""),
    "NUL in the number": (lambda line: spoiled_time(line, "2\0" + "5"), ""),
    "NUL in the line": (lambda line: line.replace("bytes", "bytes\0"), ""),
    "number of 17 bits": (lambda line: line.replace("icmp_seq=", "icmp_seq=9999"), ", icmp_seq"),
    "negative number": (lambda line: line.replace("icmp_seq=", "icmp_seq=-"), ""),
    "Windows": (lambda _: "Reply from 192.0.2.1: bytes=32 time=12ms TTL=57", ""),
    "half a line": (lambda line: line[: len(line) // 2], ""),
    "another run": (lambda _: "PING 192.0.2.2 (192.0.2.2) 56(84) bytes of data.", ""),
}
ONE_STAMP = {
    "clock running back": lambda stamp: f"{float(stamp) - 40:.6f}",
    "milliseconds": lambda stamp: f"{float(stamp) * 1e3:.3f}",
    "no number": lambda _: "yesterday",
    "negative": lambda stamp: f"-{stamp}",
    "not a number": lambda _: "nan",
}
CHATTER = b"\nno answer yet for icmp_seq=77\nFrom 192.0.2.9 icmp_seq=3 Time to live exceeded\nping: sendmsg: No buffer space available\n"
WHOLE = {
    "as it is": lambda content: content,
    "byte-order mark": lambda content: b"\xef\xbb\xbf" + content,
    "CR LF": lambda content: content.replace(b"\n", b"\r\n"),
    "CR alone": lambda content: content.replace(b"\n", b"\r"),
    "blank lines": lambda content: content.replace(b"\n", b"\n\n"),
    "no line break at the end": lambda content: content.rstrip(b"\n"),
    "chatter": lambda content: content.replace(b"\n", CHATTER, 3),
}
NOT_TEXT = {
    "UTF-16": (lambda content: content.decode().encode("utf-16"), "encoding is 'UTF-16'; allowed: UTF-8 text"),
    "UTF-16 without a mark": (lambda content: content.decode().encode("utf-16-le"), "encoding is 'UTF-16'"),
    "UTF-32": (lambda content: content.decode().encode("utf-32"), "encoding is 'UTF-32'"),
    "a byte that is not text": (lambda content: content + b"\xff", "allowed: UTF-8 text"),
}


def spoiled_time(line, instead):
    before, _, _ = line.partition("time=")
    return f"{before}time={instead} ms"


def spoiled(log, rng):
    """A spoiled log: its name, its text, and the error (None: it still says what was sent; else the pings it says were answered)."""
    at = int(rng.integers(1, len(log.lines) - 1))
    line = at + 2  # a header, and lines are counted from 1
    name = str(rng.choice([*ONE_LINE, "duplicate", "marked duplicate", "late", "deleted", "joined"]))
    here, after = log.lines[at : at + 2]
    if name in ONE_LINE:
        change, field = ONE_LINE[name]
        return name, text(log, other(log.lines, at, change(here))), rf"log\.txt: line {line}.*{field}"
    if name == "duplicate":
        return name, text(log, other(log.lines, at, here, here)), rf"line {line + 1}, seq is .*line {line} has it too"
    if name == "marked duplicate":
        return name, text(log, other(log.lines, at, here, here + " (DUP!)")), log.ping
    if name == "deleted":
        return name, text(log, other(log.lines, at)), np.delete(log.ping, at)
    if name == "joined":
        cut = int(rng.integers(3, len(here) + 1))  # less would only change the size of the next reply
        return name, text(log, other(log.lines[: at + 1] + log.lines[at + 2 :], at, here[:cut] + after)), rf"log\.txt: line {line}"
    # A reply that is far too late for its number: pings are numbered in order of sending.
    seq = int(here.partition("icmp_seq=")[2].partition(" ")[0])
    jumped = here.replace(f"icmp_seq={seq} ", f"icmp_seq={(seq + 30_000) % 65_536} ")
    return name, text(log, other(log.lines, at, jumped)), rf"line {line}, icmp_seq" if log.stamped else None


def test_a_million_lines(tmp_path):
    rng = np.random.default_rng(3)
    outcomes = Counter()
    long = [a_log(rng, 300_000, True), a_log(rng, 200_000, False)]
    for log in long:
        assert_equals(read(tmp_path, log, text(log, log.lines + summary(log))), log)
    total = sum(len(log.lines) for log in long)
    while total < LINES:
        log = a_log(rng, int(rng.integers(300, 1_500)), bool(rng.random() < 0.6))
        name, content, expected = spoiled(log, rng)
        if expected is None:
            continue  # without stamps nothing contradicts a wrong number
        total += len(log.lines)
        outcomes[name] += 1
        if isinstance(expected, str):
            with pytest.raises(TraceError, match=expected):
                read(tmp_path, log, content)
        else:
            assert_equals(read(tmp_path, log, content), log, expected)
    assert min(outcomes.values()) >= 3 and len(outcomes) == len(ONE_LINE) + 5


@pytest.mark.parametrize("stamped", [True, False])
def test_the_same_log_in_other_clothes(tmp_path, stamped):
    log = a_log(np.random.default_rng(4), 2_000, stamped)
    content = text(log).encode()
    for dress in WHOLE.values():
        assert_equals(read(tmp_path, log, dress(content)), log)
    assert_equals(read(tmp_path, log, gzip.compress(content), "log.txt.gz"), log)
    for spoil, message in NOT_TEXT.values():
        with pytest.raises(TraceError, match=message):
            read(tmp_path, log, spoil(content))


@pytest.mark.parametrize("name", ONE_STAMP)
def test_a_wrong_stamp_is_named(tmp_path, name):
    log = a_log(np.random.default_rng(5), 1_000, True)
    stamp, _, rest = log.lines[500][1:].partition("]")
    with pytest.raises(TraceError, match=r"log\.txt: line 502, time stamp"):
        read(tmp_path, log, text(log, other(log.lines, 500, f"[{ONE_STAMP[name](stamp)}]{rest}")))
    # One that jumped ahead is found at the next, which seems to run back.
    with pytest.raises(TraceError, match=r"log\.txt: line 503, time stamp"):
        read(tmp_path, log, text(log, other(log.lines, 500, f"[{float(stamp) + 40:.6f}]{rest}")))
    with pytest.raises(TraceError, match=r"log\.txt: line 502, time stamp is None"):
        read(tmp_path, log, text(log, other(log.lines, 500, rest.strip())))


def test_replies_in_another_order_are_the_same_pings(tmp_path):
    rng = np.random.default_rng(6)
    log = a_log(rng, 3_000, False)
    near = np.argsort(np.arange(len(log.lines)) + rng.random(len(log.lines)) * 900)
    assert_equals(read(tmp_path, log, text(log, [log.lines[at] for at in near])), log)


@pytest.mark.parametrize("stamped", [True, False])
def test_a_log_cut_off_anywhere(tmp_path, stamped):
    rng = np.random.default_rng(8)
    log = a_log(rng, 400, stamped)
    content = text(log).encode()
    ends = np.cumsum([len(line) + 1 for line in content.decode().split("\n")]) - 1  # where each line ends, without its break
    for cut in rng.integers(1, len(content), 300).tolist():
        whole = int(np.searchsorted(ends, cut, side="right"))  # lines that are there to their last character
        rest = content[(0 if whole == 0 else ends[whole - 1] + 1) : cut].strip()
        replies = max(0, whole - 1)
        if rest and not (whole == 0 and len(rest) >= 4):  # what is left of a header still begins with PING
            with pytest.raises(TraceError, match=rf"line {whole + 1} is"):
                read(tmp_path, log, content[:cut])
        elif not replies:
            with pytest.raises(TraceError, match="number of replies is 0"):
                read(tmp_path, log, content[:cut])
        else:
            assert_equals(read(tmp_path, log, content[:cut]), log, log.ping[:replies])


def test_a_packed_log_cut_off_anywhere_is_refused(tmp_path):
    rng = np.random.default_rng(9)
    log = a_log(rng, 400, True)
    packed = gzip.compress(text(log).encode())
    for cut in rng.integers(0, len(packed), 100).tolist():
        with pytest.raises(TraceError, match=r"log\.txt\.gz: (file is|number of replies is 0)"):
            read(tmp_path, log, packed[:cut], "log.txt.gz")
    for at in rng.integers(10, len(packed), 100).tolist():
        broken = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
        with pytest.raises(TraceError, match=r"log\.txt\.gz"):
            read(tmp_path, log, broken, "log.txt.gz")


def test_a_gzip_bomb_is_refused_before_it_unpacks(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_CONTENT_BYTES", 1_000_000)
    path = tmp_path / "log.txt.gz"
    path.write_bytes(gzip.compress(b"\n" * 100_000_000))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match="unpacked size in bytes is 'more than 1000000'; allowed: at most 1000000"):
            import_ping_text(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
