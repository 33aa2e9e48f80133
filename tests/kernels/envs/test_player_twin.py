"""The clocked player equals a slow twin that recomputes every step of its definition at every tick."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from twins.playback import Playback, play_arrivals, play_emissions
from twins.player import Packet, Twin
from vcgym.network.playout.player import CONCEALED, FAST, PLAYED, SILENT, STRETCHED

UNIT = 10_000
WINDOW = 2_000_000


def _kernel(packets: list[Packet], by_arrival: bool) -> Playback:
    def column(name: str) -> np.ndarray:
        return np.array([getattr(p, name) for p in packets], np.int64)

    came = np.array([-1 if p.came is None else p.came for p in packets], np.int64)
    if by_arrival:
        return play_arrivals(column("ts"), came, column("level"), column("discarded").astype(bool), column("media"))
    return play_emissions(column("ts"), came, column("media"))


def _assert_equal(packets: list[Packet], by_arrival: bool) -> None:
    heard, twin = _kernel(packets, by_arrival), Twin(packets, by_arrival).run()
    assert list(zip(heard.tick_us, heard.tick_kind, heard.tick_offset_us, strict=True)) == twin.ticks
    assert list(zip(heard.played_us, heard.end_to_end_us, heard.late, strict=True)) == [twin.packet(p) for p in packets]


GRID_MS = st.sampled_from([0, 5, 10, 15, 20, 30, 50, 90, 200, 700])
DELAY_MS = st.one_of(
    GRID_MS,
    st.integers(0, 300),
    st.sampled_from([1000, 1010, 1500, 1990, 2000, 2010, 2500]),  # around the jump and the edge of the window
)
LEVEL_MS = st.sampled_from([0, 0, 10, 20, 25, 40, 100, 300, 1100, 1500])


@st.composite
def regular(draw: st.DrawFn) -> list[Packet]:
    """Packets every 10 ms, as inside a call: runs of one delay, one level and one fate, so that states last."""
    packets: list[Packet] = []
    for _ in range(draw(st.integers(1, 8))):
        delay, level = draw(DELAY_MS), draw(LEVEL_MS)
        fate = draw(st.sampled_from(["comes", "comes", "comes", "comes", "lost", "discarded", "held"]))
        first = 10 * len(packets)
        for ts in range(first, first + 10 * draw(st.sampled_from([1, 2, 3, 7, 15, 40])), 10):
            arrived = first + 200 + delay if fate == "held" and ts <= first + 200 + delay else ts + delay
            came = None if fate == "lost" else 1000 * arrived
            packets.append(Packet(1000 * ts, UNIT, came, fate == "discarded", 1000 * level))
    return packets


@st.composite
def irregular(draw: st.DrawFn) -> list[Packet]:
    """Any media lengths, overlaps, silences up to beyond the window, off the grid of ticks, sent in any order of index."""
    ts_us = draw(st.sampled_from([0, 3_000, 20_000, 1_234_567]))
    packets: list[Packet] = []
    for _ in range(draw(st.integers(1, 25))):
        media = draw(st.sampled_from([UNIT, UNIT, 2 * UNIT, 6 * UNIT, 5_000, 13_000, 1]))
        came = draw(st.one_of(st.none(), DELAY_MS.map(lambda ms: ms * 1000), st.integers(0, 400_000)))
        packets.append(Packet(ts_us, media, None if came is None else ts_us + came, draw(st.integers(0, 9)) == 0, 1000 * draw(LEVEL_MS)))
        ts_us += draw(st.sampled_from([0, media, media, media, media, 5_000, 33_333, 150_000, 2_000_000, 2_500_000]))
    return draw(st.permutations(packets))


@settings(max_examples=150)
@given(regular(), st.booleans())
def test_regular_streams(packets: list[Packet], by_arrival: bool) -> None:
    if not by_arrival:
        packets = [Packet(p.ts, p.media, p.came, False, 0) for p in packets]
    _assert_equal(packets, by_arrival)


@settings(max_examples=150)
@given(irregular(), st.booleans())
@example([Packet(0, UNIT, None, False, 0)], True)  # nothing ever comes
@example([Packet(0, UNIT, 0, True, 0), Packet(UNIT, UNIT, UNIT, True, 0)], True)  # all is discarded
@example([Packet(0, UNIT, 5, False, 0), Packet(0, UNIT, 7, False, 0)], False)  # the same media twice
@example([Packet(0, UNIT, 20_000, False, 0), Packet(UNIT, UNIT, 20_000, True, 100_000)], True)  # the last level of the first instant
def test_irregular_streams(packets: list[Packet], by_arrival: bool) -> None:
    if not by_arrival:
        packets = [Packet(p.ts, p.media, p.came, False, 0) for p in packets]
    _assert_equal(packets, by_arrival)


def _talk(start_ms: int, end_ms: int, delay_ms: int, level_ms: int) -> list[Packet]:
    return [Packet(1000 * ts, UNIT, 1000 * (ts + delay_ms), False, 1000 * level_ms) for ts in range(start_ms, end_ms, 10)]


@pytest.mark.parametrize(
    ("packets", "kinds"),
    [
        (_talk(0, 300, 50, 40) + _talk(600, 900, 50, 40), {PLAYED: 60, SILENT: 30}),
        (_talk(0, 300, 50, 100) + _talk(600, 900, 50, 40), {PLAYED: 60, SILENT: 24}),  # silence is cut short, at no cost
        (_talk(0, 300, 50, 40) + _talk(350, 351, 20, 100) + _talk(600, 900, 50, 100), {PLAYED: 61, STRETCHED: 1, SILENT: 31}),
        (_talk(0, 100, 20, 0) + _talk(100, 200, 1500, 0) + _talk(200, 400, 20, 0), None),
        (_talk(0, 2500, 20, 0) + _talk(2500, 2600, 3500, 0) + _talk(2600, 6500, 20, 0), None),
    ],
    ids=["silence", "level falls in silence", "level rises in silence", "disorder", "outage in disorder"],
)
def test_talk_spurts(packets: list[Packet], kinds: dict[int, int] | None) -> None:
    _assert_equal(packets, by_arrival=True)
    if kinds is not None:
        heard = _kernel(packets, by_arrival=True)
        assert {kind: heard.ticks(kind) for kind in (PLAYED, FAST, STRETCHED, CONCEALED, SILENT) if heard.ticks(kind)} == kinds


def test_an_offset_far_above_its_target_is_given_up_at_once() -> None:
    packets = _talk(0, 2000, 50, 1500) + _talk(2000, 4000, 50, 20)
    _assert_equal(packets, by_arrival=True)
    heard = _kernel(packets, by_arrival=True)
    jumped = np.flatnonzero(np.diff(heard.tick_offset_us) < -100_000)
    assert heard.tick_offset_us[jumped].tolist() == [1_550_000]
    assert heard.tick_offset_us[jumped + 1].tolist() == [70_000]
    assert heard.late.sum() == 148
