"""User agents: a function, an object with `predict`, a zip of SB3; ranked as local, checked before work, never saved."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import TQC, RecurrentPPO
from stable_baselines3 import A2C, DQN, SAC

from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.sb3 import make_vec_env
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.kinds.sender import ORDERED, SENDER
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite, prepare
from vcgym.leaderboard.play import evaluate, play
from vcgym.leaderboard.report.publish import REPORT
from vcgym.leaderboard.report.run import run_suite

CALLS = Suite("tiny", "v0", 200, (Part("table1", "paper", 1), Part("wonderproxy", "paper", 1)))
TARGET = {"action": "continuous", "interval": 1}
SENDERS = Suite("tiny", "v0", 0, (Part("rate", BOTTLENECK, 2, stratum="wifi"),), SENDER)


class Stays:
    """Keeps the path, with the headroom that it is told."""

    def __init__(self, headroom=4):
        self.action_space, self.headroom, self.asked = spaces.MultiDiscrete([2, 8]), headroom, 0

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked += 1
        return np.tile([0, self.headroom], (len(observation), 1)), state


def test_a_policy_of_ones_own_is_played_anew_and_not_kept(tmp_path):
    policy = Stays()
    (found,) = evaluate(policy, suite=CALLS, folder=tmp_path).values()
    assert found.value.low < found.value.value < found.value.high and found.to_bar is None
    assert not (tmp_path / "cells").exists()
    asked, policy.headroom = policy.asked, 7
    (again,) = evaluate(policy, suite=CALLS, folder=tmp_path).values()
    assert policy.asked == 2 * asked and again.value != found.value


def test_it_is_ranked_beside_rules_as_local_and_nothing_is_logged(tmp_path):
    agent = local_agent(lambda observation: np.tile([0, 4], (len(observation), 1)), CALLS, prepare(CALLS), {"action": "relative"})
    run_suite(CALLS, prepare(CALLS), {"DRT-WM": load_system("DRT-WM"), "stay": agent}, tmp_path, lambda done, note: None)
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert {row["system"]: row["kind"] for row in rows} == {"DRT-WM": "rule", "stay": "local"}
    assert pq.read_table(tmp_path / "actions.parquet").num_rows == 0
    assert "stay" in (tmp_path / REPORT).read_text(encoding="utf-8")


def test_actions_of_a_wrong_shape_in_play_name_the_agent(tmp_path):
    with pytest.raises(
        ValueError, match=r"^own failed in play: ActionError 'action array\(\[\[0, 4\]\]\) of int64: allowed are values of "
    ):
        evaluate(lambda observation: np.array([[0, 4]]), suite=CALLS, options={"action": "relative"}, folder=tmp_path)  # fits one call


def test_a_sender_of_ones_own_sets_the_rate(tmp_path):
    agents = {name: local_agent(rate_of(share), SENDERS, prepare(SENDERS), TARGET) for name, share in (("slow", -0.5), ("fast", 0.2))}
    kbps = {row["system"]: row["throughput_kbps"] for row in play(suite=SENDERS, named=agents, folder=tmp_path).to_pylist()}
    assert kbps["slow"] < kbps["fast"]


def rate_of(position):
    return lambda observation: np.full((len(observation), 1), position, np.float32)


@pytest.mark.parametrize(("kind", "form"), [(A2C, "relative"), (SAC, "continuous"), (TQC, "continuous"), (RecurrentPPO, "relative")])
def test_a_zip_of_sb3_plays_in_the_form_of_its_actions(tmp_path, kind, form):
    suite, policy = CALLS._replace(parts=CALLS.parts[1:]), "MlpLstmPolicy" if kind is RecurrentPPO else "MlpPolicy"
    model = kind(policy, make_vec_env("vcgym/Call-v1", env_kwargs={"action": form}), device="cpu", policy_kwargs={"net_arch": [4]}, seed=0)
    model.save(tmp_path / "mine")
    agent = local_agent(load_own(str(tmp_path / "mine.zip")), suite, prepare(suite))
    assert dict(agent.arguments) == {"action": form}
    assert play(suite=suite, named={"mine": agent}, folder=tmp_path).num_rows > 0


def fails(observation):
    raise RuntimeError("out of ideas")


LINE = fails.__code__.co_firstlineno + 1

REFUSED = [
    (3, {}, "agent is a int; allowed: an object with predict, or a function of observations"),
    (
        fails,
        {},
        rf"agent cannot play table1, mode paper: RuntimeError out of ideas \(test_local_agents.py, line {LINE}\); it was asked for",
    ),
    (lambda observation: np.array([[9, 0]]), {"action": "relative"}, r"agent cannot play table1, mode paper: ActionError action array"),
    (fails, {"packets": 9}, "agent_options has packets, which suite tiny chooses"),
    (fails, {"acton": 9}, "vcgym/Call-v1 has no argument {'acton': 9}"),
]


@pytest.mark.parametrize(("acts", "options", "message"), REFUSED)
def test_what_does_not_fit_is_refused_before_work(tmp_path, acts, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate(acts, suite=CALLS, options=options, folder=tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_policy_for_another_number_of_paths_is_told_of_the_form_that_fits_any():
    model = A2C("MlpPolicy", make_vec_env("vcgym/Call-v1", env_kwargs={"action": "discrete"}), device="cpu")
    suite = CALLS._replace(parts=CALLS.parts[::-1])
    with pytest.raises(ValueError, match=r"table1, mode paper: ValueError it observes \(165,\) features, .* relative action plays any"):
        local_agent(model, suite, prepare(suite))
    with pytest.raises(ValueError, match=r"action space of the agent is Discrete\(2\); allowed on table1: .*MultiDiscrete.* \(relative\)"):
        local_agent(DQN("MlpPolicy", "CartPole-v1", device="cpu"), CALLS, prepare(CALLS))


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("mine", "agent is 'mine'; allowed: module:name, or a .zip"),
        ("nowhere:mine", "agent nowhere:mine cannot be imported: ModuleNotFoundError"),
        ("nowhere.zip", "agent nowhere.zip cannot be loaded: DataError nowhere.zip: file is 'No such file or directory'"),
    ],
)
def test_what_cannot_be_loaded_is_named(named, message):
    with pytest.raises(ValueError, match=message):
        load_own(named)


def test_a_torch_policy_of_the_defaults_is_ranked_as_it_is_and_others_are_told_their_numbers(tmp_path):
    net = torch.nn.Linear(26, 16)

    def act(observations):
        return net(torch.from_numpy(observations)).argmax(dim=1).numpy()

    agent = local_agent(act, CALLS, prepare(CALLS))
    assert agent.env == "vcgym/Call-v1"
    assert play(suite=CALLS, named={"mine": agent}, folder=tmp_path).num_rows > 0
    told = r"Call-v1 has \(26,\) numbers with action=relative_discrete or .*; \(57,\) numbers with action=discrete or continuous; "
    with pytest.raises(ValueError, match=rf"cannot be multiplied.*{told}") as caught:
        local_agent(act, CALLS, prepare(CALLS), {"action": "discrete"})
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="agent_options has env_id vcgym/Rate-v1; allowed on suite tiny: agents of vcgym/Call-v1"):
        local_agent(act, CALLS, prepare(CALLS), {"env_id": "vcgym/Rate-v1"})
    harder = local_agent(act, CALLS, prepare(CALLS), {"env_id": "vcgym/Call-hard-v1"})
    assert harder.env == "vcgym/Call-v1" and dict(harder.arguments)["interval"] == 10


def test_a_masked_policy_gets_the_masks(tmp_path):
    asked = []

    class Masked:
        env_id, options = "vcgym/SendOrder-v1", {"action": "discrete", "interval": 1}

        def predict(self, observation, action_masks=None):
            asked.append(action_masks)
            return np.zeros(len(observation), int)

    suite = Suite("tiny", "v0", 0, (Part("order", BOTTLENECK, 1, stratum="rtt80-q32"),), ORDERED)
    play(suite=suite, named={"mine": local_agent(Masked(), suite, prepare(suite))}, folder=tmp_path)
    assert all(masks.shape == (1, len(masks[0])) and masks[0, 0] for masks in asked[1:]) and len(asked) > 100


def test_a_module_that_exits_does_not_end_the_command(tmp_path, monkeypatch):
    (tmp_path / "script_that_exits.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="agent script_that_exits:mine cannot be imported: SystemExit 0"):
        load_own("script_that_exits:mine")


def test_a_module_of_the_working_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_agent_of_test.py").write_text("def act(observation):\n    return observation\n")
    assert load_own("own_agent_of_test:act")(3) == 3
