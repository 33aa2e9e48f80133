"""The repair of video frames equals linear equations with random coefficients, for any losses."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from twins.video import AGAIN, PACKET, REPAIR, PlainRepairs
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.protection.protect import FrameProtection, VideoFrame, protect_frame, repair_size
from vcgym.baselines.protection.video.tambur import Tambur
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rule import Control, allocate, rule
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.envs.call.sender.in_flight import LOST
from vcgym.envs.call.sender.repairs.adding import repairs_of_frame
from vcgym.envs.call.sender.repairs.repairing import repaired_by
from vcgym.envs.call.sender.repairs.rows import REPAIRED_VIDEO, VideoRepairs, again_number, repair_number, start_repairs
from vcgym.envs.call.sender.state import SENDER

FRAME_US = 33_000


@rule(Control.PROTECTION)
class Asked(NamedTuple):
    """For each frame the number of repair packets, and of frames before that they cover."""

    repairs: np.ndarray
    before: np.ndarray


class Nothing(NamedTuple):
    """Empty state."""


@allocate.register(Asked)
def _allocate(params, sessions, paths):
    return Nothing()


@protect_frame.register(Asked)
def _protect_frame(params, state, s, now_us, frame):
    number = now_us // FRAME_US
    return FrameProtection(params.repairs[number], params.before[number], repair_size(frame.packets, frame.longest_bytes))


def a_frame(packets, remaining_us):
    return VideoFrame(1000 * packets, packets, 1000, 0, 1e6, FRAME_US, remaining_us)


class Both:
    """The repair of the package and its twin, packet by packet; `before`: frames before each frame that its repair packets cover."""

    def __init__(self, repairs, before, expiry_us, seed):
        asked = Asked(np.array(repairs, np.int64), np.array(before, np.int64))
        rows, senders = np.zeros(1, REPAIRED_VIDEO).view(np.recarray), np.zeros(1, SENDER).view(np.recarray)
        self.repairs, self.sender, self.twin = VideoRepairs(asked, Nothing(), rows), senders[0], PlainRepairs(seed)
        start_repairs(rows[0], 1000.0)
        self.sender.target_bps, self.expiry_us = 1e9, expiry_us
        self.alone = self.by_repair = 0

    def begin(self, number, packets):
        asked = self.repairs.rule
        self.sender.now_us, self.sender.frame = number * FRAME_US, number
        extra = repairs_of_frame(self.repairs, self.sender, 0, a_frame(packets, self.expiry_us))
        assert extra.packets == asked.repairs[number]
        self.twin.begin(number, packets, number * FRAME_US + self.expiry_us, int(asked.before[number]))

    def take(self, number, what, arrived_us, is_lost):
        expires_us = number * FRAME_US + self.expiry_us
        self.alone += what == PACKET and not is_lost and arrived_us <= expires_us
        named = {PACKET: number, REPAIR: repair_number(number), AGAIN: again_number(number)}[what]
        self.by_repair += repaired_by(self.repairs, 0, named, LOST if is_lost else arrived_us, expires_us)
        self.twin.take(number, what, None if is_lost else arrived_us)
        assert self.alone + self.by_repair == sum(self.twin.on_time.values()), (number, what)


ONE = (1, [(False, False)])  # packets, and of all that is sent for the frame in order: is it a repair packet, is it lost
GONE = (1, [(False, True)])
HELPED = (1, [(False, False), (True, False)])


@st.composite
def frames_sent(draw):
    frames = []
    for _ in range(draw(st.integers(1, 7))):
        packets, repairs = draw(st.integers(1, 4)), draw(st.integers(0, 3))
        order = draw(st.permutations([False] * packets + [True] * repairs))
        frames.append((packets, [(is_repair, draw(st.booleans())) for is_repair in order]))
    return frames


@settings(deadline=None)
@given(frames_sent(), st.sampled_from([0, 1, 3]), st.sampled_from([40_000, 90_000, 1_000_000]), st.integers(0, 5))
@example([GONE, GONE, ONE, ONE, HELPED], 3, 1_000_000, 0)  # the first frame is gone, and only the second is covered
@example([GONE, ONE, ONE, ONE, ONE, HELPED], 3, 1_000_000, 0)  # nothing covers the first frame
@example([GONE, (1, [(False, True), (True, False)]), ONE, ONE, HELPED], 3, 1_000_000, 0)  # one repair packet cannot be used
def test_any_losses(frames, before, expiry_us, seed):
    frames = frames[: 2 * before + 1]  # what a decoder looks at
    both = Both([sum(is_repair for is_repair, _ in sent) for _, sent in frames], [before] * len(frames), expiry_us, seed)
    for number, (packets, sent) in enumerate(frames):
        both.begin(number, packets)
        for i, (is_repair, is_lost) in enumerate(sent):
            both.take(number, REPAIR if is_repair else PACKET, number * FRAME_US + 20_000 + 7000 * i, is_lost)


@settings(deadline=None)
@given(st.data(), st.sampled_from([90_000, 1_000_000]), st.integers(0, 5))
def test_blocks_of_frames_and_packets_sent_again(data, expiry_us, seed):
    """Repair packets follow the last frame of a block and cover it all; some of what is lost goes again, while newer frames leave."""
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    repairs, before = [], []
    for length in lengths:
        repairs += [0] * (length - 1) + [data.draw(st.integers(0, 3))]
        before += [0] * (length - 1) + [length - 1]
    both, waiting = Both(repairs, before, expiry_us, seed), []
    for number, wanted in enumerate(repairs):
        packets = data.draw(st.integers(1, 3))
        both.begin(number, packets)
        for i, what in enumerate([PACKET] * packets + [REPAIR] * wanted):
            is_lost = data.draw(st.booleans())
            both.take(number, what, number * FRAME_US + 20_000 + 500 * i, is_lost)
            if is_lost and what == PACKET and data.draw(st.booleans()):
                waiting.append(number)
        for i in range(data.draw(st.integers(0, len(waiting)))):
            both.take(waiting.pop(0), AGAIN, number * FRAME_US + 25_000 + 500 * i, data.draw(st.booleans()))


def test_bytes_never_exceed_the_budget():
    asked = Asked(np.full(400, 4, np.int64), np.zeros(400, np.int64))
    rows, senders = np.zeros(1, REPAIRED_VIDEO).view(np.recarray), np.zeros(1, SENDER).view(np.recarray)
    start_repairs(rows[0], 0.1)
    senders[0].target_bps = 1e6
    paid = 0
    for number in range(400):
        senders[0].now_us, senders[0].frame = number * FRAME_US, number
        paid += 1020 * repairs_of_frame(VideoRepairs(asked, Nothing(), rows), senders[0], 0, a_frame(4, 150_000)).packets
        assert paid <= 0.1 * rows[0].plain_bytes
    assert rows[0].plain_bytes == 400 * 4000 and rows[0].left_out == 1600 - paid // 1020
    assert paid == pytest.approx(0.1 * rows[0].plain_bytes, rel=0.01)


def test_a_budget_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"budget = -0\.1: allowed is 0 to 100"):
        SendingBatch(1, GccWebrtc(), Fifo(), (), followed_by_paths=True, protection=Tambur(), budget=-0.1)
