"""Rate and SendOrder: rejected input, meaning of actions and masks, features, and states that resume."""

import math
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode
from matplotlib.figure import Figure
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from twins.sender_policy import OrderPolicy, RatePolicy
from twins.sender_records import WITH_RECORDS
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.oracle_rate import OracleRate
from vcgym.baselines.records import PacketFeedback
from vcgym.envs.environments.rate import STEPS
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.traces.cards import DataError

RATE, ORDER = "vcgym/Rate-v1", "vcgym/SendOrder-v1"


@pytest.fixture(params=[RATE, ORDER])
def sender_id(request):
    """Each environment of senders in turn."""
    return request.param


def make(env_id, records=False, **arguments):
    arguments = ABSOLUTE[env_id] | {"num_envs": 2, "seconds": 3.0} | arguments
    return gymnasium.make_vec(WITH_RECORDS[env_id] if records else env_id, **arguments).unwrapped


REFUSED = [
    ({"num_envs": 0}, "num_envs = 0: allowed are integers from 1"),
    ({"num_envs": 2.0}, r"num_envs = 2\.0: allowed are integers from 1"),
    ({"threads": 0}, "threads = 0: allowed are integers from 1 to 256"),
    ({"seconds": 0}, r"seconds = 0: allowed are numbers from 0\.1 to 3600"),
    ({"seconds": float("nan")}, "seconds = nan: allowed are numbers"),
    ({"seconds": "60"}, "seconds = '60': allowed are numbers"),
    ({"send_queue": 0}, "send_queue = 0: allowed are integers from 1 to 1024"),
    ({"send_queue": 2.5}, r"send_queue = 2\.5: allowed are integers"),
    ({"pacing": -1.0}, r"pacing = -1\.0: allowed are numbers from 0 to 1000"),
    ({"log_packets": -1}, "log_packets = -1: allowed are integers from 0"),
    ({"scenario": "mars"}, "scenario = 'mars': allowed are order, rate, calls, rmcat, rate-measured"),
    ({"split": "holdout"}, "split = 'holdout': allowed are train, validation, test"),
    ({"split": "test"}, "split = 'test': allowed are train, validation; worlds of the test split are for the leaderboard alone"),
    ({"reward": "event"}, "reward = 'event': allowed are "),
    ({"observation": "records"}, "observation = 'records': allowed are features, dict$"),
    ({"action": "box"}, "action = 'box': allowed are "),
    ({"render_mode": "human"}, "render_mode = 'human': allowed is None"),
    ({"autoreset_mode": "sometimes"}, "sometimes"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=str)
def test_arguments(sender_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(sender_id, **arguments)


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        (RATE, {"order": WMJitter()}, r"order = WMJitter\(.*\): allowed are rules that control order, as Fifo, .*Sbpn"),
        (RATE, {"order": GccWebrtc()}, r"order = GccWebrtc\(.*\): allowed are rules that control order, as Fifo, .*Sbpn"),
        (ORDER, {"overflow": FixedRate()}, r"overflow = FixedRate\(.*\): allowed are rules that control order, as Fifo"),
        (ORDER, {"overflow": Sbpn}, "overflow = .*: allowed are rules that control order, as Fifo"),
        (RATE, {"order": "fifo"}, "order = 'fifo': allowed are .*Fifo"),
        (RATE, {"order": FromAgent()}, r"order = FromAgent\(.*\): allowed are rules that control order, as Fifo"),
        (RATE, {"reward": "on_time"}, "reward = 'on_time': allowed are utility, emodel"),
        (ORDER, {"reward": "utility"}, "reward = 'utility': allowed are on_time, missed, emodel"),
        (ORDER, {"rate": Fifo()}, r"rate = Fifo\(\): allowed are rules that control rate, as .*FixedRate, GccDraft, GccWebrtc, .*Tfrc"),
        (ORDER, {"rate": WMJitter()}, r"rate = WMJitter\(.*\): allowed are "),
        (ORDER, {"rate": FromAgent()}, r"rate = FromAgent\(.*\): allowed are "),
        (ORDER, {"overflow": "reject"}, "overflow = 'reject': allowed are .*Fifo"),
    ],
)
def test_holders(env_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(env_id, **arguments)


@pytest.mark.parametrize(
    ("policy", "params"),
    [(RatePolicy, Fifo()), (RatePolicy, "gcc"), (RatePolicy, OracleRate()), (OrderPolicy, WMJitter()), (OrderPolicy, None)],
)
def test_policies_of_no_rule(policy, params):
    with pytest.raises(ValueError, match=r"(rate|order) = .*: allowed are "):
        policy(params)


def test_measured_data_that_is_not_there(sender_id, tmp_path, monkeypatch):
    missing = tmp_path / "nowhere"
    with pytest.raises(DataError, match=str(missing)):
        make(sender_id, scenario="rate-measured", data=str(missing))
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(DataError, match="VCGYM_DATA"):
        make(sender_id, scenario="rate-measured")


def test_reset_refuses_before_anything_moves(sender_id):
    env = make(sender_id)
    env.reset(seed=1)
    before = env.get_state()
    refused = (({"pair": "a-b"}, "option of reset = 'pair'"), ({"kind": "mars"}, r"kind of scenario .* = 'mars': allowed are "))
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)
    after = env.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


OUTSIDE = [
    (RATE, "continuous", [[[0.0], [np.nan]], [[0.0], [1.5]], [0.0, 0.0]]),
    (RATE, "discrete", [[0, 9], [-1, 0], [0.5, 1.0]]),
    (RATE, "exact", [[[0, 0, 0], [-1, 0, 0]], [[0, 0, 0], [0.5, 0, 0]], [[10**10, 0, 0], [0, 0, 0]]]),
    (ORDER, "discrete", [[0, 10], [-1, 0], [0.5, 1.0], [0, np.nan]]),
]


@pytest.mark.parametrize(("env_id", "form", "actions"), OUTSIDE)
def test_an_action_outside_the_space_moves_nothing(env_id, form, actions):
    env = make(env_id, action=form)
    env.reset(seed=1)
    before = env.get_state()
    for action in actions:
        with pytest.raises(ValueError, match=r"(?s)action .*: allowed are values of"):
            env.step(np.array(action))
    after = env.get_state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_masks_show_the_slots_that_hold_a_packet():
    env = make(ORDER, num_envs=1)
    env.reset(seed=1)
    seen = set()
    for _ in range(30):
        waiting = int(env.batch.senders[0].queue.waiting)
        assert env.action_masks()[0].tolist() == [i < waiting for i in range(5)] * 2
        seen.add(waiting)
        env.step(np.array([waiting - 1]))
    assert len(seen) > 1


def test_an_empty_slot_means_the_newest():
    empty, last = make(ORDER), make(ORDER)
    seen, _ = empty.reset(seed=1)
    expected, _ = last.reset(seed=1)
    for _ in range(60):
        np.testing.assert_array_equal(seen, expected)
        waiting = last.batch.senders["queue"]["waiting"]
        seen = empty.step(np.full(2, 4))[0]
        expected = last.step(waiting - 1)[0]


def test_the_scalar_face_has_masks():
    env = gymnasium.make(ORDER, seconds=3.0, **ABSOLUTE[ORDER])
    env.reset(seed=1)
    while (mask := env.unwrapped.action_masks()).all():
        env.step(0)
    assert mask.shape == (10,) and mask.any()


@pytest.mark.parametrize("form", ["continuous", "discrete", "exact"])
def test_what_an_action_means_for_the_rate(form):
    env = make(RATE, num_envs=3, action=form)
    env.reset(seed=1, options={"kind": "cubic"})
    actions = {
        "continuous": np.array([[-1.0], [0.0], [1.0]], np.float32),
        "discrete": np.array([0, 4, 8]),
        "exact": np.array([[60_000, 0, 0], [0, 0, 0], [10**9, 0, 0]]),
    }
    env.step(actions[form])
    expected = {
        "continuous": [50e3, math.sqrt(50e3 * 4000e3), 4000e3],
        "discrete": [300e3 * STEPS[0], 300e3, 300e3 * STEPS[8]],
        "exact": [60e3, 300e3, 4000e3],
    }
    np.testing.assert_allclose(env.batch.senders["target_bps"], expected[form], rtol=1e-12)


def test_the_receiver_collects_as_long_as_it_is_told_and_the_agent_is_asked_again():
    env = make(RATE, records=True, num_envs=1, action="exact")
    env.reset(seed=1, options={"kind": "cubic"})
    times = []
    for _ in range(6):
        seen, *_ = env.step(np.array([[0, 300_000, 120_000]]))
        times.append((int(seen["now_us"][0]), int(seen["count"][0]) > 0))
    asked = np.diff([at_us for at_us, _ in times])
    assert (asked <= 120_000).all() and 120_000 in asked
    reports = [at_us for at_us, told in times if told]
    assert all(gap >= 290_000 for gap in np.diff(reports))
    assert {told for _, told in times} == {False, True}


@pytest.mark.parametrize("arguments", [{"action": "discrete"}, {"action": "continuous", "reward": "emodel"}], ids=str)
def test_checkers_pass_in_every_form(arguments):
    check_env_sb3(gymnasium.make(RATE, seconds=2.0, interval=1, **arguments).unwrapped)


def test_observations_lie_in_their_space(sender_id):
    scenario = "rate" if sender_id == RATE else "order"
    for kind in SendingScenario(scenario).kinds:
        for observation in ("features", "dict"):
            env = make(sender_id, observation=observation)
            env.action_space.seed(1)
            seen, _ = env.reset(seed=4, options={"kind": kind})
            for _ in range(30):
                assert env.observation_space.contains(seen)
                seen, *_ = env.step(env.action_space.sample())


def pictures(sender_id):
    """Yield the environment and its drawn axes before each decision of a short call."""
    env = gymnasium.make(sender_id, seconds=6.0, render_mode="rgb_array", **ABSOLUTE[sender_id])
    env.action_space.seed(1)
    env.reset(seed=4)
    over = False
    while not over:
        axes = Figure().add_subplot()
        env.unwrapped.native.draw(axes, 0)
        yield env, axes
        over = env.step(env.action_space.sample())[3]
    assert env.render().shape == (400, 720, 3)


def test_the_picture_of_a_rate_shows_the_past_alone():
    for env, axes in pictures(RATE):
        assert len(axes.lines[0].get_xdata()) == int(env.unwrapped.native.batch.senders[0].now_us) // 1_000_000
    assert axes.get_ylabel() == "target bitrate (kbit/s)"


@pytest.mark.long
def test_the_picture_of_a_queue_shows_what_waits():
    for env, axes in pictures(ORDER):
        assert sum(bar.get_x() > 0.0 for bar in axes.patches) == env.unwrapped.native.batch.senders[0].queue.waiting
    assert axes.get_ylabel() == "time left until it must arrive (ms)"


@pytest.mark.parametrize("observation", ["features", "dict"])
@pytest.mark.parametrize("scenario", ["order", "rate", pytest.param("calls", marks=pytest.mark.long)])
def test_stop_and_go_on(sender_id, scenario, observation):
    arguments = {"num_envs": 3, "observation": observation, "scenario": scenario, "autoreset_mode": AutoresetMode.SAME_STEP}
    arguments |= {} if sender_id == ORDER else {"seconds": 2.5 if scenario == "calls" else 1.5}
    whole = make(sender_id, **arguments)
    whole.reset(seed=9)
    whole.action_space.seed(4)
    actions = [whole.action_space.sample() for _ in range(60)]
    states, shown = {}, []
    for step, action in enumerate(actions):
        if step in (0, 7, 40):
            states[step] = whole.get_state()
        shown.append(_bytes(whole.step(action)))
    for step, state in states.items():
        assert all(value.dtype.kind in "biuf" for value in state.values())  # plain: goes into any file
        other = make(sender_id, **arguments)
        other.set_state(state)
        assert [_bytes(other.step(action)) for action in actions[step:]] == shown[step:]
    if scenario == "calls" and sender_id == RATE:
        assert sum(whole.batch.tables.others.senders["packets"]) > 100
    different = make(sender_id, **arguments | {"seconds": 2.0})
    with pytest.raises(ValueError, match="state of another env: "):
        different.set_state(states[0])


def _bytes(step):
    observations, rewards, _, truncated, infos = step
    parts = observations.values() if isinstance(observations, dict) else [observations]
    return (*(part.tobytes() for part in parts), rewards.tobytes(), truncated.tobytes(), repr(infos))


def place(bps, low=50e3, high=4000e3):
    return 2.0 * math.log(min(max(bps, low), high) / low) / math.log(high / low) - 1.0


def test_features_equal_their_twin():
    """Made anew from the packets told of, slowly."""
    shown, told = (make(RATE, records, num_envs=1, action="exact", seconds=8.0) for records in (False, True))
    features, _ = shown.reset(seed=3, options={"kind": "cubic"})
    observation, _ = told.reset(seed=3, options={"kind": "cubic"})
    draws, over = np.random.default_rng(0), np.zeros(1, bool)
    target, reports, smooth_bps, smooth_lost, rtt_us = 300e3, [], None, 0.0, 0.0
    floor_us, queueing_us, before_us, newest = None, 0.0, 0.0, None
    while not over[0]:
        sender = told.batch.senders[0]
        fates = [PacketFeedback(*map(int, row)) for row in observation["records"][0, : observation["count"][0]]]
        if fates:
            if reports:
                bps, lost = reports[-1][1:]
                smooth_bps = bps if len(reports) == 1 else smooth_bps * 7 / 8 + bps / 8
                smooth_lost = lost if len(reports) == 1 else smooth_lost * 7 / 8 + lost / 8
            at_us, before_us = int(sender.stats.report_us), queueing_us
            arrived = [fate for fate in fates if fate.arrived_us >= 0]
            span_us = at_us - (reports[-1][0] if reports else 0)
            reports.append((at_us, sum(fate.size_bytes for fate in arrived) * 8e6 / span_us, 1.0 - len(arrived) / len(fates)))
            for fate in arrived:
                delay_us = fate.arrived_us - fate.sent_us
                risen_us = math.inf if floor_us is None else floor_us + 5.0 * max(fate.sent_us - newest.sent_us, 0) / 1000.0
                floor_us, newest = min(risen_us, delay_us), fate
                queueing_us = queueing_us * 7 / 8 + (delay_us - floor_us) / 8
            if arrived:
                sample = min(fate.known_us - fate.sent_us for fate in arrived)
                rtt_us = sample if rtt_us == 0.0 else 0.9 * rtt_us + 0.1 * sample
        now_us = int(observation["now_us"][0])
        expected = [place(target)]
        if reports:
            newest_bps = reports[-1][1]
            excess_us = newest.arrived_us - newest.sent_us - floor_us
            expected += [place(newest_bps), place(smooth_bps if len(reports) > 1 else newest_bps), reports[-1][2], smooth_lost]
            expected += [queueing_us / 1e5, (queueing_us - before_us) / 1e5, excess_us / 1e5, rtt_us / 1e5]
            expected += [(now_us - reports[-1][0]) / 1e6, 1.0]
        else:
            expected += [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0]
        np.testing.assert_allclose(features[0, :11], expected, rtol=1e-5, atol=1e-6)
        assert features[0, 13] == pytest.approx(now_us / 8e6)
        target = float(draws.integers(100_000, 2_000_000))
        action = np.array([[int(target), 0, 0]])
        features, _, _, over, _ = shown.step(action)
        observation, *_ = told.step(action)
        if over[0]:
            break
    assert len(reports) > 80


SCRIPT = """
import hashlib, sys
import gymnasium, numpy as np
import vcgym.envs

from absolute import ABSOLUTE

env = gymnasium.make_vec(sys.argv[1], num_envs=2, seconds=0.7, **ABSOLUTE[sys.argv[1]]).unwrapped
observations, _ = env.reset(seed=3)
digest = hashlib.sha256(observations.tobytes())
for step in range(12):
    actions = np.zeros(2, np.int64) if "Order" in sys.argv[1] else np.full((2, 1), 0.1 * step - 0.5, np.float32)
    observations, rewards, *_ = env.step(actions)
    digest.update(np.round(observations, 5).tobytes() + np.round(rewards, 9).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.long  # without the compiler, in a process of its own
def test_plain_python_does_the_same(sender_id, python_path):
    digests = set()
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": python_path(Path(__file__).parents[2])}
        done = subprocess.run([sys.executable, "-c", SCRIPT, sender_id], capture_output=True, text=True, check=True, env=environment)
        digests.add(done.stdout)
    assert len(digests) == 1


class _Uneven(SendingScenario):
    """A scenario whose send queue is longer for some seeds than for seed 0."""

    def draw(self, split, seed, kind=None):
        link = super().draw(split, seed, kind)
        return link._replace(send_queue=6 if seed % 7 else 5)


@pytest.mark.parametrize("observation", ["features", "dict"])
def test_a_queue_longer_than_the_observation_is_refused(observation):
    envs = make(ORDER, scenario=_Uneven("order"), send_queue=None, observation=observation)
    envs.reset(seed=[0, 7])
    with pytest.raises(ValueError, match="send_queue of seed 1 in scenario order is 6; allowed: up to 5, the longest of seed 0"):
        envs.reset(seed=[0, 1])
    envs = make(ORDER, scenario=_Uneven("order"), send_queue=5, observation=observation)
    for step in range(200):
        shown = envs.step(envs.action_space.sample())[0] if step else envs.reset(seed=[1, 2])[0]
        assert envs.observation_space.contains(shown)
    gymnasium.make_vec(ORDER, num_envs=2, seconds=3.0, scenario=_Uneven("order")).reset(seed=[0, 1])
