"""A rule of rate or order outside, through `predict`, is the same rule inside, bit for bit: the same packets, targets and totals."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

from twins.sender_policy import OrderPolicy, RatePolicy
from twins.sender_records import WITH_RECORDS
from vcgym.agents.controllers.learned_margin import LearnedMargin
from vcgym.baselines.controls.control import PACING
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Overflow, Sbpn
from vcgym.baselines.rate.gcc.gcc import GccDraft, GccWebrtc
from vcgym.baselines.rate.nada.nada import Nada
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.rate.tfrc.tfrc import IdleRule, Tfrc
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.call.sender.no_uplink import BY_PACKET

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

PACKETS = 4000
# Kind of world, and what differs in it: lost reports, silences long enough for TFRC's timer.
RATE_WORLDS = [("steps", {}), ("cellular", {"report_loss": 0.2}), ("cubic", {}), ("wifi", {"works_ms": 3000.0, "outage_ms": (1e3, 4e3)})]
ORDER_WORLDS = [("rtt30-q5", {}), ("rtt150-q5", {"report_loss": 0.2}), ("loss0", {}), ("loss5", {}), ("loss10", {"expiry_ms": 60.0})]


def same_inside_and_outside(env_id, policy, worlds, rate, order, pacing, **arguments):
    """Play each world both ways; returns the totals and the targets of each second."""
    arguments |= {"action": policy.action, "log_packets": PACKETS, "seconds": 12.0}
    arguments = ABSOLUTE[env_id] | arguments
    env = gymnasium.make_vec(WITH_RECORDS[env_id], num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **arguments).unwrapped
    scenario = env.scenario
    links = [env.asked.applied(scenario.draw("train", 9 + i, kind))._replace(**changes) for i, (kind, changes) in enumerate(worlds)]
    inside = SendingBatch(len(links), rate, order, worlds_of(scenario), pacing=pacing, log_packets=PACKETS)
    for row, link in enumerate(links):
        inside.start(row, link)
    inside.play(np.arange(len(links)))
    for row, link in enumerate(links):
        env.scenario.draw = lambda split, seed, kind=None, link=link: link
        observation, _ = env.reset(seed=0)
        state, over = None, np.zeros(1, bool)
        while not over[0]:
            actions, state = policy.predict(observation, state)
            observation, _, _, over, _ = env.step(actions)
        assert env.log(0).tobytes() == inside.log(row).tobytes()
        assert env.batch.tables.targets[0, :12].tobytes() == inside.tables.targets[row, :12].tobytes()
        for name, part in env.batch.totals()._asdict().items():
            np.testing.assert_array_equal(part[0], getattr(inside.totals(), name)[row])
    return inside.totals(), inside.tables.targets


@pytest.mark.parametrize("rule", [GccWebrtc(), GccDraft(), Tfrc(), Tfrc(idle_rule=IdleRule.FASTER_RESTART)], ids=str)
def test_rate(rule):
    totals, targets = same_inside_and_outside("vcgym/Rate-v1", RatePolicy(rule), RATE_WORLDS, rule, Fifo(), PACING)
    assert (totals.sent.sum(axis=1) > 500).all()
    assert all(len(np.unique(of_call)) > 5 for of_call in targets)  # the rule did something


def test_nada_outside_is_nada_without_its_rate_shaping_buffer():
    """No observation tells of the sender's queue, and an agent has no pace of its own."""
    rule = Nada(encoder_yields=0.0, sending_rises=0.0)
    totals, _ = same_inside_and_outside("vcgym/Rate-v1", RatePolicy(Nada()), RATE_WORLDS[:2], rule, Fifo(), PACING)
    assert (totals.sent.sum(axis=1) > 500).all()


def test_a_rule_with_a_window_is_refused_outside():
    with pytest.raises(ValueError, match=r"^rate = ScreamV2 also sets a window: allowed are rules that set only a rate$"):
        RatePolicy(ScreamV2())


def test_rate_beside_other_calls():
    worlds = [(kind, {"report_loss": 0.1}) for kind in ("gcc", "tfrc", "fixed", "mixed")]
    totals, _ = same_inside_and_outside("vcgym/Rate-v1", RatePolicy(Tfrc()), worlds, Tfrc(), Fifo(), PACING, scenario="calls")
    assert (totals.sent.sum(axis=1) > 500).all()


@pytest.mark.parametrize(
    "rule",
    [
        Fifo(), Sbpn(keep_last=False), Sbpn(), Sbpn(overflow=Overflow.EVICTS), Sbpn(discard=Discard.WHEN_FULL), Sbpn(weight=0.5),
        LearnedMargin(np.array([-1.0, 0.5, 0.2, -1.0, 1.0], np.float32)),
    ],
    ids=str,
)  # fmt: skip
def test_order(rule):
    totals, _ = same_inside_and_outside(
        "vcgym/SendOrder-v1", OrderPolicy(rule), ORDER_WORLDS, Tfrc(), rule, BY_PACKET, overflow=rule
    )  # fmt: skip
    assert (totals.sent.sum(axis=1) > 10).all()
    assert (totals.discarded.sum() > 0) == (not isinstance(rule, Fifo) and getattr(rule, "discard", None) != Discard.WHEN_FULL)
