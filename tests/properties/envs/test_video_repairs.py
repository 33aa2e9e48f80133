"""The repair of video frames equals linear equations with random coefficients, for any losses."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.video import PlainRepairs
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.protection.protect import FrameProtection, protect_again, protect_frame
from vcgym.baselines.protection.video import HairpinVideo, Tambur, video_plans
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback
from vcgym.baselines.rule import Control, allocate, init, rule, update
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.envs.call.sender.in_flight import LOST
from vcgym.envs.call.sender.repairing import REPAIRED_VIDEO, VideoRepairs, repair_number, repaired_by, repairs_of_frame, start_repairs
from vcgym.envs.call.sender.state import SENDER

FRAME_US = 33_000


@rule(Control.PROTECTION)
class Asked(NamedTuple):
    """A list of numbers of repair packets, one for each frame."""

    repairs: np.ndarray
    before: int


class Nothing(NamedTuple):
    """Empty state."""


@allocate.register(Asked)
def _allocate(params, sessions, paths):
    return Nothing()


@protect_frame.register(Asked)
def _protect_frame(params, state, s, now_us, packets, remaining_us):
    return FrameProtection(params.repairs[now_us // FRAME_US], params.before)


@st.composite
def frames_sent(draw):
    """Return for each frame its packets, its repair packets, and of all these in order of sending (is a repair packet, is lost)."""
    frames = []
    for _ in range(draw(st.integers(1, 7))):
        packets, repairs = draw(st.integers(1, 4)), draw(st.integers(0, 3))
        order = draw(st.permutations([False] * packets + [True] * repairs))
        frames.append((packets, repairs, [(is_repair, draw(st.booleans())) for is_repair in order]))
    return frames


@settings(deadline=None)
@given(frames_sent(), st.sampled_from([0, 1, 3]), st.sampled_from([40_000, 90_000, 1_000_000]), st.integers(0, 5))
def test_any_losses(frames, before, expiry_us, seed):
    frames = frames[: 2 * before + 1]  # what a decoder looks at
    asked = Asked(np.array([repairs for _, repairs, _ in frames], np.int64), before)
    rows, senders = np.zeros(1, REPAIRED_VIDEO).view(np.recarray), np.zeros(1, SENDER).view(np.recarray)
    repairs, sender, twin = VideoRepairs(asked, Nothing(), rows), senders[0], PlainRepairs(before, seed)
    start_repairs(rows[0], 1000.0)
    sender.target_bps, sender.expiry_us, sender.source.frame_us = 1e9, expiry_us, FRAME_US
    alone = by_repair = 0
    for number, (packets, wanted, sent) in enumerate(frames):
        sender.now_us, sender.frame = number * FRAME_US, number
        assert repairs_of_frame(repairs, sender, 0, 1000 * packets, packets) == wanted
        twin.begin(number, packets, sender.now_us + expiry_us)
        for i, (is_repair, is_lost) in enumerate(sent):
            arrived_us, named = sender.now_us + 20_000 + 7000 * i, repair_number(number) if is_repair else number
            alone += not is_repair and not is_lost and arrived_us <= sender.now_us + expiry_us
            by_repair += repaired_by(repairs, 0, named, LOST if is_lost else arrived_us, sender.now_us + expiry_us)
            twin.take(number, is_repair, None if is_lost else arrived_us)
            assert alone + by_repair == sum(twin.on_time.values()), (number, i)
    assert rows[0].repaired == by_repair


def test_bytes_never_exceed_the_budget():
    asked = Asked(np.full(400, 4, np.int64), 0)
    rows, senders = np.zeros(1, REPAIRED_VIDEO).view(np.recarray), np.zeros(1, SENDER).view(np.recarray)
    start_repairs(rows[0], 0.1)
    senders[0].target_bps, senders[0].source.frame_us = 1e6, FRAME_US
    paid = 0
    for number in range(400):
        senders[0].now_us, senders[0].frame = number * FRAME_US, number
        paid += 1020 * repairs_of_frame(VideoRepairs(asked, Nothing(), rows), senders[0], 0, 4000, 4)  # the longest packet has 1000
        assert paid <= 0.1 * rows[0].plain_bytes
    assert rows[0].plain_bytes == 400 * 4000 and rows[0].left_out == 1600 - paid // 1020
    assert paid == pytest.approx(0.1 * rows[0].plain_bytes, rel=0.01)


def test_tambur_protects_after_a_report_with_a_loss():
    params = Tambur()
    state = allocate(params, 1, 1)
    init(params, state, 0, None, np.uint64(0))

    def wanted(now_s, packets=3):
        return tuple(map(int, protect_frame(params, state, 0, int(now_s * 1e6), packets, 150_000)))

    assert wanted(0.0) == wanted(1.9) == (0, 3)
    update(params, state, 0, PacketFeedback(0, 1000, 0, NOT_ARRIVED, 1_950_000))
    assert wanted(1.99) == (0, 3)
    assert wanted(2.0) == wanted(3.9) == (2, 3) and wanted(3.95, packets=10) == (5, 3)
    update(params, state, 0, PacketFeedback(1, 1000, 0, 50_000, 3_960_000))
    assert wanted(4.0) == (0, 3)  # no loss in the last 2 s
    update(params, state, 0, PacketFeedback(2, 1000, 0, NOT_ARRIVED, 4_500_000))
    assert wanted(9.0) == (0, 3)  # the report before had none


def test_hairpin_goes_by_the_rounds_that_are_left():
    """Repair packets of frames of 10 packets are the table of its public code, at a price of 1e-4."""
    expected = {1: (3, 6, 9, 20), 2: (0, 1, 2, 4), 3: (0, 0, 0, 0), 4: (0, 0, 0, 0)}
    assert {rounds: tuple(video_plans(1e-4)[10, percent, rounds, 10] for percent in (1, 5, 10, 20)) for rounds in expected} == expected
    params = HairpinVideo()
    state = allocate(params, 1, 1)
    init(params, state, 0, None, np.uint64(0))
    state.rows[0].loss = 0.1
    for packet in range(400):  # a round trip of 50 ms without deviation, and a loss that fades
        update(params, state, 0, PacketFeedback(packet, 1000, packet, packet + 20_000, packet + 50_000))
    state.rows[0].loss = 0.1
    wanted = [int(protect_frame(params, state, 0, 0, 10, remaining_us).repairs) for remaining_us in (99_000, 110_000, 160_000)]
    assert wanted == [9, 9, 2]
    assert int(protect_again(params, state, 0, 10, 2, 24_000)) == 0  # it would come too late
    assert int(protect_again(params, state, 0, 10, 2, 60_000)) == 2 + video_plans(1e-4)[10, 10, 1, 2]
    assert int(protect_frame(params, state, 0, 0, 24, 60_000).repairs) == 2 * video_plans(1e-4)[12, 10, 1, 12]


def test_a_budget_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"budget = -0\.1: allowed is 0 to 100"):
        SendingBatch(1, GccWebrtc(), Fifo(), (), followed_by_paths=True, protection=Tambur(), budget=-0.1)
