"""Methods of a user's own: several, each with its seeds; a zip of SB3 carries how it plays, and what does not fit is said in one line."""

import json
import zipfile

import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env as make_vec_env_of_sb3

from vcgym.agents.sb3 import make_vec_env
from vcgym.baselines.systems import load_system
from vcgym.envs import name_of
from vcgym.envs.environments.made_with import MADE_WITH
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.kinds.sender import ORDERED, SENDER
from vcgym.leaderboard.evaluation.own.own_methods import own_methods
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite, prepare
from vcgym.leaderboard.play import play

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "paper", 1),))
RATE_SUITE = Suite("tiny", "v0", 0, (Part("rate", BOTTLENECK, 1, stratum="wifi"),), SENDER)
ORDER_SUITE = Suite("tiny", "v0", 0, (Part("order", BOTTLENECK, 1, stratum="rtt80-q32"),), ORDERED)
OPTIONS = {"action": "relative", "interval": 50, "reward": "impairment"}
SMALL = {"policy_kwargs": {"net_arch": [4]}, "device": "cpu"}


@pytest.fixture(scope="module")
def zips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zips")
    lag = load_system("DRT-WM").playout
    for seed in range(2):
        PPO("MlpPolicy", make_vec_env("vcgym/Call-v1", env_kwargs=OPTIONS), seed=seed, **SMALL).save(folder / f"ppo-{seed}")
        routed = make_vec_env("vcgym/Call-v1", env_kwargs=OPTIONS | {"playout": lag})
        DQN("MlpPolicy", routed, seed=seed, buffer_size=10, **SMALL).save(folder / f"dqn-{seed}")
    plain = PPO("MlpPolicy", make_vec_env_of_sb3("vcgym/Call-v1", env_kwargs=OPTIONS), **SMALL)
    plain.save(folder / "plain")
    delattr(plain.action_space, MADE_WITH)  # as saved by earlier versions, and by wrappers that make a space of their own
    plain.save(folder / "silent")
    PPO("MlpPolicy", make_vec_env("vcgym/Rate-v1"), **SMALL).save(folder / "rate")
    return folder


def loaded(agents, options=None):
    return own_methods(agents, options or {}, SUITE, prepare(SUITE))


def test_several_methods_play_each_with_its_seeds(zips):
    found, told = loaded({name: [str(zips / f"{name}-{seed}.zip") for seed in range(2)] for name in ("ppo", "dqn")})
    assert list(found) == ["ppo seed 0", "ppo seed 1", "dqn seed 0", "dqn seed 1"]
    assert dict(found["ppo seed 1"].arguments) == {"action": "relative", "interval": 50}
    assert dict(found["dqn seed 0"].arguments) == {"action": "relative", "interval": 50, "playout": load_system("DRT-WM").playout}
    shape = found["ppo seed 0"].own.observation_space.shape
    weights = [found[f"ppo seed {seed}"].own.predict(np.ones((1, *shape), np.float32))[0] for seed in range(2)]
    assert weights[0].shape == weights[1].shape == (1, 2)
    assert told == [
        "ppo, ppo-0.zip and 1 more: action relative, interval 50 packets (0.5 s), reward impairment, as in training.",
        "dqn, dqn-0.zip and 1 more: action relative, interval 50 packets (0.5 s), playout WMJitter, reward impairment, as in training.",
    ]


def test_a_zip_says_in_plain_text_with_what_it_was_trained(zips):
    with zipfile.ZipFile(zips / "ppo-0.zip") as archive:
        carried = json.loads(archive.read("data"))["action_space"]["vcgym_made_with"]
    assert carried == {"env": "vcgym/Call-v1", "options": OPTIONS}


def test_a_method_of_one_training_has_its_own_name_and_a_change_of_its_options_is_said(zips):
    found, told = loaded({"MINE": [str(zips / "ppo-0.zip")]}, {"MINE": {"interval": 10}})
    assert dict(found["MINE"].arguments) == {"action": "relative", "interval": 10}
    assert told == ["MINE, ppo-0.zip: action relative, interval 10 packets (0.1 s) in place of 50 in training, reward impairment."]


def test_a_zip_carries_them_after_the_function_of_sb3_too(zips):
    found, told = loaded({"MINE": [str(zips / "plain.zip")]})
    assert told == ["MINE, plain.zip: action relative, interval 50 packets (0.5 s), reward impairment, as in training."]
    assert found["MINE"].env == "vcgym/Call-v1"


def test_a_default_is_not_taken_in_silence(zips):
    _, told = loaded({"MINE": [str(zips / "silent.zip")]})
    assert told == [
        "MINE, silent.zip: action relative, interval 50 packets (0.5 s); interval and features by default: "
        "agent_options.MINE={interval: ...} says otherwise."
    ]


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("dqn-0", {"playout": None}, r"agents.MINE: .* it acts in Discrete\(2\), action=relative here takes MultiDiscrete\(\[2 8\]\)"),
        ("ppo-0", {"action": "continuous"}, r"agents.MINE: agent cannot play wonderproxy, mode paper: ValueError it observes \(26,\)"),
        ("rate", {}, r"agents.MINE: agent was trained in vcgym/Rate-v1; allowed on suite tiny: agents of vcgym/Call-v1, vcgym/Relay-v1"),
        ("nowhere", {}, r"agents.MINE: agent .*nowhere.zip cannot be loaded: DataError"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(zips, file, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        loaded({"MINE": [str(zips / f"{file}.zip")]}, {"MINE": options})
    assert "\n" not in str(caught.value)


INTERVALS = {
    "Relay": "interval 100 packets (1 s), playout WMJitter, reward impairment",
    "Playout": "interval 10 arrivals, path Direct, reward impairment",
    "Call": "interval 50 packets (0.5 s), reward impairment",
    "Rate": "interval 100 reports, features reports, order Fifo, reward utility",
    "Send": "interval 100 reports, reward timely",
    "SendOrder": "interval 10 opportunities, rate Tfrc, reward missed",
}


def test_an_agent_of_the_defaults_is_ranked_where_its_control_is(env_id, tmp_path):
    DQN("MlpPolicy", make_vec_env(env_id), buffer_size=10, **SMALL).save(tmp_path / "mine")
    name = name_of(env_id)
    suite = {"Rate": RATE_SUITE, "Send": RATE_SUITE, "SendOrder": ORDER_SUITE}.get(name, SUITE)
    found, told = own_methods({"MINE": [str(tmp_path / "mine.zip")]}, {}, suite, prepare(suite))
    assert found["MINE"].env == env_id
    assert told == [f"MINE, mine.zip: action relative_discrete, {INTERVALS[name]}, as in training."]
    rows = play(suite=suite, named=found, folder=tmp_path).to_pylist()
    assert {row["system"] for row in rows} == {"MINE"} and all(np.isfinite(row[suite.columns.primary.name]) for row in rows)


def test_options_of_no_method_are_refused(zips):
    with pytest.raises(ValueError, match=r"agent_options has interval; allowed: agent_options.NAME=\{...\} with a NAME of agents"):
        LeaderboardConfig(agents={"MINE": str(zips / "ppo-0.zip")}, agent_options={"interval": 50})
