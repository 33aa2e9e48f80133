"""What a board says of how an agent was trained is what the agent's files say; the same agent twice is no second seed."""

import json
import shutil

import numpy as np
import pytest
from stable_baselines3 import DQN

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.published.shipped import shipped_folder
from vcgym.agents.sb3 import make_vec_env
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.own.own_methods import on_own_traces, own_methods
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.network.traces.cards import Card
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "paper", 1),))
CALL = "vcgym/Call-v1"
TRACES = [str(shipped() / "sample_series.csv")]  # of 3.9 s; `long` has a minute


def study(folder, *seeds, **options):
    """A finished study of Call-v1 with given arguments; the agents are some that ship."""
    config = TrainConfig(env=EnvConfig(id=CALL, options=options), seeds=list(seeds))
    for seed, name in zip(seeds, ("DQN-Call-v1", "PPO-Call-v1"), strict=False):
        shutil.copytree(shipped_folder(name), folder / f"seed-{seed}" / "agent")
    (folder / "config.json").write_text(config.model_dump_json())
    return str(folder)


def told(agents, suite=SUITE, parts=None, options=None):
    return own_methods(agents, options or {}, suite, prepare(suite) if parts is None else parts)[1]


@pytest.mark.parametrize("reward", ["rating", "event", "impairment"])
def test_the_reward_of_a_study_is_that_of_its_config(tmp_path, reward):
    (line,) = told({"MINE": [study(tmp_path / "study", 0, reward=reward)]})
    assert line == f"MINE, study: action relative_discrete, interval 50 packets (0.5 s), reward {reward}, as in training."


def test_of_an_agent_that_ships_no_reward_is_known():
    (line,) = told({"MINE": ["DQN-Call-v1"]})
    assert line.endswith(f"interval 50 packets (0.5 s); it ships, and plays with the defaults of {CALL}.") and "reward" not in line


def test_on_own_traces_it_is_said_what_an_agent_was_trained_on(tmp_path, monkeypatch):
    (tmp_path / "acts.py").write_text("import numpy as np\n\ndef act(seen):\n    return np.zeros(len(seen), np.int64)\n")
    monkeypatch.chdir(tmp_path)
    elsewhere, here = study(tmp_path / "elsewhere", 0), study(tmp_path / "here", 0, scenario="replay", mode="replay", traces=["measured"])
    parts = [(part._replace(traces=("measured",)), scenario) for part, scenario in prepare(SUITE)]
    lines = told({"A": [elsewhere], "B": [here], "C": ["acts:act"]}, parts=parts)
    assert [line for line in lines if "trained" in line] == [
        "A was trained on wonderproxy, not on these traces.",
        "B was trained on traces of your own, measured: split=test plays what training leaves out of them.",
        "On what C was trained is not known: if on these traces, split=test plays what training leaves out.",
    ]
    assert on_own_traces({"B": [here]}) and not on_own_traces({"A": [elsewhere], "C": ["acts:act"], "D": ["nowhere.zip"]})


def long(folder):
    """A folder with a trace of a minute."""
    folder.mkdir()
    card = Card(name="direct", description="flat", source="a test", licence="MIT", sha256="0" * 64, kind="synthesised", units="us")
    write_trace(Trace("direct", 10_000 * np.arange(6000), np.full(6000, 40_000), card), folder / "direct.csv.gz")
    return str(folder)


def test_a_zip_says_whether_it_was_trained_on_own_traces(tmp_path):
    replayed = {"scenario": "replay", "mode": "replay", "traces": long(tmp_path / "measured"), "packets": 100}
    for name, options in (("here", replayed), ("elsewhere", {})):
        DQN("MlpPolicy", make_vec_env(CALL, env_kwargs=options), buffer_size=10, device="cpu").save(tmp_path / name)
    assert on_own_traces({"A": [str(tmp_path / "here.zip")]}) and not on_own_traces({"A": [str(tmp_path / "elsewhere.zip")]})


@pytest.mark.parametrize(
    ("given", "on_traces", "split"),
    [
        ({}, False, "all"), ({"train": None}, False, "all"), ({"train": None}, True, "test"), ({"split": "all"}, True, "all"),
        ({"split": "test", "train": None}, False, "test"), ({"agents": {"MINE": "DQN-Call-v1"}, "split": "all"}, False, "all"),
        ({"train": {"env": {"options": {"scenario": "replay", "mode": "replay", "traces": TRACES, "action": "relative"}}}}, False, "test"),
    ],
)  # fmt: skip
def test_all_traces_are_played_unless_an_agent_was_trained_on_some(given, on_traces, split):
    config = LeaderboardConfig(suite="replay", traces=TRACES, packets=50, **given)
    assert {part.split for part in config.played_suite(on_traces).parts} == {split}


def test_the_same_agent_under_two_names_is_refused(tmp_path):
    model = DQN("MlpPolicy", make_vec_env(CALL), buffer_size=10, device="cpu")
    model.save(tmp_path / "mine")
    model.save(tmp_path / "again")
    shutil.copy(tmp_path / "mine.zip", tmp_path / "copy.zip")
    one, again, copy = (str(tmp_path / f"{name}.zip") for name in ("mine", "again", "copy"))
    first = study(tmp_path / "one", 0)
    shutil.copytree(first, tmp_path / "two")
    of_folders, of_names = [first, str(tmp_path / "two")], [["DQN-Call-v1"] * 2, ["acts:act"] * 2]
    for twice in ([one, one], [one, copy], [one, again], of_folders, *of_names):
        (tmp_path / "acts.py").write_text("import numpy as np\n\ndef act(seen):\n    return np.zeros(len(seen), np.int64)\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            with pytest.raises(ValueError, match=r"agents.MINE: .* are the same agent; allowed: each training once") as caught:
                told({"MINE": twice})
        assert "\n" not in str(caught.value)
    assert len(told({"MINE": [study(tmp_path / "three", 0, 1)]})) == 1
    assert json.loads((tmp_path / "three" / "config.json").read_text())["seeds"] == [0, 1]
