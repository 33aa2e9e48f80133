"""The laws between which an agent of Rate chooses: alone each is what it is without an agent, and a decision holds as long as it should."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Sbpn
from vcgym.baselines.systems import load_system
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.call.sender.laws import AIM, LAW_FEATURES, NADA, SCREAM, SYSTEMS
from vcgym.network.bottleneck.send_queue import AUDIO

RATE = "vcgym/Rate-v1"


def make(num_envs=1, env_id=RATE, **arguments):
    settings = {"seconds": 9.0, "interval": 5, "autoreset_mode": AutoresetMode.DISABLED, "log_packets": 20_000}
    return gymnasium.make_vec(env_id, num_envs=num_envs, **settings | arguments).unwrapped


def play(env, action, kind, seed=3):
    """Play a call with one action; return its log and world."""
    env.reset(seed=seed, options={"kind": kind})
    link = env.batch.links[0]
    while not env.step(np.array([action]))[3][0]:
        pass
    return env.log(0), link


@pytest.mark.parametrize("kind", ["cubic", "wifi"])
@pytest.mark.parametrize("law", [SCREAM, NADA])
def test_a_law_that_always_drives_is_the_rule_alone(kind, law):
    env = make()
    assert_plays_as(env, *play(env, law, kind), law, Fifo())


@pytest.mark.parametrize("order", [Fifo(), Sbpn(), Sbpn(discard=Discard.WHEN_FULL)])
def test_an_order_that_never_changes_is_the_scheduler_alone(order):
    env, orders = make(env_id="vcgym/Send-v1", seconds=20.0), [Fifo(), Sbpn(), Sbpn(discard=Discard.WHEN_FULL)]
    assert_plays_as(env, *play(env, 3 * SCREAM + orders.index(order), "cellular"), SCREAM, order)


def assert_plays_as(env, ours, link, law, order):
    """A log is that of the law's system with a scheduler."""
    system = load_system(SYSTEMS[law])
    alone = SendingBatch(1, system.rate, order, worlds_of(env.scenario), pacing=system.pacing, log_packets=20_000)
    alone.start(0, link)
    alone.play(np.arange(1))
    np.testing.assert_array_equal(ours, alone.log(0))
    assert len(ours) > 500


@pytest.mark.parametrize("kind", ["cellular", "cubic"])
def test_timely_rewards_what_a_log_says(kind):
    env = make(env_id="vcgym/Send-v1", interval=1000, seconds=30.0)
    env.reset(seed=4, options={"kind": kind})
    _, reward, _, over, infos = env.step(np.array([3 * SCREAM + 1]))
    assert over[0]
    log, link, totals = env.log(0), env.batch.links[0], env.batch.totals()
    is_on_time = (log["arrived_us"] >= 0) & (log["arrived_us"] <= log["created_us"] + 1000 * link.expiry_ms)
    is_on_time &= log["created_us"] >= 1e6 * link.counts_from_s
    mbit = 8e-6 * log["size_bytes"][is_on_time].sum() / 30.0
    missing = 1.0 - totals.on_time[0, AUDIO] / totals.created[0, AUDIO]
    assert reward[0] == pytest.approx(30.0 * (0.6 * np.log(4.0 * mbit + 1.0) - 10.0 * missing))
    assert 0.0 < missing < 1.0 and infos["audio_on_time"][0] == pytest.approx(1.0 - missing)


def test_a_box_of_rate_and_order_names_both():
    box, discrete = (make(env_id="vcgym/Send-v1", **form) for form in ({"action": "relative_continuous"}, {}))
    ours = play(box, np.array([-1, 1, 0, 0.3, 0, 0.1, 0], np.float32), "steps")[0]
    np.testing.assert_array_equal(ours, play(discrete, 3 * NADA + 1, "steps")[0])


def test_a_box_names_the_laws_of_the_levels():
    discrete, box = make(), make(action="relative_continuous")
    scores = {SCREAM: [1, 0, 0, 0], NADA: [0, 0.5, 0, 0], AIM: [-1, -1, 0, -1], AIM + 2: [0, 0, 1, 1]}
    for level, score in scores.items():
        ours, theirs = play(discrete, level, "steps")[0], play(box, np.array(score, np.float32), "steps")[0]
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("interval", [1, 5, 20])
def test_a_decision_holds_for_as_long_as_its_reports_take(interval):
    env = make(3, interval=interval)
    env.reset(seed=1, options={"kind": "steps"})
    before = None
    for step in range(40 // interval + 2):
        env.step(np.array([SCREAM, NADA, AIM + 1]))
        now_us = env.batch.senders["now_us"].copy()
        if step > 1:
            took_ms = (now_us - before) / 1000.0
            least_ms = 50.0 * (interval - 0.5)
            assert (took_ms >= least_ms).all() and took_ms[2] == 50.0 * interval
            assert took_ms[0] <= least_ms + 70.0 and took_ms[1] <= least_ms + 140.0  # two reports of SCReAM, one of NADA
        before = now_us


def test_a_law_that_takes_over_sets_its_target_and_the_others_go_on_listening():
    env = make(4)
    env.reset(seed=5, options={"kind": "cellular"})
    names = [feature.name for feature in env.layout.parts["laws"].features]
    assert names == [feature.name for feature in LAW_FEATURES]
    draws = np.random.default_rng(1)
    for _ in range(30):
        action = draws.integers(5, size=4)
        observation = env.step(action)[0]
        chosen, shown = env.batch.rate_state.chosen, env.layout.split(observation)["laws"]
        np.testing.assert_array_equal(chosen["law"], np.minimum(action, AIM))
        np.testing.assert_array_equal(chosen["target_bps"], env.batch.senders["target_bps"])
        for law in (SCREAM, NADA):
            drives = chosen["law"] == law
            own = np.clip(chosen["of_laws_bps"][:, law], chosen["min_bps"], chosen["max_bps"])
            np.testing.assert_array_equal(own[drives], chosen["target_bps"][drives])
            above = 2.0 * np.log(chosen["of_laws_bps"][:, law] / chosen["target_bps"])
            np.testing.assert_allclose(shown[:, names.index(("scream_above", "nada_above")[law])], above / np.sqrt(1 + above**2), atol=1e-6)
        np.testing.assert_array_equal(shown[:, names.index("nada_drives")], chosen["law"] == NADA)
        np.testing.assert_array_equal(shown[:, names.index("aim_drives")], chosen["law"] == AIM)
    assert (np.ptp(chosen["of_laws_bps"][:, :AIM], axis=1) > 0.0).all()


def test_features_of_a_stretch_are_those_of_its_packets():
    """A slow twin reads the log: packets that were reported between two decisions."""
    env = make(seconds=9.0)
    env.reset(seed=3, options={"kind": "cubic"})
    names = [feature.name for feature in LAW_FEATURES]
    began, reported, history = None, 0, []
    for step in range(25):
        observation = env.step(np.array([AIM + 1]))[0]
        shown = dict(zip(names, env.layout.split(observation)["laws"][0].astype(np.float64), strict=True))
        now_us, known = int(env.batch.senders["now_us"][0]), int(env.batch.senders["reported"][0])
        log = env.log(0)[:known]
        log["arrived_us"][log["arrived_us"] > now_us] = -1
        if step > 0:
            seen = slow_stretch(log, reported, now_us - began)
            target = np.log(env.batch.senders["target_bps"][0])
            seen["delivered_above"] = seen.pop("log_rate") - target
            for name, value in seen.items():
                assert shown[name] == pytest.approx(value / np.sqrt(1 + value**2), abs=1e-5), name
            means = dict.fromkeys(seen, 0.0)
            for n, one in enumerate(history):
                means = {name: mean + (one[name] - mean) / min(n + 1, 6) for name, mean in means.items()}
            if step > 1:
                for name, value in means.items():
                    assert shown[f"{name}_before"] == pytest.approx(value / np.sqrt(1 + value**2), abs=1e-4), name
            standing = min(one["queue_least"] for one in [*history[-2:], seen])
            assert shown["standing_queue"] == pytest.approx(standing / np.sqrt(1 + standing**2), abs=1e-5)
            history.append(seen)
        elif step == 0:
            history = [slow_stretch(log, 0, now_us)]
            history[0]["delivered_above"] = history[0].pop("log_rate") - np.log(env.batch.senders["target_bps"][0])
        began, reported = now_us, known


def slow_stretch(log, first, took_us):
    """The features of the packets from `first` on, of a log of reported packets; lost ones have no arrival."""
    delays = np.where(log["arrived_us"] >= 0, (log["arrived_us"] - log["sent_us"]) / 1000, np.inf)
    queues = [delay - delays[: i + 1].min() for i, delay in enumerate(delays)]
    came = [i for i in range(first, len(log)) if log["arrived_us"][i] >= 0]
    before = {i: max((j for j in range(i) if log["arrived_us"][j] >= 0), default=None) for i in came}
    queue = np.array([queues[i] for i in came])
    pairs = [(i, j) for i, j in before.items() if j is not None]
    gaps = np.array([(log["arrived_us"][i] - log["arrived_us"][j]) / 1000 for i, j in pairs])
    return {
        "queue_mean": queue.mean() / 20,
        "queue_deviation": queue.std() / 20,
        "queue_least": queue.min() / 20,
        "queue_most": queue.max() / 20,
        "roughness": sum(abs(delays[i] - delays[j]) for i, j in pairs) / len(came) / 4,
        "gaps": np.sqrt((gaps**2).sum() / len(came)) / 10,
        "longest_gap": gaps.max() / 100,
        "missing": 100 * (1 - len(came) / (len(log) - first)),
        "log_rate": np.log(8e6 * log["size_bytes"][came].sum() / took_us),
    }
