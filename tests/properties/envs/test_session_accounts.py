"""The counters of a call are consistent: rewards add up to the totals, every packet is counted once, time never decreases."""

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE, SENDERS
from gymnasium.vector import AutoresetMode

from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.network.playout.quality import LOSS_PRICE, rating

WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]
SEEDS = [11, 12, 13, 14]
PACKETS = 1300
TICK_US = 10_000
PATHS = [env_id for env_id in ABSOLUTE if env_id not in SENDERS]


def play_out(env_id, **arguments):
    """Calls under random actions to their end: the environment, the sum of rewards of each, the observations and the last infos."""
    settings = {"packets": PACKETS, "log": True, "autoreset_mode": AutoresetMode.NEXT_STEP}
    env = gymnasium.make_vec(env_id, num_envs=len(SEEDS), **ABSOLUTE[env_id] | settings | arguments).unwrapped
    env.action_space.seed(8)
    observations, _ = env.reset(seed=SEEDS)
    finished = [None] * len(SEEDS)
    returns, shown = np.zeros(len(SEEDS)), [observations]
    while None in finished:
        observations, rewards, _, truncated, infos = env.step(env.action_space.sample())
        returns += np.where([done is None for done in finished], rewards, 0.0)
        shown.append(observations)
        for row in np.flatnonzero(truncated):
            if finished[row] is None:
                played = env.played()
                log = {name: getattr(played, name)[row] for name in ("path", "arrived_us", "emitted_us", "flushed", "played_us", "windows")}
                totals = {name: value[row].item() for name, value in played.totals._asdict().items()}
                finished[row] = log | {"totals": totals, "info": {name: infos[name][row] for name in infos if not name.startswith("_")}}
    return env, returns, finished, shown


@pytest.mark.parametrize("reward", ["emodel", "event", "rating", "impairment"])
@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
def test_rewards_add_up_to_totals_and_score(path_env_id, scenario, mode, reward):
    """`rating` to the R of the leaderboard's row less that of a perfect call, `impairment` to what `emodel` lacks of a perfect call."""
    _, returns, finished, _ = play_out(path_env_id, scenario=scenario, mode=mode, reward=reward)
    for row, call in enumerate(finished):
        totals = call["totals"]
        ticks = totals["ticks_played"] + totals["ticks_stretched"] + totals["ticks_concealed"]
        out = (call["emitted_us"] >= 0) & ~call["flushed"]
        delays = (call["emitted_us"] - TICK_US * np.arange(PACKETS))[out]
        missed = PACKETS - out.sum() - call["flushed"].sum()
        assert totals["return_event"] == pytest.approx(-delays.sum() / 100_000.0 - LOSS_PRICE * missed, rel=1e-9)
        expected = {
            "emodel": totals["return_emodel"],
            "event": totals["return_event"],
            "rating": rating(totals["offset_us_sum"] / ticks / 1000.0, totals["ticks_concealed"] / ticks) - 93.2,
            "impairment": (100.0 * totals["return_emodel"] - 93.2 * ticks) / 6000.0,
        }
        assert returns[row] == pytest.approx(expected[reward], rel=1e-9, abs=1e-9)


BUFFERED = ("vcgym/Relay-v1", {"playout": CountTarget(60.0)})


@pytest.mark.parametrize(("env_id", "arguments"), [*((env_id, {}) for env_id in PATHS), BUFFERED], ids=str)
@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
def test_conservation_and_order(env_id, arguments, scenario, mode):
    _, _, finished, _ = play_out(env_id, scenario=scenario, mode=mode, **arguments)
    sent = TICK_US * np.arange(PACKETS)
    for call in finished:
        arrived, emitted, played, totals = call["arrived_us"], call["emitted_us"], call["played_us"], call["totals"]
        came, out = arrived >= 0, emitted >= 0
        # Each packet has one fate: lost by the network, discarded late, flushed or emitted.
        assert not (out & ~came).any() and not (call["flushed"] & ~out).any()
        assert (arrived[came] > sent[came]).all()
        assert (emitted[out] >= arrived[out]).all()
        assert (np.diff(emitted[out]) >= 0).all()  # in order of sending
        heard = played >= 0
        assert not (heard & ~out).any()  # what the receiver discarded is never played
        assert (played[heard] >= arrived[heard]).all() and (played[heard] % TICK_US == 0).all()
        assert (np.diff(played[heard]) >= 0).all()
        assert len(np.unique(played[heard])) == totals["ticks_played"]
        # Without silence in the stream, no tick is silent; the windows are the totals cut into pieces.
        assert totals["ticks_silent"] == 0
        ticks = totals["ticks_played"] + totals["ticks_stretched"] + totals["ticks_concealed"]
        assert call["windows"].sum(axis=0).tolist() == [ticks, totals["ticks_concealed"], totals["offset_us_sum"]]
        assert (call["windows"][:, 0] <= 1000).all()
        assert totals["conceal_runs_long"] <= totals["conceal_runs"] <= totals["ticks_concealed"] <= ticks
        assert totals["conceal_longest_ticks"] <= totals["ticks_concealed"]
        assert totals["offset_us_sum"] >= 0 and totals["impairment_sum"] >= 0.0
        assert totals["path_changes"] == (np.diff(call["path"]) != 0).sum() <= totals["plans_sent"]
        info = call["info"]
        assert info["concealed_share"] == totals["ticks_concealed"] / ticks
        assert info["mouth_to_ear_ms"] == pytest.approx(totals["offset_us_sum"] / ticks / 1000.0)
        assert 0.0 <= info["rating"] <= 93.2 and 1.0 <= info["mos"] <= 4.5


@pytest.mark.parametrize("env_id", ["vcgym/Relay-v1", "vcgym/Call-v1"])
def test_every_record_is_shown_once_in_order(env_id):
    env, _, finished, shown = play_out(env_id, scenario="wonderproxy", mode="paper", observation="records")
    fields = {name: column for column, name in enumerate(Record._fields)}
    for row, call in enumerate(finished):
        records, slots = [], []
        for observation in shown[: PACKETS // 10 + 1]:
            records.append(observation["records"][row, : observation["count"][row]])
            slots.append(int(observation["slot"][row]))
            assert (records[-1][:, fields["known_us"]] <= slots[-1] * TICK_US).all()
            assert not observation["records"][row, observation["count"][row] :].any()
        assert slots[:-1] == list(range(0, PACKETS, 10))
        column = {name: np.concatenate(records)[:, at] for name, at in fields.items()}
        assert (np.diff(column["known_us"]) >= 0).all() and (column["arrived_us"] > column["sent_us"]).all()
        (feedback_us,) = set(column["known_us"] - column["arrived_us"])
        known = (call["arrived_us"] >= 0) & (call["arrived_us"] + feedback_us <= slots[-1] * TICK_US)
        media = column["kind"] == MEDIA
        assert (column["kind"][~media] == PROBE).all()
        assert sorted(column["packet"][media]) == np.flatnonzero(known).tolist()
        assert (call["arrived_us"][column["packet"][media]] == column["arrived_us"][media]).all()
        assert (call["path"][column["packet"][media]] == column["path"][media]).all()
        late = column["packet"][media & (column["late"] == 1)]
        assert set(late) == set(np.flatnonzero(known & (call["emitted_us"] < 0)))
        assert 0 < len(column["kind"][~media]) <= call["totals"]["probes_sent"]
    assert env.single_observation_space["history"].shape == (17, 3)


def test_every_arrival_is_shown_once_at_the_receiver():
    _, _, finished, shown = play_out("vcgym/Playout-v1", scenario="wonderproxy", mode="paper", observation="records")
    for row, call in enumerate(finished):
        arrivals = (call["arrived_us"] >= 0).sum()
        packets = [observation["records"][row, 0, 1] for observation in shown[:arrivals]]
        assert sorted(packets) == np.flatnonzero(call["arrived_us"] >= 0).tolist()
        assert all(observation["count"][row] == 1 for observation in shown[:arrivals])
        assert shown[arrivals]["count"][row] == 0  # the call is over: nothing is in hand


@pytest.mark.parametrize(("rate", "paths_probed_per_s"), [(1.0, 1.0), (4.0, 4.0), (0.0, 0.0)])
def test_probes_leave_at_the_declared_rate(rate, paths_probed_per_s):
    """A path that carries media is not probed; each other one is, at most one in a slot."""
    env = gymnasium.make_vec(
        "vcgym/Relay-v1", num_envs=1, packets=1000, interval=10, scenario="table1", probe_rate=rate, autoreset_mode="Disabled"
    ).unwrapped
    env.reset(seed=1)
    for _ in range(100):
        env.step(np.array([0]))
    assert env.played().totals.probes_sent.tolist() == [4 * 10 * paths_probed_per_s]


def test_a_call_in_which_nothing_arrives(path_env_id, monkeypatch):
    """Every packet is lost: all are paid for, and there is no delay."""
    monkeypatch.setattr(
        "vcgym.network.scenarios.paths.leo.measured", lambda data: (np.where(np.arange(9000) < 8990, -1, 20_000)[None].repeat(5, 0), "none")
    )
    env = gymnasium.make(path_env_id, **ABSOLUTE[path_env_id] | {"packets": 200, "scenario": "leo", "mode": "replay", "reward": "event"})
    env.reset(seed=1)
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, _, over, info = env.step(env.action_space.sample())
        total, steps = total + reward, steps + 1
    assert total == -LOSS_PRICE * 200
    assert info["mouth_to_ear_ms"] == 0.0
    native = env.unwrapped.native
    assert steps == (1 if native.at_arrivals else 200 // native.interval)  # a receiver without an arrival has nothing to decide
