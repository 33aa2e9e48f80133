"""Logs of `ping` as programs, shells and translations write them: the same pings, whatever stands between the replies."""

from contextlib import suppress

import numpy as np
import pytest

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.network.traces.importers.ping_lines import addresses
from vcgym.network.traces.trace import TraceError

START_S = 1_700_000_000
RTT_MS = 20.0 + np.arange(20) % 5 * 1.5
HEADER = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."

# A reply in the words of each program or language: number and milliseconds.
REPLIES = {
    "iputils": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "iputils, name": "64 bytes from host.example (192.0.2.1): icmp_seq={n} ttl=57 time={ms} ms",
    "iputils, old": "64 bytes from 192.0.2.1: icmp_req={n} ttl=57 time={ms} ms",
    "iputils, IPv6": "64 bytes from 2001:db8::1: icmp_seq={n} ttl=57 time={ms} ms",
    "iputils, IPv6 by name": "64 bytes from host.example (2001:db8::1): icmp_seq={n} ttl=57 time={ms} ms",
    "iputils, name alone": "64 bytes from host.example: icmp_seq={n} ttl=57 time={ms} ms",
    "iputils, zone": "64 bytes from fe80::1%eth0: icmp_seq={n} ttl=64 time={ms} ms",
    "iputils -e": "64 bytes from 192.0.2.1: icmp_seq={n} ident=77 ttl=57 time={ms} ms",
    "macOS": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "macOS ping6": "16 bytes from 2001:db8::1, icmp_seq={n} hlim=57 time={ms} ms",
    "macOS --apple-time": "12:00:00.123456 64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "BusyBox": "64 bytes from 192.0.2.1: seq={n} ttl=57 time={ms} ms",
    "inetutils": "64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "Solaris": "64 bytes from host.example (192.0.2.1): icmp_seq={n}. time={ms} ms",
    "date in a loop": "Wed May  1 12:00:00 UTC 2024: 64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "ts": "May 01 12:00:00 64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms",
    "German": "64 Bytes von 192.0.2.1: icmp_seq={n} ttl=57 Zeit={ms} ms",
    "German, name": "64 Bytes von host.example (192.0.2.1): icmp_seq={n} ttl=57 Zeit={ms} ms",
    "French": "64 octets de 192.0.2.1 : icmp_seq={n} ttl=57 temps={ms} ms",
    "French, spaces that do not break": "64 octets de 192.0.2.1\u00a0: icmp_seq={n} ttl=57 temps={ms}\u202fms",
    "Spanish": "64 bytes desde 192.0.2.1: icmp_seq={n} ttl=57 tiempo={ms} ms",
    "Italian": "64 byte da 192.0.2.1: icmp_seq={n} ttl=57 tempo={ms} ms",
    "Portuguese": "64 bytes de 192.0.2.1: icmp_seq={n} ttl=57 tempo={ms} ms",
    "Polish": "64 bajty z 192.0.2.1: icmp_seq={n} ttl=57 czas={ms} ms",
    "Czech": "64 bajtů od 192.0.2.1: icmp_seq={n} ttl=57 čas={ms} ms",
    "Finnish": "64 tavua osoitteesta 192.0.2.1: icmp_seq={n} ttl=57 aika={ms} ms",
    "Turkish": "192.0.2.1 adresinden 64 bayt: icmp_seq={n} ttl=57 süre={ms} ms",
    "Russian": "64 байт от 192.0.2.1: icmp_seq={n} ttl=57 время={ms} мс",
    "Ukrainian": "64 байтів від 192.0.2.1: icmp_seq={n} ttl=57 час={ms} мс",
    "Japanese": "192.0.2.1 から 64 バイト: icmp_seq={n} ttl=57 時間={ms}ミリ秒",
    "Japanese, newer": "64 バイト応答 送信元 192.0.2.1: icmp_seq={n} ttl=57 時間={ms}ミリ秒",
    "Chinese": "64 字节\uff0c来自 192.0.2.1: icmp_seq={n} ttl=57 时间={ms} 毫秒",
    "Chinese, wide colon": "64 字节\uff0c来自 192.0.2.1\uff1a icmp_seq={n} ttl=57 时间={ms} 毫秒",
    "Korean, newer": "64 바이트 (192.0.2.1에서): icmp_seq={n} ttl=57 시간={ms} ms",
    "Korean": "192.0.2.1 에서 64 바이트: icmp_seq={n} ttl=57 시간={ms} 밀리초",
    "Arabic": "64 بايت من 192.0.2.1: icmp_seq={n} ttl=57 الزمن={ms} مللي ثانية",
}  # fmt: skip
STAMPS = {
    "-D": lambda s: f"[{s:.6f}] ",
    "ts %.s": lambda s: f"{s:.6f} ",
    "ISO 8601 in brackets": lambda s: f"[{np.datetime64(round(s * 1e6), 'us')}Z] ",
    "ISO 8601": lambda s: f"{np.datetime64(round(s * 1e6), 'us')}+00:00 ",
    "ISO 8601, space": lambda s: f"{str(np.datetime64(round(s * 1e6), 'us')).replace('T', ' ')} ",
}


def lines_of(reply=REPLIES["iputils"], stamp=None, first=1, lost=()):
    """Pings every 10 ms; the stamp is that of the reply."""
    said = [reply.format(n=first + n, ms=f"{ms:.1f}") for n, ms in enumerate(RTT_MS)]
    if stamp:
        said = [stamp(START_S + n / 100 + ms / 1e3) + line for n, (line, ms) in enumerate(zip(said, RTT_MS, strict=True))]
    return [line for n, line in enumerate(said) if n not in lost]


def read(tmp_path, lines, interval_ms=10.0, **told):
    path = tmp_path / "log.txt"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return import_ping_text(path, interval_ms=interval_ms, **told)


def assert_pings(made, lost=()):
    assert made.sent_us.tolist() == (10_000 * np.arange(20)).tolist()
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == sorted(lost)
    assert made.one_way_delay_us[made.one_way_delay_us != LOST].tolist() == [
        round(1e3 * ms) for n, ms in enumerate(RTT_MS) if n not in lost
    ]


@pytest.mark.parametrize("name", REPLIES)
def test_every_language_and_program(tmp_path, name):
    made = read(tmp_path, lines_of(REPLIES[name], lost=(7,)))
    assert_pings(made, lost=(7,))
    assert made.notes == ()


@pytest.mark.parametrize("stamp", STAMPS)
@pytest.mark.parametrize("name", ["iputils", "German", "Japanese", "Turkish", "BusyBox"])
def test_every_form_of_stamp(tmp_path, name, stamp):
    made = read(tmp_path, [HEADER, *lines_of(REPLIES[name], STAMPS[stamp], lost=(7,))], None)
    assert_pings(made, lost=(7,))
    assert made.start_us == START_S * 10**6 and made.notes == ()


OTHERS = {
    "nohup": "nohup: ignoring input",
    "clock": "Warning: time of day goes back (-1234us), taking countermeasures.",
    "clock, German": "Warnung: Die Tageszeit läuft rückwärts (-1234us), Gegenmaßnahmen werden getroffen",
    "SIGQUIT": "15/14 packets, 6% loss, min/avg/ewma/max = 20.1/22.2/21.9/26.0 ms",
    "SIGINFO": "15/14 packets received (93.3%) 20.1 min / 22.2 avg / 26.0 max",
    "prompt": "user@host:~$ ping -D -i 0.01 192.0.2.1 | tee log.txt",
    "job": "[1]+  Running                 ping 192.0.2.1 > log.txt &",
    "gateway": "36 bytes from 198.51.100.1: Time to live exceeded",
    "gateway, name": "92 bytes from gw.example (198.51.100.1): Redirect Host(New addr: 198.51.100.2)",
    "dump": "Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src      Dst",
    "wrong byte": "wrong data byte #8 should be 0x8 but was 0x0",
    "device": "ping: Warning: source address might be selected on device other than: eth0.",
    "translated timeout": "icmp_seq=9 が未応答です",
    "translated gateway": "De 198.51.100.1 icmp_seq=9 Délai dépassé (mtu = 1400)",
    "interrupt": "^C",
    "truncated": "76 bytes from 192.0.2.1: icmp_seq=9 ttl=57 (truncated)",
    "garbage": "sm 5.02=emit 75=ltt 9=qes_pmci :1.2.0.291 morf setyb 46",
}
EXPECTED = {"device", "interrupt", "truncated"}  # by ping itself


@pytest.mark.parametrize("where", [0, 1, 9, 20])
@pytest.mark.parametrize("name", OTHERS)
def test_a_line_without_a_reply_is_passed_over_and_counted(tmp_path, name, where):
    lines = [HEADER, *lines_of()]
    made = read(tmp_path, [*lines[:where], OTHERS[name], *lines[where:]])
    assert_pings(made)
    assert made.notes == (() if name in EXPECTED else ("lines without a reply: 1",))


FOREIGN = [
    "56 bytes from 192.0.2.1: icmp_seq=8 ttl=64 time=2.256 ms",
    "1008 bytes from 192.0.2.1: icmp_seq=500 ttl=57 time=20.5 ms",
    "56 bytes from 198.51.100.9: icmp_seq=8 ttl=64 time=2.256 ms",
    "56 bytes from 198.51.100.9: icmp_seq=8 ttl=64 time=1654220132216.256 ms (DUP!)",
    "56 bytes from 198.51.100.9: icmp_seq=40000 ttl=64 time=1654220132216.256 ms",
    "56 bytes from other.example (198.51.100.9): icmp_seq=8 ttl=64 time=0.000 ms",
    "16 bytes from 2001:db8::9, icmp_seq=8 hlim=64 time=5 ms",
    "64 Bytes von 198.51.100.9: icmp_seq=8 ttl=64 Zeit=5 ms",
    "64 바이트 (198.51.100.9에서): icmp_seq=8 ttl=64 시간=5 ms",
    "198.51.100.9 から 64 バイト: icmp_seq=8 ttl=64 時間=5ミリ秒",
]


@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize(
    "header",
    [HEADER, "PING host.example (192.0.2.1): 56 data bytes", "PING 192.0.2.1 (192.0.2.1) from 10.0.0.5 eth0: 56(84) bytes of data."],
)
@pytest.mark.parametrize("where", [1, 8, 12])
def test_a_reply_of_another_host_hides_no_loss(tmp_path, foreign, header, where):
    """The eighth ping is lost, and the reply of another process on the same machine has its number."""
    lines = [header, *lines_of(lost=(7,))]
    made = read(tmp_path, [*lines[:where], foreign, *lines[where:]])
    assert_pings(made, lost=(7,))
    assert made.notes == ("left out of other hosts or processes: 1",)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("64 bytes from host.example (192.0.2.1):", ["192.0.2.1"]),
        ("64 바이트 (192.0.2.1에서):", ["192.0.2.1"]),
        ("64 bytes from 4.3.2.1.in-addr.arpa (192.0.2.1)", ["192.0.2.1"]),
        ("64 bytes from 192-0-2-1.example:", []),
        ("PING6(56=40+8+8 bytes) 2001:db8::2 --> 2001:DB8:0::1", ["2001:db8::2", "2001:db8::1"]),
        ("PING host.example(host.example (2001:db8::)) 56 data bytes", ["2001:db8::"]),
        ("64 bytes from fe80::1%eth0:", ["fe80::1"]),
        ("12:00:00.123456 64 bytes from ::1:", ["::1"]),
        ("Wed May  1 12:00:00 UTC 2024: 64 bytes from host.example", []),
        ("64 bytes from 300.1.2.3:", []),
    ],
)
def test_addresses_in_words(words, found):
    assert addresses(words) == found


def test_without_a_header_the_first_reply_names_the_host(tmp_path):
    lines = lines_of(REPLIES["iputils, IPv6"], lost=(7,))
    made = read(tmp_path, [*lines[:9], FOREIGN[2], FOREIGN[6], *lines[9:]])
    assert_pings(made, lost=(7,))
    assert made.notes == ("left out of other hosts or processes: 2",)


def test_without_a_header_the_final_counts_name_the_host(tmp_path):
    lines = lines_of(lost=(7,))
    ending = ["--- 192.0.2.1 ping statistics ---", "20 packets transmitted, 20 packets received, 0.0% packet loss"]
    made = read(tmp_path, [FOREIGN[2].replace("=8", "=1"), *lines, *ending])
    assert_pings(made, lost=(7,))


def test_an_own_reply_that_macos_marks_after_a_foreign_one_is_the_reply(tmp_path):
    lines = [HEADER, *lines_of()]
    made = read(tmp_path, [*lines[:8], FOREIGN[2], lines[8] + " (DUP!)", *lines[9:], lines[3] + " (DUP!)"])
    assert_pings(made)
    assert made.notes == ("left out of other hosts or processes: 1", "left out as repeated or of 0 ms: 1")


def test_replies_of_many_sizes_are_one_process(tmp_path):
    """As of a sweep of sizes, `ping -g 64 -G 83`."""
    lines = [line.replace("64 bytes", f"{64 + n} bytes") for n, line in enumerate(lines_of())]
    assert_pings(read(tmp_path, [HEADER, *lines]))


def test_corrupt_and_different_replies_and_those_of_0_ms_are_left_out(tmp_path):
    lines = [HEADER, *lines_of()]
    lines[8] += " (BAD CHECKSUM!)"
    lines[10] += " (DIFFERENT ADDRESS!)"
    lines[12] = REPLIES["iputils"].format(n=12, ms="0.000")
    made = read(tmp_path, lines)
    assert_pings(made, lost=(7, 9, 11))
    assert made.notes == ("left out as corrupt: 2", "left out as repeated or of 0 ms: 1")


SUMMARIES = {
    "iputils": (1, "21 packets transmitted, 19 received, +1 duplicates, 9.52381% packet loss, time 212ms"),
    "iputils, errors": (0, "21 packets transmitted, 19 received, +3 errors, 9.52381% packet loss, time 212ms"),
    "iputils, corrupted": (0, "21 packets transmitted, 19 received, +2 corrupted, 9.52381% packet loss, time 212ms, pipe 3"),
    "macOS": (0, "21 packets transmitted, 19 packets received, 9.5% packet loss"),
    "macOS, duplicates counted": (1, "20 packets transmitted, 20 packets received, +1 duplicates, 0.0% packet loss"),
    "macOS, out of wait": (0, "22 packets transmitted, 21 packets received, 4.5% packet loss, 2 packets out of wait time"),
    "BusyBox": (1, "20 packets transmitted, 19 packets received, 1 duplicates, 5% packet loss"),
    "German": (1, "21 Pakete übertragen, 19 empfangen, +1 Duplikate, 9,52381% packet loss, Zeit 212ms"),
    "Japanese": (0, "送信パケット数 21, 受信パケット数 19, パケット損失 9.52381%, 時間 212ミリ秒"),
    "Chinese": (0, "已发送 21 个包\uff0c 已接收 19 个包, 9.52381% 包丢失, 耗时 212 毫秒"),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_counts_of_every_program_fit_a_right_log_and_no_other(tmp_path, name):
    again, counts = SUMMARIES[name]
    lines = [HEADER, *lines_of(lost=(7,))]
    repeated = [lines[3] + " (DUP!)"] * again
    ending = ["^C", "--- 192.0.2.1 ping statistics ---", counts, "rtt min/avg/max/mdev = 20.0/23.0/26.0/2.1 ms", ""]
    assert_pings(read(tmp_path, [*lines, *repeated, *ending]), lost=(7,))
    with pytest.raises(TraceError, match="packets received is"):  # the log lacks its beginning
        read(tmp_path, [lines[0], *lines[9:], *repeated, *ending])
    with pytest.raises(TraceError, match="packets transmitted is 12; allowed: at least 20"):
        read(tmp_path, [*lines, *repeated, *ending[:2], counts.replace(counts[counts.index("2") : counts.index("2") + 2], "12", 1), ""])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["Reply from 192.0.2.1: bytes=32 time=12ms TTL=57"], "line 2 is .* ping of Linux .* or irtt; ping of Windows .* no number"),
        (["Antwort von 192.0.2.1: Bytes=32 Zeit=12ms TTL=57"], "Windows"),
        (["Reply from 192.0.2.1: bytes=32 time<1ms TTL=57"], "Windows"),
        (["64 bytes from 192.0.2.1: icmp_seq=3 ttl=57"], r"line 2 is .*; LC_ALL=C ping \.\.\. writes English"),
        (["64 Bytes von 192.0.2.1: icmp_seq=3 ttl=57 Zeit=20 s"], "LC_ALL=C"),
        (["64 Bytes von 192.0.2.1: icmp_seq=3 ttl=57 Zeit=20"], "LC_ALL=C"),
        (["64 by64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=20 ms"], "line 2 is"),
        (
            ["64 bajty64 bajty z 192.0.2.1: icmp_seq=3 ttl=57 czas=20 ms", "64 64 bajty z 192.0.2.1: icmp_seq=4 ttl=57 czas=20 ms"],
            "line 3 is",
        ),
        (["64 bytes from 192.0.2.1: icmp_seq=9 ttl=57 time=70000 ms"], r"line 2, time is 70000\.0; allowed: a number from 0 to 60000"),
    ],
)
def test_what_is_spoiled_or_of_another_program_is_refused(tmp_path, lines, message):
    with pytest.raises(TraceError, match=message):
        read(tmp_path, [HEADER, *lines, *lines_of()])


@pytest.mark.parametrize(
    "line",
    [
        "64 bytes from 192.0.2.1: icmp_seq=3" + " ,,,,,,,,x=1" * 4_000 + "!",
        "64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=" + "\u6f22" * 60_000 + "!",
        "seq=" * 16_000,
        "1:11:11 " * 8_000 + "icmp_seq=3 ttl=57 time=20 ms",
        "seq=3 ttl=1" + " (x)" * 15_000 + "!",
        "64 bytes from " + "1." * 30_000 + ": icmp_seq=3 ttl=57 time=20 ms",
    ],
)
def test_a_long_line_is_read_in_one_pass(tmp_path, line):
    with suppress(TraceError):
        read(tmp_path, [HEADER, *[line] * 5, *lines_of()])


def test_pings_further_apart_than_usual_are_told(tmp_path):
    with pytest.raises(
        TraceError, match=r"interval_ms is 5000\.0; allowed: 1\.2 to 1200 \(milliseconds\); format\.any_spacing=true takes any"
    ):
        read(tmp_path, lines_of(), 5_000.0)
    assert np.diff(read(tmp_path, lines_of(), 5_000.0, any_spacing=True).sent_us).tolist() == [5_000_000] * 19
