"""Rules for the video of a call with an uplink, outside a call: numbers of their sources, on frames and reports written by hand."""

import numpy as np
import pytest

from twins.webrtc_video import PlainWebrtcVideo, per_256, protected
from vcgym.baselines.protection.protect import VideoFrame, protect_again, protect_frame
from vcgym.baselines.protection.video.hairpin import HairpinVideo, video_plans
from vcgym.baselines.protection.video.tambur import Tambur
from vcgym.baselines.protection.video.webrtc import WebrtcVideoFec, ends_block, shares_of
from vcgym.baselines.protection.webrtc_rates import WORST, factor_of, repair_packets, webrtc_shares, worst_255
from vcgym.baselines.records import NOT_ARRIVED, PacketFeedback
from vcgym.baselines.rule import allocate, init, update

VGA = 640 * 480


def a_frame(packets, longest_bytes=1000, is_key=0, target_bps=1e6, remaining_us=150_000):
    return VideoFrame(longest_bytes * packets, packets, longest_bytes, is_key, target_bps, 33_333, remaining_us)


def begun(params):
    """Return a rule and its state at the start of a call."""
    state = allocate(params, 1, 1)
    init(params, state, 0, None, np.uint64(0))
    return params, state


def test_tambur_protects_after_a_report_with_a_loss():
    params, state = begun(Tambur())

    def wanted(now_s, packets=3):
        asked = protect_frame(params, state, 0, int(now_s * 1e6), a_frame(packets))
        return int(asked.repairs), int(asked.before)

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
    params, state = begun(HairpinVideo())
    state.rows[0].loss = 0.1
    for packet in range(400):  # a round trip of 50 ms without deviation, and a loss that fades
        update(params, state, 0, PacketFeedback(packet, 1000, packet, packet + 20_000, packet + 50_000))
    state.rows[0].loss = 0.1
    asked = [protect_frame(params, state, 0, 0, a_frame(10, remaining_us=left_us)) for left_us in (99_000, 110_000, 160_000)]
    wanted = [int(frame.repairs) for frame in asked]
    assert wanted == [9, 9, 2]
    assert int(protect_again(params, state, 0, 10, 2, 24_000)) == 0  # it would come too late
    assert int(protect_again(params, state, 0, 10, 2, 60_000)) == 2 + video_plans(1e-4)[10, 10, 1, 2]
    assert int(protect_frame(params, state, 0, 0, a_frame(24, remaining_us=60_000)).repairs) == 2 * video_plans(1e-4)[12, 10, 1, 12]


def test_the_table_of_libwebrtc():
    """Changes of its rows, and the row of 1 Mbit/s, 30 frames a second, VGA, at 2, 5, 10 and 20 %."""
    shares = webrtc_shares()
    assert shares.shape == (50, 129) and (shares[:, 0] == 0).all() and shares.max() == 127
    assert shares[6, [5, 12, 25, 51]].tolist() == [3, 38, 72, 114]
    assert shares[0, [32, 33, 48, 96, 128]].tolist() == [0, 11, 39, 51, 51]
    assert shares[49, [0, 1, 2, 27, 28]].tolist() == [0, 13, 27, 126, 127]
    assert (np.diff(shares, axis=1) < 0).sum() == 4 and shares[1, [119, 120]].tolist() == [87, 78]  # four rows fall once, late


@pytest.mark.parametrize(("loss", "loss_255"), [(0.0, 0), (0.0039, 0), (1 / 256, 1), (0.05, 12), (0.25, 64), (0.5, 128), (1.0, 128)])
def test_the_largest_loss_counts_up_to_half(loss, loss_255):
    losses = np.full(WORST, loss / 2)
    losses[3] = loss
    assert worst_255(losses) == loss_255


@pytest.mark.parametrize(("loss_255", "shares", "factors"), [(13, (51, 102), (64, 170)), (26, (76, 128), (108, 255)), (0, (0, 0), (0, 0))])
def test_shares_of_libwebrtc(loss_255, shares, factors):
    found = shares_of(webrtc_shares(), loss_255, 33, 35, 2)
    assert tuple(map(int, found)) == shares and tuple(int(factor_of(share)) for share in found) == factors


def test_a_frame_of_few_bits_has_the_share_of_its_row():
    assert tuple(map(int, shares_of(webrtc_shares(), 35, 5, 5, 2))) == (11, 44)  # the key frame that of the third row
    assert tuple(map(int, shares_of(webrtc_shares(), 35, 6, 6, 2))) == (51, 102)  # two packets
    assert tuple(map(int, shares_of(webrtc_shares(), 26, 33, 35, 6))) == (76, 128)
    assert tuple(map(int, shares_of(webrtc_shares(), 3, 33, 35, 2))) == (51, 102)
    assert tuple(map(int, shares_of(webrtc_shares(), 1, 3, 3, 2))) == (0, 1)


def test_shares_equal_the_slow_twin():
    """Any loss, rate, frame rate, picture and ratio of key frames, at a round trip that forbids nothing."""
    table, draws = webrtc_shares(), np.random.default_rng(0)
    for _ in range(20_000):
        loss_255, kbit, pixels = int(draws.integers(129)), int(draws.integers(200)), int(draws.integers(320 * 180, 1920 * 1080))
        delta, key = draws.uniform(0.0, 4.0), draws.uniform(0.0, 20.0)
        scaled, usual = int(kbit * (pixels / (704 * 576)) ** -0.3), int(0.5 + delta)
        found = shares_of(table, loss_255, kbit, scaled, max(int(0.5 + key) // usual, 2) if usual else 2)
        wanted = protected(table, [(loss_255 + 0.5) / 256], 250, 30.0 * kbit, 30, pixels, delta, key)[:2]
        assert tuple(map(int, found)) == wanted, (loss_255, kbit, pixels, delta, key)
        assert [int(factor_of(share)) for share in found] == list(map(per_256, wanted))


@pytest.mark.parametrize("seed", range(6))
def test_each_decision_equals_the_slow_twin(seed):
    draws = np.random.default_rng(seed)
    pixels = int(draws.choice([320 * 180, 352 * 288, VGA, 1280 * 720]))
    params, state = begun(WebrtcVideoFec(pixels))
    twin, interval_us = PlainWebrtcVideo(webrtc_shares(), pixels), int(draws.choice([16_667, 33_333, 100_000]))
    trips_us, packet, ended = draws.choice([15_000, 60_000, 190_000, 400_000], 20), 0, 0
    for number in range(500):
        now_us, loss = number * interval_us, 0.08 * (number // 100 % 2)
        for _ in range(3):
            known_us = now_us - 1
            back_us = None if draws.random() < loss else int(trips_us[number // 25] * draws.uniform(0.8, 1.2))
            if known_us >= 0:
                arrived_us, sent_us = (NOT_ARRIVED, known_us - 1) if back_us is None else (known_us - back_us // 2, known_us - back_us)
                update(params, state, 0, PacketFeedback(packet, 1000, sent_us, arrived_us, known_us))
                twin.report(known_us, back_us)
                packet += 1
        is_key, grown = int(number % 20 == 0), 1 + number // 100
        size = int(draws.integers(200, 1000)) * grown * (int(draws.integers(2, 20)) if is_key else 1)
        packets = -(-size // 1200)
        longest, target_bps = -(-size // packets), float(draws.uniform(-50e3, 1.5e6))
        asked = protect_frame(params, state, 0, now_us, VideoFrame(size, packets, longest, is_key, target_bps, interval_us, 150_000))
        wanted = twin.frame(now_us, size, packets, longest, is_key, target_bps, interval_us)
        assert (asked.repairs, asked.before) == wanted[:2], number
        header = 20 if wanted[3] < 16 else 24 if wanted[3] < 47 else 32
        assert asked.size_bytes == header + wanted[2] or wanted[3] == 0
        ended += wanted[0] > 0
    assert ended >= 3


def test_whole_repair_packets():
    assert [int(repair_packets(packets, 64)) for packets in (1, 3, 6, 10, 48)] == [1, 1, 2, 3, 12]
    assert repair_packets(9, 0) == 0


@pytest.mark.parametrize(
    ("block", "ends"),
    [
        ((1, 1, 64, 64, 3), False),  # 256 - 64
        ((2, 2, 64, 64, 3), False),  # 128 - 64
        ((3, 3, 64, 64, 6), True),  # 85 - 64
        ((2, 2, 64, 64, 2), True),  # no more frames
        ((1, 2, 108, 108, 6), False),  # 128 - 108, but two packets for the five needed
        ((2, 4, 108, 108, 6), False),
        ((2, 5, 108, 108, 6), True),
        ((4, 4, 108, 108, 6), True),  # frames of one packet: four suffice
        ((1, 3, 170, 64, 3), True),  # the key frame itself does not ask for four
        ((2, 4, 170, 170, 3), False),
        ((1, 3, 0, 0, 6), True),
    ],
)
def test_a_block_ends_when_rounding_adds_little(block, ends):
    assert bool(ends_block(*block)) == ends


class Video:
    """A rule of libwebrtc in a call of 1 Mbit/s; `frame` advances by a frame of 30 a second and reports packets with a loss."""

    def __init__(self, pixels=VGA, target_bps=1e6, rtt_us=100_000):
        (self.params, self.state), self.target_bps, self.rtt_us = begun(WebrtcVideoFec(pixels)), target_bps, rtt_us
        self.now_us, self.sent = 0, 0

    def frame(self, packets=1, lost=0, is_key=0, longest_bytes=1000):
        self.now_us += 33_333
        for i in range(packets):
            arrived_us = NOT_ARRIVED if i < lost else self.now_us - self.rtt_us // 2
            update(self.params, self.state, 0, PacketFeedback(self.sent, 1000, self.now_us - self.rtt_us, arrived_us, self.now_us))
            self.sent += 1
        asked = protect_frame(self.params, self.state, 0, self.now_us, a_frame(packets, longest_bytes, is_key, self.target_bps))
        return tuple(map(int, asked))

    def after_losses(self, seconds=1):
        """Lose one packet in twenty for so many seconds: 12 of 256."""
        for _ in range(30 * seconds + 1):
            self.frame(packets=20, lost=1)
        return self


def test_loss_counts_for_ten_seconds():
    video = Video()
    assert {video.frame(packets=3) for _ in range(40)} == {(0, 0, 1020)}
    video.after_losses()
    asked = [video.frame(packets=3)[0] for _ in range(360)]
    assert set(asked[:290]) == {1} and set(asked[325:]) == {0}


def test_repair_packets_follow_a_block_and_cover_it():
    """51 of 255 at 5 %, 64 for 256 packets: three frames of a packet, since one of one and one of two would add too much."""
    video = Video().after_losses()
    while video.frame()[0] == 0:
        pass
    assert [video.frame(longest_bytes=size) for size in (900, 1100, 800)] == [(0, 0, 0), (0, 0, 0), (1, 2, 1120)]
    assert video.frame(packets=6) == (2, 0, 1020)
    assert video.frame(packets=6, is_key=1) == (4, 0, 1020)  # 170 for 256
    assert video.frame(packets=6) == (2, 0, 1020)
    assert video.frame(packets=100)[0] == 12  # for 48 packets


def test_round_trip_and_bytes_turn_it_off():
    near = Video(rtt_us=15_000).after_losses()
    assert near.frame(packets=6)[0] == 0 and near.frame(packets=6, is_key=1)[0] == 4  # key frames keep theirs
    assert Video(target_bps=160e3).after_losses().frame(packets=6)[0] == 0  # 5 kbit are 625 bytes, below 700
    assert Video(target_bps=190e3).after_losses().frame(packets=6)[0] == 2
    assert Video(VGA + 1, target_bps=190e3).after_losses().frame(packets=6)[0] == 0
    assert Video(352 * 288, target_bps=130e3).after_losses().frame(packets=6, is_key=1)[0] > 0
    assert Video(target_bps=160e3, rtt_us=250_000).after_losses().frame(packets=6, is_key=1)[0] > 0


def test_what_is_lost_goes_again():
    video = Video()
    assert [int(protect_again(video.params, video.state, 0, 5, lost, 1000)) for lost in (1, 3)] == [1, 3]
