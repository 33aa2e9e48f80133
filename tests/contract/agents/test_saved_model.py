"""A zip whose normaliser is missing, lies beside it or is named; the file of a normaliser runs nothing that it names."""

import pickle
import shutil

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env as make_vec_env_of_sb3
from stable_baselines3.common.vec_env import VecNormalize
from trap import Trap

from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.evaluation.saved_model import Normaliser, beside
from vcgym.agents.sb3 import make_vec_env
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.own.own_methods import own_methods
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.play import evaluate

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "paper", 1),))
SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [4]}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("trained")
    for name, make in (("ours", make_vec_env), ("theirs", make_vec_env_of_sb3)):
        lag = {"env_kwargs": {"packets": 400, "playout": load_system("DRT-WM").playout}}
        (home / name).mkdir()
        calls = VecNormalize(make("vcgym/Call-v1", n_envs=2, **lag))
        PPO("MlpPolicy", calls, **SMALL).learn(32).save(home / name / "mine")
        calls.save(home / name / "vecnormalize.pkl")
    PPO("MlpPolicy", make_vec_env("vcgym/Call-v1", n_envs=2), **SMALL).learn(32).save(home / "raw")
    return home


def told(agents, options=None):
    return own_methods({"MINE": agents}, {"MINE": options or {}}, SUITE, prepare(SUITE))[1]


@pytest.mark.parametrize("made", ["ours", "theirs"])
def test_a_normaliser_beside_a_zip_is_used_and_said(made, folder):
    assert told([str(folder / made / "mine.zip")]) == [
        "MINE, mine.zip: action relative_discrete, interval 50 packets (0.5 s), playout WMJitter, reward impairment, behind VecNormalize, "
        "as in training."
    ]


@pytest.mark.parametrize("made", ["ours", "theirs"])
def test_a_missing_one_is_asked_for_in_one_line(made, folder, tmp_path):
    alone = shutil.copy(folder / made / "mine.zip", tmp_path)
    with pytest.raises(ValueError, match=r"agents.MINE: .*as behind VecNormalize; give .*agent_options.NAME.normalize=FILE") as caught:
        told([alone])
    assert "\n" not in str(caught.value)
    assert "behind VecNormalize" in told([alone], {"normalize": str(folder / made / "vecnormalize.pkl")})[0]


def test_one_that_may_be_of_another_agent_is_asked_about(folder, tmp_path):
    raw = shutil.copy(folder / "raw.zip", tmp_path)
    file = shutil.copy(folder / "ours" / "vecnormalize.pkl", tmp_path)
    with pytest.raises(ValueError, match=r"vecnormalize.pkl lies beside it, but the last observation of the agent in training was not"):
        told([raw])
    assert "behind" not in told([raw], {"normalize": None})[0]
    other, of_other = folder / "theirs" / "mine.zip", folder / "theirs" / "vecnormalize.pkl"
    assert "behind VecNormalize" in told([raw, str(other)], {"normalize": [file, str(of_other)]})[0]
    with pytest.raises(ValueError, match="normalize has 1 files; allowed: one for all, or one for each of 2 agents"):
        told([raw, str(other)], {"normalize": [file]})
    with pytest.raises(ValueError, match=r"normalize is .*; allowed: with a model that Stable-Baselines3 has saved"):
        evaluate(lambda observations: np.zeros(len(observations), int), suite=SUITE, options={"normalize": file})


def test_checkpoints_have_their_own(folder, tmp_path):
    for name in ("ppo_64_steps.zip", "ppo_vecnormalize_64_steps.pkl", "vecnormalize.pkl"):
        (tmp_path / name).touch()
    assert beside(tmp_path / "ppo_64_steps.zip") == Normaliser(tmp_path / "ppo_vecnormalize_64_steps.pkl", False)
    assert beside(tmp_path / "best_model.zip") == Normaliser(tmp_path / "vecnormalize.pkl", False)
    assert beside(folder / "raw.zip") is None


def test_a_file_that_names_something_else_is_refused_and_runs_nothing(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = VecNormalize(make_vec_env("vcgym/Call-v1"))
    hostile.obs_rms.mean = Trap()
    files = {"hostile.pkl": pickle.dumps(hostile), "other.pkl": pickle.dumps({"mean": 0.0}), "broken.pkl": b"\x80\x04broken"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"normalize is {name}: .*allowed: a file that VecNormalize.save wrote") as caught:
            told([str(folder / "ours" / "mine.zip")], {"normalize": name})
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "harmed").exists()
    with pytest.raises(ValueError, match=r"nowhere.pkl: file is 'No such file or directory'"):
        told([str(folder / "ours" / "mine.zip")], {"normalize": "nowhere.pkl"})


def test_statistics_of_other_observations_are_refused(folder, tmp_path):
    calls = VecNormalize(make_vec_env("vcgym/Playout-v1"))
    calls.save(tmp_path / "other.pkl")
    with pytest.raises(ValueError, match=r"normalize is .*other.pkl, for observations of \(12,\); the agent has \(26,\)"):
        told([str(folder / "ours" / "mine.zip")], {"normalize": str(tmp_path / "other.pkl")})


def test_a_loaded_model_is_as_a_zip(folder):
    loaded = load_own(str(folder / "ours" / "mine.zip"))
    with pytest.raises(ValueError, match="as behind VecNormalize"):
        evaluate(loaded, suite=SUITE)
    assert evaluate(loaded, suite=SUITE, options={"normalize": folder / "ours" / "vecnormalize.pkl"})
