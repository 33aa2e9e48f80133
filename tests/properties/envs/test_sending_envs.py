"""Properties of Rate and SendOrder for any decisions: counters add up, no leak of the future."""

import math

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE
from gymnasium.vector import AutoresetMode

from twins.sender_records import WITH_RECORDS
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.envs.call.sender.batch import Worlds
from vcgym.envs.call.stages import DONE
from vcgym.envs.environments.send_order import SendOrderVectorEnv
from vcgym.network.bottleneck.capacity.capacity import rate_trace
from vcgym.network.bottleneck.flow import Udp
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.playout.quality import CONCEALED_PRICE, R_DEFAULT

RATE, ORDER = "vcgym/Rate-v1", "vcgym/SendOrder-v1"
REWARDS = [(RATE, "utility"), (RATE, "emodel"), (ORDER, "on_time"), (ORDER, "missed"), (ORDER, "emodel")]


def make(env_id, num_envs=3, records=False, **arguments):
    settings_ = {"seconds": 6.0, "autoreset_mode": AutoresetMode.DISABLED}
    arguments = ABSOLUTE[env_id] | settings_ | arguments
    return gymnasium.make_vec(WITH_RECORDS[env_id] if records else env_id, num_envs=num_envs, **arguments).unwrapped


def decide(env, draws):
    """Any allowed actions."""
    if isinstance(env, SendOrderVectorEnv):
        masks = env.action_masks()
        return np.array([draws.choice(np.flatnonzero(mask), p=worth(mask)) for mask in masks])
    return draws.uniform(-1.0, 1.0, (env.num_envs, 1)).astype(np.float32)


def worth(mask):
    """Sending is ten times as probable as throwing away."""
    weights = np.where(np.flatnonzero(mask) < len(mask) // 2, 10.0, 1.0)
    return weights / weights.sum()


@pytest.mark.parametrize(("env_id", "reward"), REWARDS)
def test_rewards_add_up_to_the_totals(env_id, reward):
    for kind in ("wifi", "cubic") if env_id == RATE else ("rtt80-q5", "loss5"):
        env = make(env_id, num_envs=1, reward=reward, log_packets=5000)
        draws = np.random.default_rng(1)
        env.reset(seed=4, options={"kind": kind})
        earned, infos, over = 0.0, {}, np.zeros(1, bool)
        while not over[0]:
            _, rewards, _, over, infos = env.step(decide(env, draws))
            earned += rewards[0]
        totals = env.batch.totals()
        audio, video = totals.on_time[0, AUDIO], totals.on_time[0, VIDEO]
        late = totals.created[0, AUDIO] - audio
        if reward == "on_time":
            expected = audio + 0.25 * video
        elif reward == "missed":
            expected = -0.1 * late - 0.025 * (totals.created[0, VIDEO] - video)
        elif reward == "emodel":
            impairment = 0.024 * 200 + 0.11 * (200 - 177.3)
            expected = 2 * ((R_DEFAULT - impairment) * (audio + late) - CONCEALED_PRICE * late) / 100.0
        else:
            expected = sum(infos[f"utility_{part}"][0] for part in ("rate", "delay", "loss"))
        assert earned == pytest.approx(expected, rel=1e-9)
        percent = 100.0 * late / (audio + late)
        assert infos["rating"][0] == pytest.approx(max(0.0, 93.2 - 7.297 - 95.0 * percent / (percent + 25.1)))
        assert env.batch.why[0] == DONE


def test_utility_is_what_its_formula_says():
    """From the packets told of at each decision, by the formula as it is written."""
    env = make(RATE, num_envs=1, records=True, action="exact", log_packets=5000)
    env.reset(seed=5, options={"kind": "cubic"})
    draws = np.random.default_rng(2)
    link_forward_us, until_us, rejected = int(env.batch.senders[0].forward_us), 0, 0
    steps = 0
    while True:
        bps = int(draws.integers(100_000, 3_000_000))
        seen, rewards, _, over, _ = env.step(np.array([[bps, 0, 0]]))
        if over[0]:
            break
        log, sender = env.log(0), env.batch.senders[0]
        told = seen["records"][0, : seen["count"][0]]
        packets, arrived = told[:, 0], told[:, 3] >= 0
        now_rejected = int(env.batch.totals().rejected.sum())
        span_s = (int(sender.stats.report_us) - until_us) * 1e-6
        mbps = told[arrived, 1].sum() * 8e-6 / span_s
        delay_s = (told[arrived, 3] - log["created_us"][packets[arrived]] - link_forward_us).mean() * 1e-6
        missing = (~arrived).sum() + now_rejected - rejected
        expected = span_s * (0.6 * math.log(4 * mbps + 1) - delay_s - 10 * missing / (len(told) + now_rejected - rejected))
        assert rewards[0] == pytest.approx(expected, rel=1e-9)
        until_us, rejected, steps = int(sender.stats.report_us), now_rejected, steps + 1
    assert steps > 60


def with_outage(env, at_us):
    """The last hop stands still once, for 2 s from `at_us` on."""
    outages = env.batch.tables.dumbbell.outages
    outages["works_ms"], outages["begins_us"], outages["ends_us"] = 1e9, at_us, at_us + 2_000_000


@pytest.mark.parametrize("what", ["capacity", "flow", pytest.param("call", marks=pytest.mark.long), "loss", "outage"])
@pytest.mark.parametrize("records", [False, True], ids=["features", "records"])
@pytest.mark.parametrize("env_id", [RATE, ORDER])
def test_the_future_does_not_leak(env_id, records, what):
    """Something changes at 2 s: capacity falls, a flow or another call begins, packets are lost, the last hop stands still.

    Observations before are equal, later ones are not. The fate of packets in flight is unknown until a packet sent at that time could have
    arrived and its report could be back.
    """
    border_us = 2_000_000
    env, changed = (make(env_id, num_envs=1, records=records) for _ in range(2))
    link = env.scenario.draw("train", 1, "wifi" if env_id == RATE else "rtt80-q5")
    known_us = border_us + (round(1000 * (link.forward_ms + link.backward_ms)) if what in ("loss", "outage") else 0)
    level, falls = rate_trace("level", [0.0], [1.5e6], 1000.0), rate_trace("falls", [0.0, border_us / 1e6], [1.5e6, 0.2e6], 1000.0)
    worlds = [link._replace(trace=level, flows=(), counts_from_s=0.0)] * 2
    if what == "capacity":
        worlds[1] = worlds[1]._replace(trace=falls)
    elif what == "outage":
        worlds = [world._replace(works_ms=0.0) for world in worlds]
    elif what == "flow":
        worlds[1] = worlds[1]._replace(flows=(Udp(1.4e6, starts_s=border_us / 1e6),))
    elif what == "call":
        worlds[1] = worlds[1]._replace(flows=(OtherCall("tfrc", starts_s=border_us / 1e6),))
    for which, world in ((env, worlds[0]), (changed, worlds[1])):
        rate = which.batch.rate if env_id == RATE else Tfrc()
        allowed = Worlds([level, falls], flows=1, calls=int(what == "call"))
        which.batch = type(which.batch)(1, rate, which.batch.order, allowed, pacing=which.batch.pacing)
        which.accounts = which.accounts._replace(senders=which.batch.senders)
        which.scenario.draw = lambda split, seed, kind=None, world=world: world
    seen, _ = env.reset(seed=0)
    other, _ = changed.reset(seed=0)
    if what == "outage":
        with_outage(changed, border_us)
    draws, again = np.random.default_rng(0), np.random.default_rng(0)
    before = after = moved = 0
    while not (env._done.any() or changed._done.any()):
        now_us = min(int(env.batch.senders[0].now_us), int(changed.batch.senders[0].now_us))
        parts = seen.values() if isinstance(seen, dict) else [seen]
        equal = all(np.array_equal(a, b) for a, b in zip(parts, other.values() if isinstance(other, dict) else [other], strict=True))
        if what == "loss" and now_us > border_us:
            changed.batch.senders["loss"] = 0.3
        if now_us <= known_us:
            assert equal
            before += 1
        else:
            after += 1
            moved += not equal
        seen = env.step(decide(env, draws))[0]
        other = changed.step(decide(changed, again))[0]
    assert before > 20
    assert moved > after // 2
