"""Properties of the clocked player on any stream, and of a batch of players driven as in a call."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.playback import Playback, play_arrivals
from vcgym.network.kernels.record import records
from vcgym.network.playout.player import (
    ENDED,
    FAST,
    NEVER_US,
    PLAYED,
    SILENT,
    STRETCHED,
    UNIT_US,
    Player,
    allocate_player,
    expect_unit,
    set_target,
    start_player,
    tick,
    unit_there,
)
from vcgym.network.playout.slot_window import SlotWindow, expect_slot, smallest_delay_us

PACKETS = 120
Stream = tuple[np.ndarray, np.ndarray, np.ndarray]  # arrived_us, level_us, discarded, one of each per packet


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """One 10-ms packet per 10 ms; delay and level hold for a while; single packets are late, lost or discarded."""
    runs = st.lists(st.tuples(st.integers(1, 40), st.sampled_from([20, 30, 55, 80, 400, 1600])), min_size=1, max_size=8)
    delay_ms = np.resize(np.concatenate([np.full(length, value) for length, value in draw(runs)]), PACKETS)
    level_ms = np.resize(np.concatenate([np.full(length, value // 2) for length, value in draw(runs)]), PACKETS)
    odd = draw(st.dictionaries(st.integers(0, PACKETS - 1), st.sampled_from(["lost", "discarded", 7, 31, 95]), max_size=30))
    arrived_us = 1000 * (np.arange(PACKETS) * 10 + delay_ms).astype(np.int64)
    discarded = np.zeros(PACKETS, np.bool_)
    for k, fate in odd.items():
        if fate == "discarded":
            discarded[k] = True
        else:
            arrived_us[k] = -1 if fate == "lost" else arrived_us[k] + 1000 * fate
    return arrived_us, (1000 * level_ms).astype(np.int64), discarded


SENT_US = np.arange(PACKETS, dtype=np.int64) * UNIT_US


def _play(stream: Stream, shift_us: int = 0) -> Playback:
    arrived_us, level_us, discarded = stream
    return play_arrivals(SENT_US + shift_us, np.where(arrived_us < 0, -1, arrived_us + shift_us), level_us, discarded)


def _drive(player: Player, s: int, stream: Stream) -> list[tuple[int, int, int, int]]:
    """Session `s` as a call runs it: all that has arrived by a tick is reported before the tick, delays are kept by slot."""
    arrived_us, level_us, discarded = stream
    start_player(player, s, 0, PACKETS)
    window = records(SlotWindow, 1)[0]
    for unit in range(PACKETS):
        assert expect_unit(player, s, unit)
        expect_slot(window, unit)
    ticks: list[tuple[int, int, int, int]] = []

    def pass_to(until_us: int) -> None:
        while (now_us := int(player.clock[s].tick_us)) < until_us:
            kind, unit, offset_us = tick(player, s)
            if kind != ENDED:
                ticks.append((now_us, kind, unit, offset_us))

    for k in np.argsort(arrived_us, kind="stable"):
        if arrived_us[k] >= 0:
            pass_to(arrived_us[k])
            if not discarded[k]:
                unit_there(player, s, k, arrived_us[k])
            set_target(player, s, arrived_us[k], level_us[k], smallest_delay_us(window, k, arrived_us[k] - SENT_US[k]))
    pass_to(NEVER_US)
    return ticks


@settings(max_examples=60)
@given(streams())
def test_every_tick_and_packet_is_accounted_for_in_order(stream: Stream) -> None:
    heard = _play(stream)
    arrived, discarded, played = stream[0] >= 0, stream[2], heard.played_us >= 0
    assert (np.diff(heard.tick_us) == UNIT_US).all()
    assert (heard.tick_us % UNIT_US == 0).all()
    assert not (played & heard.late).any()
    np.testing.assert_array_equal(played | heard.late, arrived & ~discarded)
    assert heard.ticks(PLAYED) + 2 * heard.ticks(FAST) == played.sum()
    assert heard.ticks(SILENT) == 0
    assert (heard.played_us[played] >= stream[0][played]).all()
    np.testing.assert_array_equal(heard.end_to_end_us[played], (heard.played_us - SENT_US)[played])
    # Media is played in order and never before it was sent.
    in_order = heard.played_us[played]
    assert (np.diff(in_order) >= 0).all()
    assert (np.bincount(in_order // UNIT_US) <= 2).all()
    assert (heard.tick_offset_us >= 0).all()
    # Time is stretched by at most 100 ms per second.
    operations_us = heard.tick_us[np.isin(heard.tick_kind, (FAST, STRETCHED))]
    assert (np.diff(operations_us) >= 100_000).all()


@settings(max_examples=60)
@given(streams(), st.integers(0, 200))
def test_changing_the_future_moves_no_tick(stream: Stream, tick_of_change: int) -> None:
    now_us = tick_of_change * UNIT_US
    arrived_us, level_us, discarded = (column.copy() for column in stream)
    later = arrived_us > now_us
    arrived_us[later] += 123_000
    level_us[later] += 40_000
    discarded[later] = ~discarded[later]
    before, after = _play(stream), _play((arrived_us, level_us, discarded))
    for name in ("tick_us", "tick_kind", "tick_offset_us"):
        old, new = (getattr(heard, name)[heard.tick_us <= now_us] for heard in (before, after))
        np.testing.assert_array_equal(old, new)


@settings(max_examples=30)
@given(streams(), st.integers(1, 10_000))
def test_only_differences_of_time_matter(stream: Stream, shift_ticks: int) -> None:
    shift_us = shift_ticks * UNIT_US
    plain, shifted = _play(stream), _play(stream, shift_us)
    np.testing.assert_array_equal(plain.tick_us + shift_us, shifted.tick_us)
    for name in ("tick_kind", "tick_offset_us", "end_to_end_us", "late"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(shifted, name))


@settings(max_examples=20)
@given(st.lists(streams(), min_size=1, max_size=3))
def test_a_player_in_a_batch_equals_one_alone_and_a_row_can_be_used_again(batch: list[Stream]) -> None:
    player = allocate_player(len(batch), PACKETS)
    driven = [_drive(player, s, stream) for s, stream in enumerate(batch)]
    again = [_drive(player, s, stream) for s, stream in reversed(list(enumerate(batch)))]
    assert driven == again[::-1]
    for stream, ticks in zip(batch, driven, strict=True):
        heard = _play(stream)
        assert [(now_us, kind, offset_us) for now_us, kind, _, offset_us in ticks] == list(
            zip(heard.tick_us, heard.tick_kind, heard.tick_offset_us, strict=True)
        )
        for now_us, kind, unit, offset_us in ticks:
            assert offset_us == now_us - unit * UNIT_US
            if kind in (PLAYED, FAST):
                assert heard.played_us[unit] == now_us
            if kind == FAST:
                assert heard.played_us[unit + 1] == now_us
