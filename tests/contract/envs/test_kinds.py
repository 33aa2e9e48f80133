"""Several kinds of worlds in one environment, a limited number of training worlds, and costs of protection."""

import gymnasium
import numpy as np
import pytest

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.environments import data_hashes, make_envs
from vcgym.envs import IDS
from vcgym.network.scenarios.bottleneck.sending_scenarios import SENDING_SCENARIOS, scenario_of

PATH_IDS = [IDS[name] for name in ("Call", "Relay", "Playout")]
KINDS = {"wonderproxy": ("wonderproxy", "correlated"), "table1 paper": ("table1", "paper"), "stress correlated": ("stress", "correlated")}
SHORT = {"packets": 300}


def rolled(envs, steps, seed=0):
    """Return infos of the reset, then observations, rewards, ends and infos of each step with random actions."""
    observation, infos = envs.reset(seed=seed)
    envs.action_space.seed(0)
    found = [envs.step(envs.action_space.sample()) for _ in range(steps)]
    return observation, infos, found


@pytest.mark.parametrize("env_id", PATH_IDS)
def test_a_world_of_several_kinds_is_that_of_its_kind_alone(env_id):
    steps = 25 if env_id == IDS["Playout"] else 2
    mixed = gymnasium.make_vec(env_id, num_envs=6, scenario=list(KINDS), threads=2, **SHORT)
    first, infos, played = rolled(mixed, steps)
    assert infos["kind"].tolist() == ["wonderproxy correlated", "table1 paper", "stress correlated"] * 2
    for number, (scenario, mode) in enumerate(KINDS.values()):
        alone = gymnasium.make_vec(env_id, num_envs=6, scenario=scenario, mode=mode, **SHORT)
        of_kind, _, found = rolled(alone, steps)
        mine = slice(number, 6, 3)
        np.testing.assert_array_equal(first[mine], of_kind[mine])
        for one, other in zip(played, found, strict=True):
            for part, other_part in zip(one[:4], other[:4], strict=True):
                np.testing.assert_array_equal(part[mine], other_part[mine])


@pytest.mark.parametrize("env_id", PATH_IDS)
def test_calls_of_several_kinds_go_on_with_others_and_resume(env_id):
    kinds = {"scenario": list(KINDS), **SHORT}
    envs = gymnasium.make_vec(env_id, num_envs=3, **kinds)
    _, _, found = rolled(envs, 50)
    ended = [infos for *_, infos in found if "rating" in infos]
    assert ended
    assert all(set(infos["kind"][infos["_kind"]]) <= {"wonderproxy correlated", "table1 paper", "stress correlated"} for infos in ended)
    state, action = envs.get_state(), envs.action_space.sample()
    after = envs.step(action)
    other = gymnasium.make_vec(env_id, num_envs=3, **kinds)
    other.set_state(state)
    np.testing.assert_array_equal(other.step(action)[0], after[0])
    with pytest.raises(ValueError, match="state of another env"):
        gymnasium.make_vec(env_id, num_envs=3, scenario=list(KINDS)[::-1], **SHORT).set_state(state)


def test_later_calls_are_those_of_their_kinds_alone():
    envs = gymnasium.make_vec(IDS["Call"], num_envs=3, scenario=list(KINDS), autoreset_mode="SAME_STEP", **SHORT)
    observation, infos = envs.reset(seed=0)
    envs.action_space.seed(0)
    begun = [None] * 3
    for step in range(24):  # four calls of six decisions
        if step % 6 == 0:
            modes = [{"scenario": kind.split()[0], "mode": kind.split()[1]} for kind in infos["kind"]]
            begun = [gymnasium.make_vec(IDS["Call"], num_envs=1, **mode, **SHORT) for mode in modes]
            first = [one.reset(seed=[int(seed)])[0][0] for one, seed in zip(begun, infos["seed"], strict=True)]
            np.testing.assert_array_equal(observation, first)
        action = envs.action_space.sample()
        observation, rewards, _, truncated, infos = envs.step(action)
        alone = [one.step(action[row : row + 1]) for row, one in enumerate(begun)]
        np.testing.assert_array_equal(rewards, [one[1][0] for one in alone])
        if not truncated.any():
            np.testing.assert_array_equal(observation, [one[0][0] for one in alone])


def test_a_kind_is_chosen_by_name():
    envs = gymnasium.make_vec(IDS["Call"], num_envs=2, scenario=list(KINDS), **SHORT)
    _, infos = envs.reset(seed=0, options={"kind": "table1 paper", "pair": envs.unwrapped.batches[1].scenario.pairs("train")[0]})
    assert infos["kind"].tolist() == ["table1 paper"] * 2
    for options, said in (({"kind": "nowhere"}, "kind = 'nowhere': allowed are wonderproxy correlated"), ({"pair": "A-B"}, "with a kind")):
        with pytest.raises(ValueError, match=said):
            envs.reset(options=options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scenario": ["wonderproxy", "table1"], "action": "discrete"}, "wonderproxy correlated 17, table1 correlated 5: allowed are rel"),
        ({"scenario": ["wonderproxy", "measured-like-1"]}, "two paths or more"),
        ({"scenario": ["wonderproxy", "wonderproxy"]}, "different names"),
        ({"scenario": []}, "different names"),
        ({"scenario": ["wonderproxy replay"]}, "mode of scenario wonderproxy"),
        ({"scenario": ["wonderproxy", "stress"], "uplink": "rate"}, "allowed is one kind"),
        ({"scenario": ["wonderproxy", "stress"], "log": True}, "allowed is one"),
        ({"worlds": 0}, "worlds = 0"),
    ],
)
def test_what_kinds_cannot_be_is_refused_in_one_line(options, said):
    with pytest.raises(ValueError, match=said) as error:
        gymnasium.make_vec(IDS["Call"], num_envs=2, **options)
    assert "\n" not in str(error.value)


def test_equal_numbers_of_paths_take_every_form():
    envs = gymnasium.make_vec(IDS["Relay"], num_envs=2, scenario=["wonderproxy", "stress"], action="discrete", **SHORT)
    rolled(envs, 4)


def test_scenarios_of_senders_take_turns():
    both = scenario_of(["rate", "order"])
    for seed in range(4):
        assert both.draw("train", seed) == scenario_of(("rate", "order")[seed % 2]).draw("train", seed)
    assert both.draw("train", 0, "loss1").name == "loss1"
    envs = gymnasium.make_vec(IDS["Rate"], num_envs=4, scenario=["rate", "order"], seconds=2.0)
    kinds = rolled(envs, 3)[1]["kind"]
    assert [kind in scenario_of("rate").kinds for kind in kinds] == [True, False] * 2
    with pytest.raises(ValueError, match=f"scenario = 'nowhere': allowed are {SENDING_SCENARIOS[0]}"):
        gymnasium.make_vec(IDS["Rate"], scenario=["rate", "nowhere"])


@pytest.mark.parametrize("env_id", [IDS["Relay"], IDS["Rate"]])
def test_few_worlds_are_played_in_training_only(env_id):
    short = {"seconds": 1.0} if env_id == IDS["Rate"] else {"packets": 100}
    seen = {split: set() for split in ("train", "validation")}
    for split, seeds in seen.items():
        envs = gymnasium.make_vec(env_id, num_envs=4, worlds=3, split=split, **short)
        _, infos, found = rolled(envs, 40, seed=10)
        seeds.update(infos["seed"].tolist())
        for *_, infos in found:
            seeds.update(infos["seed"][infos["_seed"]].tolist() if "seed" in infos else [])
    assert seen["train"] == {0, 1, 2} and len(seen["validation"]) > 4


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_costs_of_a_call_sum_to_its_share_of_protection(mode):
    envs = gymnasium.make_vec(
        IDS["Call"], num_envs=4, scenario=["wonderproxy", "table1"], protection=None, protection_budget=0.25, autoreset_mode=mode, **SHORT
    )  # fmt: skip
    _, infos, found = rolled(envs, 20)
    assert "cost" not in infos
    paid, calls = np.zeros(4), 0
    for _, _, _, truncated, infos in found:
        final = infos.get("final_info", infos)
        for row in range(4):
            cost = final if mode == "SAME_STEP" and truncated[row] else infos
            paid[row] += cost["cost"][row] if cost["_cost"][row] else 0.0
            assert cost["cost"][row] >= 0.0
            if truncated[row]:
                assert paid[row] == pytest.approx(final["protection_share"][row], abs=1e-12)
                assert 0.0 < paid[row] <= 0.25
                paid[row], calls = 0.0, calls + 1
    assert calls >= 8


def test_one_call_has_its_cost_in_info_also_after_a_branch():
    env = gymnasium.make(IDS["Call"], protection=None, **SHORT)
    plain = gymnasium.make(IDS["Call"], **SHORT)
    plain.reset(seed=0)
    assert "cost" not in plain.step(plain.action_space.sample())[4]
    env.reset(seed=0)
    costs, done = [], False
    while not done:
        env.unwrapped.branch([8, 0])
        *_, done, info = env.step(1)  # a copy of each packet
        costs.append(info["cost"])
    assert sum(costs) == pytest.approx(info["protection_share"]) and min(costs) >= 0.0 < max(costs)


def test_a_config_takes_kinds_and_says_their_data():
    config = EnvConfig(options={"scenario": ["wonderproxy", "table1 paper"], "worlds": 5, **SHORT})
    assert EnvConfig.model_validate_json(config.model_dump_json()) == config
    assert list(data_hashes(config)) == ["wonderproxy correlated", "table1 paper"]
    envs = make_envs(config, 2, "train")
    assert envs.reset(seed=0)[1]["kind"].tolist() == ["wonderproxy correlated", "table1 paper"]
