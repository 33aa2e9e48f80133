"""Layout of each paper: its title, its tables as grids of statements, and everything else by source, in the paper's order."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.papers.statements import Statement


class Grid(NamedTuple):
    """Table of a paper.

    Attributes:
        caption: caption of the table.
        pattern: regular expression for whole ids, with the groups `row` and `column`; a cell contains all statements that it maps there.
        names: what the paper calls rows and columns, where the ids differ.
    """

    caption: str
    pattern: str
    names: dict[str, str]


class Paper(NamedTuple):
    """Paper with its tables.

    Attributes:
        name: name of its files.
        title: title for the reader.
        reference: what or whose it is, and number.
        settings: what its settings and short names mean, for the reader of the hover.
        prefix: regular expression for the beginning of its statements' ids.
        grids: its tables in order.
    """

    name: str
    title: str
    reference: str
    settings: str
    prefix: str
    grids: tuple[Grid, ...]


class PictureTable(NamedTuple):
    """Grid filled with statements.

    Attributes:
        caption: caption of the table.
        columns: names of the columns.
        rows: name and cells of each row; a cell contains statements in their order.
    """

    caption: str
    columns: list[str]
    rows: list[tuple[str, list[list[Statement]]]]


_CITIES = {"SHA": "Shanghai", "CAN": "Guangzhou", "TYO": "Tokyo", "MOW": "Moscow", "SAO": "Sao Paulo"}
_PLACES = {"GR": "Greece", "ZA": "South Africa", "SG": "Singapore", "AR": "Argentina", "IDN": "Indonesia", "UGA": "Uganda",
           "US": "United States", "LT": "Lithuania"}  # fmt: skip
_GAINS = {"gain": "audio on time", "gain-10": "its gain, as a share", "gain-points": "its gain, in points", "video": "video on time"}
_KINDS = {f"rtt{rtt}-q{queue}": f"RTT {rtt} ms, {queue} packets" for rtt in (30, 80, 150) for queue in (5, 32)}
_EVENTS = {"plain": "no event", "cross": "80 kbps of cross traffic", "after": "after it", "cut": "A cut off from its router"}
_SYSTEMS = {"optimum": "Optimum", "optimum-of-three-hops": "Optimum of three hops", "mutualcast": "Mutualcast", "simulcast": "Simulcast",
            "celerity": "Celerity"}  # fmt: skip
_APPLICATIONS = {"zoom": "Zoom", "meet": "Meet", "teams": "Teams"}
_EFFECTS = {"rate": "throughput", "direction": "throughput, direction", "median": "median delay", "p95": "95th percentile of the delay",
            "webrtc": "libwebrtc", "draft": "draft"}  # fmt: skip

_SETTINGS = {
    "vcroute": "paper: each packet's delay drawn for itself from a link's worst measured burst, the whole round trip as one way, as in the "
    "authors' log; paper, median burst: the same from its median burst; correlated: half the round trip, first in, first out, with queues "
    "that last; replay: measured satellite series of other places. DRT, VIA and VCR route directly, by Via and by VCRoute; BF is the count "
    "buffer, WM is WMJitter. A negative change is a decrease.",
    "sbpn": "Mbit/s: rate of the bottleneck; % loss: random loss without TCP; the paper gives both only in pictures. On time means within "
    "the expiry time of 200 ms, late means received after it; a less b is the share of a minus that of b.",
    "celerity": "dumbbell: four parties, A and B behind one router, C and D behind the other, and a bottleneck between the routers.",
    "applications": "300 ms, 100 ms: the longest wait in the queue of the limited link, which the study does not state.",
    "gcc": "works ... ms: mean time for which the Wi-Fi link works between two outages. The report's own traces were never published.",
}

PAPERS = (
    Paper("vcroute", "Low-Latency Video Conferencing via Optimized Packet Routing and Reordering", "VCRoute, arXiv 2310.05054",
          _SETTINGS["vcroute"], "(?!S[1-4]-)", (
        Grid("Table I: round trip and loss", r"I-(?P<row>[A-Z]{3})-(?P<column>[A-Z]{3})-(rtt|loss)", _CITIES),
        Grid("Table III: error of the predictor and mean delay", r"III-(?P<row>[A-Z]+)-(?P<column>[A-Z]+)-(rmse|mean)", _PLACES),
        Grid("Table IV: error of the predictor and mean delay", r"IV-(?P<row>[A-Z]+)-(?P<column>\w+)-(rmse|mean)", _CITIES),
    )),
    Paper("sbpn", "SBPN1 and SBPN2 over DCCP CCID 3", "S1, on send buffers that discard by expiry time",
          _SETTINGS["sbpn"], "S1-", (
        Grid("Two TCP flows: SBPN2 and unmodified", r"S1-(?P<row>gain(-10|-points)?|video)-(?P<column>rtt\d+-q\d+)", _GAINS | _KINDS),
    )),
    Paper("celerity", "Celerity", "S2, Chen et al., ACM Multimedia 2011", _SETTINGS["celerity"], "S2-", tuple(
        Grid(f"Rates on the dumbbell: {name}", rf"S2-(?P<row>[a-z-]+)-{event}-(?P<column>[ABCD])", _SYSTEMS)
        for event, name in _EVENTS.items()
    )),
    Paper("applications", "Measuring the Performance and Network Utilization of Popular Video Conferencing Applications",
          "S3, arXiv 2105.13478", _SETTINGS["applications"], "S3-", (
        Grid("Uplink at 10 Mbit/s", r"S3-(?P<row>up-10)-(?P<column>zoom|meet|teams)", {"up-10": "mean rate"} | _APPLICATIONS),
        Grid("Pinned speaker", r"S3-pinned-(?P<column>zoom|meet|teams)-(?P<row>3|8)",
             {"3": "3 parties", "8": "largest call"} | _APPLICATIONS),
    )),
    Paper("gcc", "Google Congestion Control over Wi-Fi", "S4, slides of a report", _SETTINGS["gcc"], "S4-", (
        Grid("Bursts joined beside not joined", r"S4-(?P<row>rate|direction|median|p95)-(?P<column>webrtc|draft)", _EFFECTS),
    )),
)  # fmt: skip
"""In the order of their pages."""


def tables(paper: Paper, statements: Iterable[Statement]) -> list[PictureTable]:
    """Return the tables of a paper with its statements."""
    known = list(statements)
    return [found for grid in paper.grids if (found := _filled(grid, known)).rows]


def by_source(paper: Paper, statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Return the statements that are in no table, by source without our number of the paper."""
    found: dict[str, list[Statement]] = {}
    for one in statements:
        if not any(re.fullmatch(grid.pattern, one.id) for grid in paper.grids):
            found.setdefault(re.sub(r"\bS[1-4],? ", "", one.source), []).append(one)
    return found


def of_paper(paper: Paper, names: Sequence[str]) -> set[str]:
    """Return the ids that belong to a paper."""
    return {name for name in names if re.match(paper.prefix, name)}


def _filled(grid: Grid, statements: Iterable[Statement]) -> PictureTable:
    cells: dict[tuple[str, str], list[Statement]] = {}
    for one in statements:
        match = re.fullmatch(grid.pattern, one.id)
        if match:
            cells.setdefault((match["row"], match["column"]), []).append(one)
    rows, columns = (list(dict.fromkeys(place)) for place in zip(*cells, strict=True)) if cells else ([], [])
    if set(rows) == set(columns):
        columns = rows
    named = [grid.names.get(column, column) for column in columns]
    return PictureTable(
        grid.caption, named, [(grid.names.get(row, row), [cells.get((row, column), []) for column in columns]) for row in rows]
    )
