"""Properties of a call behind an uplink: counters add up, no leak of the future, rules outside equal rules inside."""

import itertools

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.sender_policy import RatePolicy
from twins.sender_records import feedback_at_location
from twins.uplink import OneWorld
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.network.bottleneck.capacity.capacity import constant, rate_trace, steps
from vcgym.network.bottleneck.flow import Udp
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink

CALL = "vcgym/Call-v1"


def make(link=None, num_envs=1, **arguments):
    defaults = ABSOLUTE[CALL] | {"scenario": "table1", "packets": 300, "autoreset_mode": AutoresetMode.DISABLED, "log": True}
    uplink = "rate" if link is None else OneWorld(link)
    return gymnasium.make_vec(CALL, num_envs=num_envs, **defaults | {"uplink": uplink} | arguments).unwrapped


def play_out(env, actions):
    """Play a call; returns all rewards."""
    earned, over = 0.0, False
    while not over:
        _, rewards, _, truncated, _ = env.step(next(actions))
        earned, over = earned + rewards[0], truncated[0]
    return earned


def assert_accounts(env):
    """What was captured is at the sender, gone, on its way, or has arrived."""
    sender, totals = env.uplink.inside.senders[0], env.uplink.sending.totals()
    waiting = [sender.queue.packets[(sender.queue.first + i) % 1024].kind for i in range(sender.queue.waiting)]
    sent = totals.sent[0]
    assert sent.sum() == sender.packets
    for kind in (VIDEO, AUDIO):
        gone = totals.rejected[0, kind] + totals.discarded[0, kind]
        assert totals.created[0, kind] == gone + waiting.count(kind) + sent[kind]
        assert totals.delivered[0, kind] + totals.lost[0, kind] <= sent[kind]
    settled = totals.delivered[0].sum() + totals.lost[0].sum()
    assert settled == env.uplink.inside.tables.departures.settled[0] <= env.uplink.inside.tables.departures.next[0] <= sender.packets
    return totals


links = st.fixed_dictionaries(
    {
        "name": st.just("drawn"),
        "seed": st.integers(0, 1 << 30),
        "trace": st.sampled_from([constant(5e4), constant(4e5), constant(5e6), steps("s", [(0.0, 2.0), (0.7, 0.05), (1.4, 1.0)], 2.0)]),
        "queue_packets": st.sampled_from([1, 5, 500]),
        "loss": st.sampled_from([0.0, 0.1]),
        "works_ms": st.sampled_from([0.0, 200.0]),
        "flows": st.sampled_from([(), (Udp(3e5),), (Udp(3e5, poisson=True), Udp(1e6, on_s=0.3, off_s=0.5))]),
        "expiry_ms": st.sampled_from([0.0, 100.0, 400.0]),
        "send_queue": st.sampled_from([1, 6, 300]),
        "rates_kbps": st.sampled_from([(300.0, 50.0, 2500.0), (20.0, 10.0, 100.0)]),
    }
).map(lambda fields: SharedLink(**fields))


@settings(max_examples=40)
@given(links, st.sampled_from(["correlated", "paper"]), st.integers(0, 1000))
def test_packets_in_are_accounted_for(link, mode, seed):
    env = make(link, mode=mode)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    over, earned = False, 0.0
    while not over:
        assert_accounts(env)
        _, rewards, _, truncated, _ = env.step(env.action_space.sample())
        earned, over = earned + rewards[0], truncated[0]
    totals, played = assert_accounts(env), env.played()
    assert totals.created[0, AUDIO] == 300
    arrived = played.arrived_us[0] >= 0
    if env.batch.calls["slot"][0] < 300 + 4096:  # drained
        assert env.uplink.inside.senders[0].queue.waiting == 0
        assert totals.sent.sum() == totals.delivered.sum() + totals.lost.sum()
        assert np.count_nonzero(arrived) == totals.delivered[0, AUDIO]
    else:
        assert link.trace.rates_bps[0] <= 4e5
    emitted, heard = played.emitted_us[0] >= 0, played.played_us[0] >= 0
    assert not (emitted & ~arrived).any() and not (heard & ~arrived).any()
    assert ((played.path[0] >= 0) | ~arrived).all()
    assert (played.arrived_us[0][arrived] > 10_000 * np.flatnonzero(arrived)).all()
    assert earned == pytest.approx(played.totals.return_emodel[0] + OnTime().video * totals.on_time[0, VIDEO], rel=1e-9, abs=1e-9)


def test_as_today_behind_ten_gigabits():
    """No other flow and no video: each packet arrives a microsecond later, its serialisation rounded up."""
    link = SharedLink("wide", 3, constant(10e9), video=None, rates_kbps=(1e6, 1e6, 1e6))
    behind, before = (make(uplink=uplink, packets=600, action="exact") for uplink in (OneWorld(link), None))
    draws = np.random.default_rng(2)
    behind.reset(seed=6)
    before.reset(seed=6)
    for _ in range(60):
        path, level_us = draws.integers(0, 5), draws.integers(20_000, 120_000)
        behind.step(np.array([[path, level_us, 0, 0]]))
        before.step(np.array([[path, level_us]]))
    one, other = behind.played(), before.played()
    np.testing.assert_array_equal(one.path, other.path)
    np.testing.assert_array_equal(one.arrived_us, other.arrived_us + (other.arrived_us >= 0))
    np.testing.assert_array_equal(one.emitted_us, other.emitted_us + (other.emitted_us >= 0))
    np.testing.assert_array_equal(one.played_us, other.played_us)
    assert one.totals.return_emodel == pytest.approx(other.totals.return_emodel, rel=1e-6)
    assert one.totals.probes_sent == other.totals.probes_sent


@pytest.mark.parametrize("what", ["capacity", "flow"])
@pytest.mark.parametrize("observation", ["features", "records"])
@pytest.mark.parametrize("location", ["sender", "central"])
def test_the_future_of_the_bottleneck_does_not_leak(location, observation, what):
    """The capacity falls, or another flow begins, at 1 s: whatever is shown and paid before is the same, afterwards it is not."""
    border_us = 1_000_000
    level, falls = rate_trace("level", [0.0], [1.5e6], 1000.0), rate_trace("falls", [0.0, border_us / 1e6], [1.5e6, 0.1e6], 1000.0)
    link = SharedLink("x", 3, level)
    other = link._replace(trace=falls) if what == "capacity" else link._replace(flows=(Udp(1.4e6, starts_s=border_us / 1e6),))
    envs = [
        make(observation=observation, location=location, interval=3, uplink=OneWorld(world, level, falls)) for world in (link, other)
    ]  # fmt: skip
    shown, paid = [env.reset(seed=1)[0] for env in envs], [np.zeros(1)] * 2
    envs[0].action_space.seed(0)
    before = moved = 0
    for _ in range(100):
        parts = [list(seen.values()) if isinstance(seen, dict) else [seen] for seen in shown]
        equal = all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))
        if envs[0].batch.calls["slot"][0] * 10_000 <= border_us:
            assert equal and paid[0] == paid[1]
            before += 1
        moved += not equal
        action = envs[0].action_space.sample()
        played = [env.step(action) for env in envs]
        shown, paid = [step[0] for step in played], [step[1] for step in played]
    assert before > 30 and moved > 30


TIGHT = SharedLink("tight", 5, steps("s", [(0.0, 1.2), (2.0, 0.4)], 4.0), queue_bytes=20_000, loss=0.01, flows=(Udp(1e5),))


def of_all(env):
    """All that a call came to, bit for bit."""
    played, sender = env.played(), env.uplink.inside.senders[0]
    parts = (played.path, played.arrived_us, played.emitted_us, played.played_us, *played.totals, *env.uplink.sending.totals())
    return [part.tobytes() for part in parts], sender.packets, sender.rtt_us


@pytest.mark.parametrize("feedback_loss", [0.0, 0.2])
def test_a_rule_of_the_path_outside_equals_the_rule_inside(feedback_loss):
    arguments = {"location": "sender", "interval": 1, "observation": "records", "feedback_loss": feedback_loss, "action": "exact"}
    others = {"playout": WMJitter(), "rate": GccWebrtc()}
    outside = make(TIGHT, order=Sbpn(), **others, **arguments)
    inside = make(TIGHT, path=Greedy(), **others, **arguments)
    observation, _ = outside.reset(seed=3)
    inside.reset(seed=3)
    policy, state, over = RulePolicy(Greedy()), None, False
    while not over:
        action, state = policy.predict(observation, state)
        observation, _, _, truncated, _ = outside.step(action)
        inside.step(np.ones(1, np.int64))  # SBPN2, by command
        over = truncated[0]
    assert of_all(outside) == of_all(inside)
    assert len(np.unique(outside.played().path)) > 2


@pytest.mark.parametrize("feedback_loss", [0.0, 0.2])
def test_a_rule_of_the_rate_outside_equals_the_rule_inside(feedback_loss):
    """Asked whenever a report is back, at the sender: the same rates at the same instants."""
    arguments = {"location": "sender", "interval": 1, "observation": "records", "feedback_loss": feedback_loss, "action": "exact"}
    others = {"path": Greedy(), "playout": WMJitter()}
    outside = make(TIGHT, **others, **arguments)
    inside = make(TIGHT, rate=GccWebrtc(), **others, **arguments)
    observation, _ = outside.reset(seed=3)
    inside.reset(seed=3)
    policy, state, over, asked, targets, reported = RatePolicy(GccWebrtc()), None, False, 0, set(), 0
    while not over:
        action = np.zeros((1, 2), np.int64)
        feedback = feedback_at_location(outside, reported)
        reported += len(feedback)
        if state is None or len(feedback):
            told = {"records": feedback[None], "count": np.array([len(feedback)]), "history": outside.uplink.sending.history}
            decided, state = policy.predict(told | {"key": observation["key"], "now_us": observation["slot"] * 10_000}, state)
            action, asked = decided[:, 0:1] * [[1, 0]], asked + 1
        observation, _, _, truncated, _ = outside.step(action)
        inside.step(np.zeros(1, np.int64))
        over = truncated[0]
        targets.add(float(outside.uplink.inside.senders[0].target_bps))
    assert of_all(outside) == of_all(inside)
    assert asked > 20 and len(targets) > 5


def test_a_rule_inside_shares_what_the_agent_is_shown():
    """The path by a rule and the lag by an agent, no uplink: the same call as Relay's other way round, and the agent sees every record."""
    arguments = {"scenario": "table1", "packets": 400, "log": True, "action": "exact", "observation": "records", "feedback_loss": 0.1}
    arguments["autoreset_mode"] = AutoresetMode.DISABLED
    alone = gymnasium.make_vec(CALL, num_envs=1, interval=10, path=Greedy(), **arguments).unwrapped
    both = gymnasium.make_vec(CALL, num_envs=1, interval=1, **arguments).unwrapped
    seen, _ = alone.reset(seed=3)
    told, _ = both.reset(seed=3)
    policy, state, records, expected = RulePolicy(Greedy()), None, [], []
    for slot in range(400):
        if slot % 10 == 0:
            records.append(seen["records"][0, : seen["count"][0]])
            seen = alone.step(np.array([50_000]))[0]
        expected.append(told["records"][0, : told["count"][0]])
        path, state = policy.predict(told, state)
        told = both.step(np.array([[path[0], 50_000]]))[0]
    assert alone.played().path.tobytes() == both.played().path.tobytes()
    assert alone.played().emitted_us.tobytes() == both.played().emitted_us.tobytes()
    whole = np.concatenate(records)
    np.testing.assert_array_equal(whole, np.concatenate(expected)[: len(whole)])


ALONE = np.array([[0, 60_000, 0, 0]])  # the direct path, 60 ms, the rate as it is, first in, first out


def silent(from_s, to_s):
    """Between two moments a thousandth of the capacity is left, and the packets of another flow take minutes."""
    trace = steps("silent", [(0.0, 1.0), (from_s, 1e-3), (to_s, 1.0)] if from_s else [(0.0, 1e-3), (to_s, 1.0)], 2000.0)
    flow = Udp(1e8, 65535, starts_s=from_s, stops_s=to_s - 0.1)
    return make(SharedLink("silent", 3, trace, queue_packets=4, send_queue=30, flows=(flow,)), packets=5000, action="exact")


@pytest.mark.parametrize("back_s", [45.0, 1000.0])
def test_a_link_that_falls_silent(back_s):
    """Nothing comes through for longer than any ring is long, and then it does again; or never."""
    env = silent(1.0, back_s)
    env.reset(seed=1)
    play_out(env, itertools.repeat(ALONE))
    assert_accounts(env)
    played = env.played()
    assert np.count_nonzero(played.arrived_us[0, 200:4400] >= 0) <= 8  # what was in the bottleneck's queue
    emitted = played.emitted_us[0, 4800:] >= 0
    assert emitted.all() if back_s < 50.0 else not emitted.any()


def test_a_silence_from_the_start():
    env = silent(0.0, 45.0)
    env.reset(seed=1)
    play_out(env, itertools.repeat(ALONE))
    assert_accounts(env)
    played = env.played().played_us[0]
    assert (played[4700:] >= 0).mean() > 0.9 and (played[:4400] < 0).all()


def test_the_sender_is_seen_as_late_as_it_is_commanded():
    """The same decisions from the start on are the same call from any location; what the sender tells of itself comes later."""
    near, far = (make(TIGHT, location=location, interval=1) for location in ("sender", "receiver"))
    shown = []
    for env in (near, far):
        seen = [env.reset(seed=5)[0][0]]
        seen += [env.step(np.array([[0, 12, 18, 0]]))[0][0] for _ in range(250)]
        shown.append(np.array(seen)[:, [feature.name.endswith("[sender]") for feature in env.layout.features]])
    lag = int(far.uplink.inside.remote["status_slots"][0])
    assert lag > 1 and near.uplink.inside.remote["status_slots"][0] == 0
    np.testing.assert_array_equal(shown[1][lag:, :13], shown[0][: 251 - lag, :13])
    assert (shown[0][0, :13] == shown[1][0, :13]).all()
    assert len(np.unique(shown[0], axis=0)) > 100
