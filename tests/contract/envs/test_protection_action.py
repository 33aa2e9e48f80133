"""Protection as an action of Call: each option is the rule that it names, commands and tokens travel, and losses are what was lost."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.controls.control import CONTROLS, Control
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.features.losses import LossStats, see_packet
from vcgym.envs.call.paths.effects import Protections
from vcgym.envs.call.paths.protecting import BUCKET_SLOTS
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US

OPTIONS = CONTROLS[Control.PROTECTION].decision.names
LOSSY = {"scenario": "table1", "loss_run_slots": 3.0, "protection": None}
RULES = {"path": Greedy(), "playout": WMJitter()}


def make(sessions=2, **arguments):
    return gymnasium.make_vec(
        "vcgym/Call-v1", num_envs=sessions, **{"autoreset_mode": AutoresetMode.DISABLED, **LOSSY, **arguments}
    ).unwrapped


def test_the_options_are_the_fields_of_the_effect():
    assert Protections._fields == OPTIONS
    assert make().single_action_space == spaces.Discrete(16 * len(OPTIONS))
    assert make(action="relative_continuous").single_action_space.shape == (2 + len(OPTIONS),)


@pytest.mark.parametrize("option", range(len(OPTIONS)))
def test_an_option_that_never_changes_is_the_rule_inside_the_loop(option):
    envs = make(packets=900, log=True, protection_budget=0.4, action="discrete", interval=10, **RULES)
    envs.reset(seed=[3, 4])
    over = np.zeros(2, bool)
    while not over.all():
        over = envs.step(np.full(2, option))[3]
    inside = CallBatch(envs.batch.scenario, 2, **RULES, log=True, protection=Protections()[option], budget=0.4)
    for row, draw in enumerate(envs.batch.draws):
        inside.start(row, draw)
    inside.play(np.arange(2))
    one, other = envs.played(), inside.played()
    for name in ("path", "arrived_us", "played_us", "protection"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.protection["extra_bytes"] > 0).all() == (option > 0)


def test_a_command_takes_the_way_to_the_sender_and_tokens_take_it_back():
    envs = make(1, interval=1, packets=400, observation="dict", protection_budget=2.0, action="discrete", **RULES)
    observation, _ = envs.reset(seed=5)
    way = -(-int(envs.batch.calls["to_sender"]["delay_us"][0]) // SLOT_US)
    assert way > 1
    tokens, spent = [], []
    for slot in range(120):
        tokens.append(BUCKET_SLOTS * float(observation["losses"][0, 3]))
        observation = envs.step(np.array([1 if slot >= 100 - way else 0]))[0]
        spent.append(int(envs.batch.protecting.rows["counts"]["extra_bytes"][0]))
    assert spent[99] == 0 and spent[100:110] == [120 * n for n in range(1, 11)]
    # Nothing was taken from the bucket before slot 100, and it gets the income of a slot, 240 bytes, in each.
    np.testing.assert_allclose(tokens[: 101 + way], [0.0] + [1.0] * way + list(range(2, 102)), atol=1e-3)
    np.testing.assert_allclose(tokens[101 + way :], 101.0 + 0.5 * np.arange(1, 20 - way), atol=1e-3)


def test_losses_are_those_of_packets_that_never_came():
    arrivals, lost, overtaken = [], [False] * 900, 0.0
    draws = np.random.default_rng(0)
    for packet in range(900):
        lost[packet] = bool(packet % 90 < 4 or packet % 40 == 20)
        if not lost[packet]:
            arrivals.append((packet + (draws.integers(2, 9) if packet % 7 == 0 else 0.5), packet))
    row = records(LossStats, 1)
    newest = -1
    for _, packet in sorted(arrivals):
        see_packet(row[0], packet)
        overtaken += ((packet < newest) - overtaken) / 512.0
        newest = max(newest, packet)
    share = runs = 0.0
    for packet in range(newest - 63):
        share += (lost[packet] - share) / 512.0
        runs += ((lost[packet] and not (packet and lost[packet - 1])) - runs) / 512.0
    assert row[0].lost == pytest.approx(share) and row[0].runs == pytest.approx(runs)
    assert row[0].overtaken == pytest.approx(overtaken)


def test_what_is_observed_comes_from_records_that_have_arrived():
    envs = make(packets=1500, observation="dict")
    envs.reset(seed=[7, 8])
    envs.action_space.seed(7)
    told = [set(), set()]
    for _ in range(25):
        observation = envs.step(envs.action_space.sample())[0]
        for s, call in enumerate(envs.batch.calls):
            feed = call["feed"]
            first = max(0, int(feed["written"]) - len(feed["rows"]))
            rows = [feed["rows"][n % len(feed["rows"])] for n in range(first, int(feed["read"]))]
            told[s] |= {int(one[1]) for one in rows if one[0] == MEDIA}
            assert envs.observer._losses[s].newest == max(told[s], default=-1)
    assert observation["losses"].shape == (2, 4) and (observation["losses"] <= 1.0).all()


def test_a_budget_is_kept_and_reported():
    envs = make(packets=1500, protection_budget=0.05)
    envs.reset(seed=1)
    over = np.zeros(2, bool)
    while not over.all():
        *_, over, info = envs.step(np.full(2, 1))
    assert (info["protection_share"] > 0.04).all() and (info["protection_share"] <= 0.05).all()
