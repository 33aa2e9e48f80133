"""Rules of the protection, outside a call: thresholds, times and distances of their sources, on records written by hand."""

import numpy as np
import pytest

from twins.session import Inside
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.chime import ChimeRed
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.held import HeldCopies
from vcgym.baselines.protection.opus import Dred, OpusFec, dred_in_packet
from vcgym.baselines.protection.protect import NONE, UNPROTECTED, in_band, protect
from vcgym.baselines.protection.retransmission import Hairpin, Nack, repair_plan
from vcgym.baselines.protection.several import BothProtections, ByBudget, at_budget
from vcgym.baselines.protection.triggered import TriggeredProtection
from vcgym.baselines.protection.webrtc_fec import FRAMES, WebrtcFec, repairs_by_loss
from vcgym.baselines.records import COPY, MEDIA, PROBE, Record
from vcgym.baselines.rule import allocate
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario

SLOT_US = 10_000
TWO, TWO_AND_FOUR = 1 << 2, 1 << 2 | 1 << 4


class Running(Inside):
    """A rule of one call over three paths with delays of 50, 60 and 70 ms before the call."""

    def __init__(self, params):
        super().__init__(params, np.array([[10.0, mean, 1.0] for mean in (50.0, 60.0, 70.0)]), 0)

    def tell(self, packet, delay_ms=50.0, path=0, back_ms=50.0, kind=MEDIA, lag_ms=80.0):
        sent_us = packet * SLOT_US
        arrived_us = sent_us + round(1000 * delay_ms)
        known_us, lag_us = arrived_us + round(1000 * back_ms), round(1000 * lag_ms)
        self.learn(Record(kind, packet, path, sent_us, arrived_us, known_us, lag_us, 0))

    def told(self, *packets):
        for packet in packets:
            self.tell(packet)
        return self

    def lose_one_in(self, many, packets=20_000):
        return self.told(*(packet for packet in range(packets) if packet % many))

    def at(self, slot, path=0):
        return protect(self.params, self.state, 0, slot * SLOT_US, path)

    def in_band(self):
        return tuple(map(int, in_band(self.params, self.state, 0, 0)))


def chime_after(losses, slots=100):
    """Return the sets that go along in each slot; `losses` of each stretch of `slots`: n if each n-th is lost, -n if each n-th arrives."""
    rule, chosen = Running(ChimeRed()), []
    for slot in range(len(losses) * slots):
        every = losses[slot // slots]
        if every == 0 or bool(slot % every) == (every > 0):
            rule.tell(slot, delay_ms=1.0, back_ms=1.0)
        chosen.append(int(rule.at(slot).earlier))
    return chosen


def test_chime_by_loss():
    assert set(chime_after([0] * 10)) == {0}
    assert chime_after([13] * 20)[-1] == 0  # 7.7 %
    assert chime_after([12] * 20)[-1] == TWO  # 8.3 %
    assert chime_after([6] * 20)[-1] == TWO  # 16.7 %
    assert chime_after([5] * 20)[-1] == TWO_AND_FOUR  # 20 %
    assert chime_after([2] * 20)[-1] == TWO_AND_FOUR


def test_chime_goes_up_at_once_and_down_after_five_minutes():
    # A loss of 50 % for one second is 10 % of the last five, and counts for 15.
    chosen = chime_after([0] * 20 + [2] + [0] * 320)
    changed = [slot for slot in range(1, len(chosen)) if chosen[slot] != chosen[slot - 1]]
    assert [chosen[slot] for slot in changed] == [TWO, 0]
    assert changed[0] == 2100
    assert changed[1] == pytest.approx(2100 + 400 + 30_000, abs=200)  # the window of 5 s confirms it for four seconds more


def test_chime_gives_up_above_three_quarters():
    # Nine tenths are lost: more than 75 % of the last 5 s from the fifth second on, and until less than 75 % of the last 15 s are.
    long = chime_after([0] * 20 + [-10] * 30 + [0] * 80)
    assert long[2400] > 0 and long[2500] == 0 and long[4900] == 0
    assert next(slot for slot in range(5000, len(long)) if long[slot]) == pytest.approx(5300 + 6000, abs=200)
    brief = chime_after([0] * 20 + [-10] * 8 + [0] * 80)
    assert brief[2600] == 0 and brief[2900 + 100] == TWO_AND_FOUR  # less than 15 s


def test_retransmission_is_asked_for_with_the_first_packet_after_the_gap():
    rule = Running(Nack()).told(0, 1, 2, 5)
    asked = rule.at(16)
    assert asked.again == (1 << 13 | 1 << 12) and asked.path == 0 and asked.second == NONE and asked.earlier == 0
    assert rule.at(17).again == 0  # not before a round trip of 100 ms
    rule.tell(3)  # overtaken, and here after all
    assert rule.at(26).again == 1 << (26 - 4)


def test_a_packet_is_asked_for_ten_times_at_most():
    rule = Running(Nack()).told(0, 2)
    asked = [slot for slot in range(12, 400) if rule.at(slot).again]
    assert len(asked) == 6 and asked[:3] == [12, 22, 32]  # by then it is more than 62 slots old
    short = Running(Nack(requests=2)).told(0, 2)
    assert sum(bool(short.at(slot).again) for slot in range(12, 400)) == 2


@pytest.mark.parametrize(("loss_255", "repair"), [(0, 0), (32, 0), (33, 1), (47, 1), (48, 1), (95, 1), (96, 2), (128, 2)])
def test_repair_packets_of_libwebrtc_by_loss(loss_255, repair):
    # By hand from the first row, 0, 11, 39 and 51 of 255: of the frames 0, 11, 46 and 64 of 256, of six frames 0.26, 1.08 and 1.5.
    assert repairs_by_loss()[loss_255] == repair


def hybrid_after(lost_each, back_ms, slots=3000):
    """Return the rule after packets of which one in `lost_each` is lost, over a path of 1 ms there."""
    rule, sent = Running(WebrtcFec()), []
    for slot in range(slots):
        back = round(back_ms / 10)
        if slot >= back and (slot - back) % lost_each:
            rule.tell(slot - back, delay_ms=1.0, back_ms=back_ms)
        sent.append(rule.at(slot))
    return sent


def test_libwebrtc_adds_parity_to_retransmission_over_long_round_trips_and_many_losses():
    near, clean, lossy, bad = hybrid_after(2, 150.0), hybrid_after(9, 250.0), hybrid_after(5, 250.0), hybrid_after(2, 250.0)
    assert not any(one.covers for one in near + clean)  # below 200 ms; 11 % is less than 33 of 255
    for sent, repair in ((lossy, 1), (bad, 2)):
        late = [(slot % FRAMES, one.covers, one.behind) for slot, one in enumerate(sent) if slot >= 1200 and one.covers]
        assert set(late) == {(behind - 1, FRAMES, behind) for behind in range(1, repair + 1)}
        assert len(late) == repair * 1800 // FRAMES
    assert any(one.again for one in near) and any(one.again for one in lossy)


def test_libwebrtc_counts_the_worst_second_of_the_last_ten():
    rule, sent = Running(WebrtcFec()), []
    for slot in range(4000):
        if not 1000 <= slot < 1100 or slot % 5:
            rule.tell(slot, delay_ms=1.0, back_ms=300.0)
        sent.append(bool(rule.at(slot).covers))
    first, last = sent.index(True), len(sent) - sent[::-1].index(True)
    assert first == pytest.approx(1100, abs=10) and last == pytest.approx(2100, abs=10)


@pytest.mark.parametrize(
    ("cost", "frame", "loss", "repairs"),
    [
        (1e-4, 10, 0.01, [3, 0, 0, 0]), (1e-4, 10, 0.05, [6, 1, 0, 0]), (1e-4, 10, 0.1, [9, 2, 0, 0]), (1e-4, 10, 0.2, [20, 4, 0, 0]),
        (1e-7, 10, 0.01, [5, 0, 0, 0]), (1e-7, 10, 0.05, [9, 1, 0, 0]), (1e-7, 10, 0.1, [20, 3, 0, 0]), (1e-7, 10, 0.2, [20, 6, 3, 0]),
        (1e-2, 1, 0.01, [0, 0, 0, 0]), (1e-2, 1, 0.05, [1, 0, 0, 0]), (1e-2, 1, 0.1, [1, 0, 0, 0]), (1e-2, 1, 0.2, [2, 0, 0, 0]),
    ],
)  # fmt: skip
def test_hairpin_repairs_by_rounds_left(cost, frame, loss, repairs):
    assert repair_plan(loss, cost, frame, 4)[1:, frame].tolist() == repairs


def hairpin_after(lost_each, lag_ms):
    """Return the rule after 3,000 packets over a path of 50 ms there and back; one in `lost_each` is lost, the next leaves in slot 3000."""
    rule = Running(Hairpin())
    for packet in range(2990):
        if packet % lost_each:
            rule.tell(packet, lag_ms=lag_ms)
        rule.at(packet + 10)
    return rule


def test_hairpin_copies_by_loss_and_rounds():
    # The round trip is 100 ms without deviation: two rounds are left if 300 ms remain, the path's 50 and a lag of 250.
    for lost_each, lag_ms, copies in ((1000, 80.0, 0), (20, 80.0, 1), (5, 80.0, 2), (5, 249.0, 2), (5, 251.0, 0)):
        rule = hairpin_after(lost_each, lag_ms)
        rule.at(3000)
        assert sum(int(rule.at(3000 + slot).again >> slot) & 1 for slot in range(1, 5)) == copies, (lost_each, lag_ms)


def test_hairpin_sends_again_what_can_still_arrive():
    for lag_ms, goes in ((90.0, False), (130.0, True)):
        rule = hairpin_after(1000, lag_ms)
        rule.tell(2991, lag_ms=lag_ms)  # 2990 has left 110 ms before slot 3001
        wanted = rule.at(3001)
        assert bool((wanted.again >> 11) & 1) == goes
        assert wanted.path == 0 and wanted.second == NONE and wanted.earlier == 0


def test_opus_fec_goes_for_no_bytes_while_loss_is_told():
    assert Running(OpusFec()).lose_one_in(250).in_band() == (0, 0)
    assert Running(OpusFec()).lose_one_in(150).in_band() == (0b10, 0)  # 0.67 % is told as 1 %
    assert Running(OpusFec(rate_kbps=24.0)).lose_one_in(50).in_band() == (0, 0)
    lossy = Running(OpusFec(rate_kbps=24.0)).lose_one_in(8)
    assert lossy.in_band() == (0b10, 0) and lossy.at(20_000) == UNPROTECTED


def test_dred_carries_the_packets_before_for_its_bytes():
    # Packets of 10 ms at 64 kbit/s and 3 %: two units, 90 + 3 * 51.5 bits, are eight packets in 31 bytes.
    assert dred_in_packet(64_000, 3) == (0b111111110, 31)
    assert Running(Dred()).lose_one_in(33).in_band() == (0b111111110, 31)
    assert Running(Dred()).lose_one_in(100).in_band() == (0, 0)
    assert Running(Dred(rate_kbps=510.0)).lose_one_in(5).in_band()[0] == ((1 << 60) - 1) << 1


def test_a_copy_goes_where_the_path_has_risen_or_is_silent():
    rule = Running(TriggeredProtection(rise_ms=13.0, silent_ms=60.0))
    assert rule.at(0).path == NONE
    rule.told(*range(300))
    assert rule.at(310).path == NONE
    rule.tell(300, delay_ms=66.0)
    assert (rule.at(312).path, rule.at(312).again) == (1, 1)
    assert rule.at(312, path=1).path == NONE  # that path has not risen
    rule.tell(301, path=1, delay_ms=90.0, kind=PROBE)
    assert rule.at(313).path == 2  # now the faster one
    rule.tell(301)
    assert rule.at(313).path == NONE
    assert rule.at(320).path == 2  # nothing came for 60 ms more
    rule.tell(301, path=2, delay_ms=55.0, kind=COPY)
    assert rule.at(320).path == 2  # a copy of a packet that has arrived is no sign of life of the path in use


def test_earlier_frames_go_where_packets_are_missing_or_overtaken():
    rule = Running(TriggeredProtection(missing=0.005, overtaken=0.02)).lose_one_in(100, 500)
    assert rule.state.row[0].loss.missing == pytest.approx(0.01 * (1.0 - np.exp(-1.0)), abs=0.001)
    assert rule.at(505).earlier == 0b10
    fine = Running(TriggeredProtection()).told(*(packet ^ 1 for packet in range(1000)))
    assert fine.state.row[0].loss.missing == pytest.approx(0.0, abs=0.003)
    assert fine.state.row[0].loss.overtaken == pytest.approx(0.5 * (1.0 - np.exp(-2.0)), abs=0.02)
    assert fine.at(1005).earlier == 0b1110


def test_copies_take_the_paths_with_the_smallest_expected_delays():
    rule = Running(FixedCopies(copies=2, after=3))
    assert (rule.at(0).path, rule.at(0).second, rule.at(0).again) == (1, 2, 0b1000)
    rule.tell(0, path=2, delay_ms=30.0, kind=PROBE)
    assert (rule.at(1).path, rule.at(1).second) == (2, 1)
    assert (rule.at(1, path=2).path, rule.at(1, path=2).second) == (0, 1)
    assert rule.at(2000).path == 1  # ten half lives later


def test_a_held_copy_comes_no_earlier_than_packets_usually_do():
    rule = Running(HeldCopies(TriggeredProtection(rise_ms=13.0, mean_ms=3000.0, silent_ms=1e9), each=10, missing=0.005, behind_ms=20.0))
    rule.told(*range(300))
    assert rule.at(310).path == NONE
    rule.tell(300, path=1, delay_ms=15.5, kind=PROBE)
    rule.tell(300, delay_ms=66.0)
    assert [rule.at(slot).again for slot in range(311, 317)] == [0, 0, 0, 0, 1 << 4, 1 << 4]  # 33 ms sooner than usual
    rule.tell(307)
    rule.tell(307, path=1, delay_ms=60.0, kind=PROBE)
    slow = rule.at(317)
    assert (slow.path, slow.again) == (1, 0b11110)  # all that are held go
    assert rule.at(318).path == NONE


def test_while_packets_are_missing_each_tenth_is_copied_unless_the_other_path_is_slow():
    for share, behind_ms, copied in ((4, 20.0, 10), (4, 5.0, 0), (400, 20.0, 0)):
        held = HeldCopies(TriggeredProtection(silent_ms=1e9), each=10, missing=0.005, behind_ms=behind_ms)
        rule = Running(held).lose_one_in(share, 400)
        assert sum(rule.at(slot).path == 1 for slot in range(411, 511)) == copied


def test_while_packets_are_overtaken_repair_packets_go_in_place_of_copies():
    """One in 20 comes after the next three: 5 % are overtaken."""
    trigger, instead = TriggeredProtection(rise_ms=13.0, silent_ms=1e9), FixedProtection(earlier=4, repair=1, covers=5)
    for threshold, copies, repairs in ((0.04, 0, 20), (0.06, 1, 0)):
        rule = Running(HeldCopies(trigger, missing=1.0, overtaken=threshold, instead=instead))
        for packet in range(2000):
            if packet % 20:
                rule.tell(packet)
            if packet % 20 == 3:
                rule.tell(packet - 3, delay_ms=80.0)
        rule.tell(2001, delay_ms=90.0)  # so a copy is wanted
        wanted = [rule.at(slot) for slot in range(2010, 2110)]
        assert wanted[0].path == (1 if copies else NONE) and bool(wanted[0].again) == bool(copies)
        assert [(one.covers, one.behind) for one in wanted if one.covers] == [(5, 1)] * repairs
        assert {one.earlier for one in wanted} == {4 if repairs else 0}


def test_the_budget_chooses_the_rule():
    rules = [FixedProtection(earlier=earlier) for earlier in (2, 4, 8)]
    params = ByBudget(0.075, rules[0], ByBudget(0.2, rules[1], rules[2]))
    chosen = [at_budget(params, budget) for budget in (0.0, 0.075, 0.1, 0.25, 100.0)]
    assert chosen == [rules[0], rules[0], rules[1], rules[2], rules[2]] and at_budget(rules[1], 0.1) is rules[1]
    scenario = Scenario("table1", "paper", 200)
    batch = CallBatch(scenario, 1, Direct(), WMJitter(), protection=params, budget=0.1)
    assert batch.protecting.rule == rules[1]
    for within in (BothProtections(params, Nack()), BothProtections(Nack(), BothProtections(params, Nack())), HeldCopies(instead=params)):
        batch = CallBatch(scenario, 1, Direct(), WMJitter(), protection=within, budget=0.1)
        batch.start(0, scenario.draw("train", 0))
        batch.play(np.arange(1))
        assert at_budget(within, 0.1) == batch.protecting.rule and "ByBudget" not in repr(batch.protecting.rule)
    with pytest.raises(ValueError, match="beyond = None: allowed are rules that control protection"):
        allocate(ByBudget(0.1, Nack(), None), 1, 3)


def test_of_two_rules_both_have_their_way():
    wanted = Running(BothProtections(BothProtections(FixedProtection(earlier=2), FixedCopies(after=1)), Nack())).told(0, 1, 3).at(14)
    assert (wanted.earlier, wanted.again, wanted.path, wanted.second) == (2, 1 << 12 | 2, 1, NONE)
    again = Running(BothProtections(TriggeredProtection(silent_ms=1e9), Nack())).told(0, 1, 3).at(14)
    assert (again.again, again.path) == (1 << 12, 0)  # no copy, so the bit of this packet is not set
    with pytest.raises(ValueError, match="second = None: allowed are rules that control protection"):
        allocate(BothProtections(Nack(), None), 1, 3)
