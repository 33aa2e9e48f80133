"""Logs of fping: a trace of each host on one clock, whatever was lost, and nothing read from what is no ping."""

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.importers.fping import import_fping
from vcgym.network.traces.trace import TraceError
from vcgym.network.traces.trace_file import read_trace
from vcgym.scripts.importing.formats import Fping

START_S = 1_700_000_000
HOSTS = {"192.0.2.1": 20.0, "relay.example": 35.0, "2001:db8::9": 80.0}


def ping(host, number, ms=None, stamp=True, after=""):
    """Line of ping `number`, sent every 10 ms, hosts 1 ms apart; without `ms` it timed out after 500 ms."""
    sent_s = START_S + number / 100 + list(HOSTS).index(host) / 1000
    said = f"[{sent_s + (500 if ms is None else ms) / 1e3:.5f}] " if stamp else ""
    said += f"{host:<13} : [{number}], "
    return said + ("timed out (21.0 avg, 9% loss)" if ms is None else f"64 bytes, {ms:.1f} ms (21.0 avg, 0% loss){after}")


def log(pings=20, lost=(), stamp=True):
    return [ping(host, n, None if (host, n) in lost else ms + n % 4, stamp) for n in range(pings) for host, ms in HOSTS.items()]


def read(tmp_path, lines, **told):
    path = tmp_path / "log.txt"
    path.write_text("\n".join([*lines, ""]))
    return import_fping(path, **told)


def test_one_trace_a_host_on_one_clock(tmp_path):
    made = read(tmp_path, log(lost={("192.0.2.1", 7), ("relay.example", 8)}))
    assert list(made) == list(HOSTS)
    for at, (host, ms) in enumerate(HOSTS.items()):
        assert abs(made[host].start_us - (START_S * 10**6 + 1_000 * at)) <= 10 and made[host].round_trip
        assert np.abs(made[host].sent_us - 10_000 * np.arange(20)).max() <= 10
        answered = made[host].one_way_delay_us != LOST
        assert made[host].one_way_delay_us[answered].tolist() == [round(1e3 * (ms + n % 4)) for n in np.flatnonzero(answered)]
    assert [np.flatnonzero(made[host].one_way_delay_us == LOST).tolist() for host in HOSTS] == [[7], [8], []]


def test_lost_pings_at_the_ends_and_missing_numbers_are_lost(tmp_path):
    lost = {("192.0.2.1", n) for n in (0, 1, 18, 19)}
    lines = [line for line in log(lost=lost) if ": [9]" not in line]
    made = read(tmp_path, lines)["192.0.2.1"]
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == [0, 1, 9, 18, 19]
    assert np.abs(made.sent_us - 10_000 * np.arange(20)).max() <= 20 and abs(made.start_us - START_S * 10**6) <= 20


def test_a_host_that_never_replied_and_other_lines_are_named(tmp_path):
    others = ["nohup: ignoring input", "[12:00:00]", "192.0.2.1     : xmt/rcv/%loss = 20/20/0%, min/avg/max = 20.0/21.5/23.0", "",
              "ICMP Host Unreachable from 198.51.100.1 for ICMP Echo sent to 2001:db8::9", "user@host:~$ fping -D -l 192.0.2.1",
              "[1700000000.11000] 192.0.2.1 : duplicate for [7], 64 bytes, 23.3 ms"]  # fmt: skip
    lines = log(lost={("2001:db8::9", n) for n in range(20)})
    made = read(tmp_path, [*lines[:30], *others, *lines[30:]])
    assert list(made) == ["192.0.2.1", "relay.example"]
    assert made["192.0.2.1"].notes == ("hosts without a reply: 2001:db8::9", "lines without a ping: 2")
    assert len(made["192.0.2.1"].sent_us) == 20


@pytest.mark.parametrize("after", [" [<- 198.51.100.1]", " (TOS 0) (TTL 57)", " (SRC 198.51.100.1)", ", 0 ms outage"])
def test_what_options_of_fping_add(tmp_path, after):
    made = read(tmp_path, [ping("192.0.2.1", n, 20.0, after=after) for n in range(5)])
    assert made["192.0.2.1"].one_way_delay_us.tolist() == [20_000] * 5


def test_logs_without_stamps_need_the_spacing(tmp_path):
    lines = log(lost={("192.0.2.1", 7)}, stamp=False)
    with pytest.raises(TraceError, match=r"line 1, time stamp is None; allowed: a stamp on every reply \(fping -D\), or interval_ms"):
        read(tmp_path, lines)
    made = read(tmp_path, lines, interval_ms=10.0)["192.0.2.1"]
    assert made.sent_us.tolist() == (10_000 * np.arange(20)).tolist() and np.flatnonzero(made.one_way_delay_us == LOST).tolist() == [7]
    with pytest.raises(TraceError, match="no stamps when interval_ms is given"):
        read(tmp_path, log(), interval_ms=10.0)


def test_lists_of_count_mode(tmp_path):
    lines = ["192.0.2.1     : 20.3 - 22.1 1.5e+01 -", "relay.example : 35.0 35.1 - 35.2 35.3", "2001:db8::9   : - - - - -"]
    made = read(tmp_path, lines, interval_ms=100.0)
    assert made["192.0.2.1"].one_way_delay_us.tolist() == [20_300, LOST, 22_100, 15_000, LOST]
    assert made["relay.example"].one_way_delay_us.tolist() == [35_000, 35_100, LOST, 35_200, 35_300]
    assert made["192.0.2.1"].notes == ("hosts without a reply: 2001:db8::9",)
    both = read(tmp_path, [*log(5), *lines])  # the lists repeat what stands above
    assert len(both["192.0.2.1"].sent_us) == 5 and LOST not in both["192.0.2.1"].one_way_delay_us


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1700000000.1] 192.0.2.1 : [1], 64 bytes, 20.3", "line 1 is .*; allowed: a complete line of the output of fping -D"),
        ("[1700000000.1] 192.0.2.1 : [1], 64 bytes, -3 ms (20.3 avg, 0% loss)", "line 1, time is '-3'; allowed: a number from 0 to 60000"),
        ("[2024-05-01T12:00:00+0000] 192.0.2.1 : [1], 64 bytes, 20 ms (20.3 avg, 0% loss)", "line 1, time stamp is"),
        ("[1700000000.1] 192.0.2.1 : [1], timed out (NaN avg, 100% loss)", "number of replies is 0"),
        (
            "[1700000000.1] 192.0.2.1 : [9], 64 bytes, 20.3 ms (20.3 avg, 0% loss)\n" * 2,
            "line 2, seq is 9; allowed: each number answered once",
        ),
        (
            "[1] a : [1], 64 bytes, 20 ms (20 avg, 0% loss)\n[1700000000.1] a : [2], 64 bytes, 20 ms (20 avg, 0% loss)",
            r"log\.txt: line 2, us after the first is 1699999999100000; allowed: at most 86400000000",
        ),
        ("192.0.2.1 is alive", "number of replies is 0; allowed: at least 1, such as"),
    ],
)
def test_what_is_no_log_of_fping_is_refused(tmp_path, line, message):
    with pytest.raises(TraceError, match=message):
        read(tmp_path, line.rstrip().split("\n"))


def test_a_folder_of_hosts_or_one_file(tmp_path):
    (tmp_path / "log.txt").write_text("\n".join([*log(lost={("192.0.2.1", 7)}), ""]))
    written = Fping().imported(tmp_path / "log.txt", tmp_path / "out")
    assert [one.output.name for one in written] == ["192.0.2.1.csv.gz", "relay.example.csv.gz", "2001-db8-9.csv.gz"]
    assert [read_trace(one.output).start_us // 1000 % 1000 for one in written] == [0, 1, 2]
    assert "1 lost (5 %)" in written[0].found
    with pytest.raises(DataError, match=r"output is 'one\.csv\.gz'; allowed: a folder for the 3 hosts"):
        Fping().imported(tmp_path / "log.txt", tmp_path / "one.csv.gz")
    with pytest.raises(DataError, match="existing"):
        Fping().imported(tmp_path / "log.txt", tmp_path / "out")
    (tmp_path / "log.txt").write_text("\n".join([*(line for line in log() if "relay" in line), ""]))
    assert [one.output.name for one in Fping().imported(tmp_path / "log.txt", tmp_path / "one.csv.gz")] == ["one.csv.gz"]
