"""Lines of `ping` in any language: a reply, the header, the final counts, or a line that carries no reply.

They are read by position, since iputils translates all words but `icmp_seq` and `ttl`: numbers keep their order. A line that looks like a
reply but is none, such as one that was cut off, is rejected; any other line is passed over and counted.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from vcgym.network.traces.reading import TraceError, iso_us, lines, number
from vcgym.network.traces.trace import MAX_TIME_US

FIELDS = ["time stamp", "icmp_seq", "time", "mark", "host"]
CORRUPT = "corrupt"  # in place of a mark

_REPLY = re.compile(
    r"(?:\[([^]]*)\] ?)?([^\x00-\x1f=\[\]]*)[\s:,\uff1a](?:icmp_)?(?:seq|req)=([0-9]+)\.?(?:[\s,]+[^\s=,][^\s=]*=[0-9]+)*"
    r"[\s,]+[^\s=,][^\s=]*=([!-~]+?)\s?(?:ms|msec|[^\x00-\x7f\s]+(?: [^\x00-\x7f\s]+)*)((?:\s?\([^)]*\))*)\s*"
)
_LEADING_STAMP = re.compile(r"([0-9]{9,10}\.[0-9]+|[0-9]{4}-?[0-9]{2}-?[0-9]{2}[T ][^ ]*[.,][0-9]+(?:Z|[-+][0-9:]+)?) ")
_ENGLISH = re.compile(r"(?:.{0,40}[0-9]:[0-9]{2}:[0-9]{2}.{0,40} )?[0-9]+ bytes from [^ ]+(?: \([^ ]*\))?[:,]?")  # a date and time may lead
_ADDRESS = re.compile(r"(?<![\w.:-])[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]*[0-9A-Fa-f:](?![.-]?[0-9A-Za-z])")
_BAD = re.compile(r"CHECKSUM|DIFFERENT", re.IGNORECASE)
_SPOILED = re.compile(
    r"(?:seq|req)=[^\s,]{0,20}[\s,]+[^\s=(,][^\s=(]*="  # the number is followed by another field, as in a reply
    r"|^(?:\[[^]]*\] ?)?[0-9]+ bytes from (?!\S+(?: \([^)]*\))?: [A-Z])"  # and not by words such as Time to live exceeded
)
_NOT_WINDOWS = (
    "ping of Linux (also under WSL), macOS, BSD or BusyBox, or irtt; ping of Windows has whole milliseconds, one probe a second, and no "
    "number that shows which was lost"
)
_WINDOWS = re.compile(r".*[=<][0-9]+ ?ms TTL=[0-9]+\s*")
_EXPECTED = re.compile(
    r"(?:\[[^]]*\] )?(?:no answer yet for icmp_seq=[0-9]+|From .+ icmp_seq=[0-9]+ .+|Request timeout for icmp_seq [0-9]+)"
    r"|.*\(truncated\)|(?:rtt|round-trip) min/avg/max.*|ping6?: .*|"
)
_STATISTICS = re.compile(r"--- .* ---")
_COUNTS = re.compile(r"([0-9]+) packets transmitted, ([0-9]+) (?:packets )?received.*")
_COUNTS_BY_POSITION = re.compile(r"[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9].*%.*")
_OUT_OF_WAIT = re.compile(r"([0-9]+) packets out of wait time")
_ALLOWED = "a complete line of the output of ping; LC_ALL=C ping ... writes English"


class Counts(NamedTuple):
    """Final counts of `ping`; `hidden` replies came too late to be printed, which macOS counts as received."""

    line: int
    sent: int
    answered: int
    hidden: int


class Replier(NamedTuple):
    """Sender of a reply: its address, or its name if it has none, and the size of the reply, which another process may choose."""

    host: str
    size: str


class PingLines:
    """Reader of the lines of one run.

    Attributes:
        target: address in the header, else in the line above the final counts, or None.
        hosts: number of each sender of replies, in order of its first one.
        counts: the final counts, or None.
        passed: number of lines that are no part of the output of `ping`.
    """

    def __init__(self, path: Path, content: bytes):
        self.path, self.content = path, content
        self.target: str | None = None
        self.hosts: dict[Replier, int] = {}
        self.counts: Counts | None = None
        self.passed = 0
        self._started = 0
        self._ending = False

    def replies(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line and `FIELDS` of each reply, as text; the host by its number.

        Raises:
            TraceError: a second run, a reply that is incomplete, or a last line that was cut off.
        """
        for line, text in enumerate(lines(self.path, self.content), 1):
            words = text.rstrip("\r\n")
            if reply := _REPLY.fullmatch(words):
                yield line, self._reply(line, *reply.groups(""))
            elif words:
                self._other(line, words.strip().removeprefix("^C"), ended=words != text)

    def _reply(self, line: int, stamp: str, who: str, seq: str, time: str, marks: str) -> list[str]:
        if not stamp and (leading := _LEADING_STAMP.match(who)):
            stamp, who = leading[1], who[leading.end() :]
        if ("T" in stamp or "-" in stamp) and (since_1970 := iso_us(stamp)) is not None:
            stamp = f"{since_1970 / 1e6:.6f}"
        if (sender := _sender(who)) is None:
            raise TraceError(self.path, f"line {line}", who, _ALLOWED)
        host = self.hosts.setdefault(sender, len(self.hosts))
        return [stamp, seq, time, CORRUPT if _BAD.search(marks) else marks, str(host)]

    def _other(self, line: int, words: str, *, ended: bool) -> None:
        if words.startswith("PING"):
            if self._started:
                raise TraceError(self.path, f"line {line}", words, f"a single run of ping; line {self._started} starts another")
            self._started, self.target = line, _target(words)
        elif _STATISTICS.fullmatch(words):
            self._ending, self.target = True, self.target or _target(words)
        elif counts := _COUNTS.fullmatch(words) or (self._ending and _COUNTS_BY_POSITION.fullmatch(words)):
            sent, answered = (int(number(self.path, f"line {line}, counts", count, 0, MAX_TIME_US)) for count in counts.groups())
            hidden = _OUT_OF_WAIT.search(words)
            self.counts = Counts(line, sent, answered, int(hidden[1][:18]) if hidden else 0)
        elif _EXPECTED.fullmatch(words) or self._ending:
            pass
        elif _WINDOWS.fullmatch(words):
            raise TraceError(self.path, f"line {line}", words, _NOT_WINDOWS)
        elif _SPOILED.search(words) or not ended:
            raise TraceError(self.path, f"line {line}", words, _ALLOWED)
        else:
            self.passed += 1


@lru_cache(maxsize=1024)
def _sender(who: str) -> Replier | None:
    """Return the sender that the words before the number of a reply name; None for two joined lines."""
    sizes = [word for word in who.split() if word.isdecimal()]
    if not _ENGLISH.fullmatch(who) if "bytes from" in who else len(sizes) > 1:
        return None
    return Replier(next(reversed(addresses(who)), who.rpartition(" ")[2].strip(":,\uff1a")), sizes[-1] if sizes else "")


def _target(header: str) -> str | None:
    """Return the address that a header names first, after its own one if it names that."""
    return next(iter(addresses(header.rpartition("-->")[2])), None)


def addresses(words: str) -> list[str]:
    """Return the addresses of IP in `words`, in one spelling each, without a zone."""
    found = []
    for word in _ADDRESS.findall(words):
        with suppress(ValueError):
            found.append(str(ip_address(word if word.endswith("::") else word.rstrip(":"))))
    return found
