"""A whole call with protection equals the slow twin, packet by packet and byte by byte."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.session import Guard, Inside, assert_equal, twin, world_of
from vcgym.baselines.controls.control import Control
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.path_diversity import PathDiversity
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.held import HeldCopies
from vcgym.baselines.protection.opus import Dred, OpusFec
from vcgym.baselines.protection.protect import InBand, Protection, in_band, protect
from vcgym.baselines.protection.retransmission import Hairpin, Nack
from vcgym.baselines.protection.several import BothProtections
from vcgym.baselines.rule import allocate, for_packets, init, rule
from vcgym.envs.call.batch import LOCATIONS, CallBatch
from vcgym.network.kernels.slots import slot_at
from vcgym.network.scenarios.scenario import Scenario

PACKETS = 560


@rule(Control.PROTECTION, learns=False)
class Scripted(NamedTuple):
    """Protection by a list of decisions; a slot takes the one of its number modulo the length."""

    decisions: np.ndarray  # int64 (decisions, 8)


class Nothing(NamedTuple):
    """Empty state."""


@allocate.register(Scripted)
def _allocate(params, sessions, paths):
    return Nothing()


@init.register(Scripted)
def _init(params, state, s, start, key):
    pass


@protect.register(Scripted)
def _protect(params, state, s, now_us, path):
    row = params.decisions[slot_at(now_us) % params.decisions.shape[0]]
    return Protection(row[0], row[1], row[2], row[3], row[4], row[5])


@in_band.register(Scripted)
def _in_band(params, state, s, now_us):
    row = params.decisions[slot_at(now_us) % params.decisions.shape[0]]
    return InBand(row[6], row[7])


class Script:
    def __init__(self, decisions):
        self.decisions = decisions

    def protect(self, now_us, path):
        return Protection(*self.decisions[now_us // 10_000 % len(self.decisions)].tolist()[:6])

    def in_band(self, now_us):
        return InBand(*self.decisions[now_us // 10_000 % len(self.decisions)].tolist()[6:])


class InsideProtection(Inside):
    def protect(self, now_us, path):
        return Protection(*map(int, protect(self.params, self.state, 0, now_us, path)))

    def in_band(self, now_us):
        return InBand(*map(int, in_band(self.params, self.state, 0, now_us)))


def play(mode, rules, feedback_loss, guard_rule, guard_of, budget, seed=60, frame_ms=10):
    """Play a call by loop and by twin; assert that they are equal; return the loop's outcome and the guard."""
    recipe = Scenario("table1", mode, PACKETS)
    draw = recipe.draw("train", seed)
    batch = CallBatch(
        recipe, 1, *rules, feedback_loss=feedback_loss, log=True, protection=guard_rule, budget=budget, frame_ms=frame_ms
    )  # fmt: skip
    batch.start(0, draw)
    batch.play(np.array([0]))
    delays, history = world_of(recipe, draw, PACKETS)
    inside = (Inside(rule, history, batch.key(0, control)) for rule, control in zip(rules, (Control.PATH, Control.PLAYOUT), strict=True))
    guard, units = Guard(guard_of(history, batch), budget, frame_ms // 10), frame_ms // 10
    expected = twin(delays, PACKETS, history, draw.seed, 100, LOCATIONS["central"], feedback_loss, *inside, guard=guard, units=units)
    played = batch.played()
    assert_equal(played, 0, expected)
    assert played.protection.tolist() == [(guard.lost, guard.extra_bytes, guard.left_out, guard.coarse_taken)]
    return played, guard


sets = st.sampled_from([0, 0, 1, 2, 0b10100, 0b1110, 1 << 20, 1 << 61])
decision = st.tuples(
    sets, sets, st.integers(-1, 3), st.integers(-1, 3), st.sampled_from([0, 0, 1, 3, 5, 20]), st.integers(0, 3), sets, st.integers(0, 50)
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    st.lists(decision, min_size=1, max_size=12), st.sampled_from([0.0, 0.1, 1.0, 100.0]), st.sampled_from([0.0, 0.3]),
    st.sampled_from(["paper", "correlated"]), st.integers(0, 30), st.sampled_from([10, 10, 20, 40]),
)  # fmt: skip
def test_any_decisions(decisions, budget, feedback_loss, mode, seed, frame_ms):
    script = np.array(decisions, np.int64)
    play(mode, (Greedy(), WMJitter()), feedback_loss, Scripted(script), lambda *_: Script(script), budget, seed, frame_ms)


@pytest.mark.parametrize(
    ("rules", "mode", "protection"),
    [
        pytest.param(
            (Greedy(), WMJitter()), "correlated", BothProtections(FixedProtection(0b100), FixedCopies(2, after=3)), marks=pytest.mark.long
        ),
        ((Direct(), FixedLag(60.0)), "paper", BothProtections(FixedProtection(earlier=2, repair=1, covers=4), FixedCopies())),
        ((Direct(), FixedLag(60.0)), "paper", FixedCopies()),
        ((Direct(), PathDiversity(window=20)), "correlated", FixedCopies()),
        pytest.param((Greedy(), PathDiversity(window=20)), "paper", FixedCopies(2), marks=pytest.mark.long),
    ],
)
def test_a_rule_that_learns(rules, mode, protection):
    played, guard = play(
        mode, rules, 0.0, protection, lambda history, batch: InsideProtection(protection, history, batch.key(0, Control.PROTECTION)), 100.0
    )  # fmt: skip
    assert guard.extra_bytes > 0
    assert np.mean(played.arrived_us < 0) < guard.lost / PACKETS


@pytest.mark.parametrize("protection", [FixedProtection(repair=1, covers=4), Nack(), Hairpin(), HeldCopies(), Dred(), OpusFec()], ids=str)
@pytest.mark.long
def test_rules_that_number_packets_in_frames_of_20_ms(protection):
    rules, of_call = (Direct(), FixedLag(200.0)), for_packets(protection, 20.0)

    def guard_of(history, batch):
        return InsideProtection(of_call, history, batch.key(0, Control.PROTECTION))

    played, guard = play("paper", rules, 0.0, protection, guard_of, 100.0, frame_ms=20)
    assert np.mean(played.arrived_us < 0) < 2 * guard.lost / PACKETS


@settings(max_examples=10, deadline=None)
@given(st.lists(decision, min_size=1, max_size=6), st.sampled_from([0.05, 0.1, 0.25]))
def test_bytes_never_exceed_the_budget(decisions, budget):
    script = np.array(decisions, np.int64)
    _, guard = play("paper", (Greedy(), WMJitter()), 0.0, Scripted(script), lambda *_: Script(script), budget)
    assert guard.extra_bytes <= budget * 120 * PACKETS


def test_a_budget_of_nothing_is_a_call_without_protection():
    recipe = Scenario("table1", "paper", PACKETS)
    outcomes = []
    for arguments in ({}, {"protection": BothProtections(FixedProtection(2, 1, 4), FixedCopies(2)), "budget": 0.0}):
        batch = CallBatch(recipe, 2, Direct(), FixedLag(60.0), log=True, **arguments)
        for row in range(2):
            batch.start(row, recipe.draw("train", row))
        batch.play(np.arange(2))
        outcomes.append(batch.played())
    plain, nothing = outcomes
    assert plain.played_us.tolist() == nothing.played_us.tolist() and plain.arrived_us.tolist() == nothing.arrived_us.tolist()
    assert nothing.protection["extra_bytes"].tolist() == [0, 0] and plain.protection is None
    assert nothing.protection["lost"].tolist() == (plain.arrived_us < 0).sum(axis=1).tolist()


@pytest.mark.parametrize(("arguments", "words"), [({"budget": -0.1}, "budget = -0.1: allowed is 0 to 100")])
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        CallBatch(Scenario("table1", "paper", 100), 1, Direct(), WMJitter(), **arguments)
