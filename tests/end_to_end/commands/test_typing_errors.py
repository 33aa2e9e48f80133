"""Typing errors: each is refused in one line, before torch, hydra or numba is imported, and leaves nothing."""

import subprocess
import sys
from typing import get_args

import pytest

from vcgym.agents.config.env_arguments import env_parameters
from vcgym.agents.config.names import SET_BY_VCGYM
from vcgym.baselines.controls.control import PACING
from vcgym.envs import IDS
from vcgym.envs.call.batch import FRAMES_MS, MAX_BUDGET
from vcgym.envs.environments.vector.settings import CallSettings, RateSettings, types_of
from vcgym.leaderboard.evaluation.config import LeaderboardConfig, SuiteName
from vcgym.leaderboard.evaluation.suites import PACKETS, REPLAYS, SUITES
from vcgym.scripts.console import arguments
from vcgym.scripts.console.program import VCGYM

RUN = """
import sys
from vcgym.scripts.console.program import main
sys.argv = ["vcgym", *sys.argv[1:]]
try:
    main()
finally:
    assert not {'hydra', 'torch', 'mlflow', 'ray', 'numba'} & set(sys.modules)
"""
ERRORS = [
    ("trian", "vcgym: command is 'trian'; allowed: leaderboard, page"),
    ("mesure", "did you mean measure?"),
    ("train stepz=3", "stepz is no key of this command; --help lists those that are; did you mean steps?"),
    ("train --steps 1000", "--steps is no option; arguments are key=value: type steps=1000"),
    ("train --num-envs=8", "type num_envs=8"),
    ("train steps 1000", "steps is no argument of the form key=value: type steps=1000"),
    ("train steps=abc", "steps is 'abc'; allowed: a valid integer"),
    ("train steps=-5", "steps is -5; allowed: greater than or equal to 1"),
    ("train steps=1.5e-1", "steps is 0.15; allowed: a valid integer"),
    ("train seeds=0", "seeds is 0; allowed: a list, such as [a,b]"),
    ("train seeds=[0,1", "has no closing bracket; allowed: a list, such as [a,b]"),
    ("train resume=ja", "resume is 'ja'; allowed: a valid boolean"),
    ("train device=gpu", "device is 'gpu'; allowed: 'auto', 'cpu' or 'cuda'; did you mean cpu?"),
    ("train algorithm.gama=0.9", "did you mean algorithm.gamma?"),
    ("train env=cal", "env is 'cal'; allowed: call, call_cloud"),
    ("train env.id=vcgym/Cal-v1", "did you mean vcgym/Call-v1?"),
    ("train env.options.intervall=50", "vcgym/Call-v1 has no argument 'intervall'"),
    ("train env=rate env.options.interval=often", "env.options.interval is 'often'; allowed: a valid integer"),
    ("train env.options.action=relativ", "did you mean relative?"),
    ("leaderboard suite=papr-v0", "did you mean paper-v0?"),
    ("leaderboard systems=[DRT-WM,DRT-VM]", "did you mean DRT-WM?"),
    ("leaderboard agents.mine=my_ppo.zip", "agents.mine is 'my_ppo.zip'; allowed: a file or folder that exists"),
    ("leaderboard agents.mine=[mine:act,mine:atc]", "agents.mine.1 is 'mine:atc'; allowed: mine:act; did you mean mine:act?"),
    ("leaderboard agents.mine=mine:atc", "agents.mine is 'mine:atc'; allowed: mine:act; did you mean mine:act?"),
    ("leaderboard agents.mine=./mine.py:act", "agents.mine is './mine.py:act'; allowed: module:name; type mine:act in the folder /"),
    ("leaderboard agents.mine=mine.py", "agents.mine is 'mine.py'; allowed: module:name; type mine:NAME in the folder /"),
    ("leaderboard agents.mine=text.zip", "this file is no zip"),
    ("evaluate", "agent is not given; type agent=..."),
    ("call wav=mine.py", "wav is 'mine.py'; allowed: a WAV file"),
]


@pytest.mark.parametrize(("typed", "said"), ERRORS, ids=[typed for typed, _ in ERRORS])
def test_a_typing_error_gets_one_line(tmp_path, typed, said):
    (tmp_path / "mine.py").write_text("import numpy as np\n\n\ndef act(observations):\n    return np.zeros(len(observations))\n")
    (tmp_path / "text.zip").write_text("no zip")
    words = [sys.executable, "-c", RUN, *typed.split()]
    answer = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 1 and said in answer.stderr and answer.stdout == ""
    assert answer.stderr.count("\n") == 1 and len(answer.stderr) < 400
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["mine.py", "text.zip"]


def checked(*words):
    arguments.check(words[1:], VCGYM.keys(words[0]), VCGYM.yaml(words[0]), VCGYM.conf)


@pytest.mark.parametrize(
    "typed",
    [
        "train steps=1e6 seeds=[0,1,2] algorithm=sac algorithm.tau=0.01 algorithm.ent_coef=auto env.options.interval=50",
        "train -m algorithm.learning_rate=1e-3,1e-4 seeds=[0],[1] env=call,relay",
        "train --multirun steps=range(1,3) env.options.reward={_target_:mine.Reward} hydra.sweep.dir=x --cfg job",
        "leaderboard train=null systems=[all] agents.mine=conf agent_options.mine={interval:50} agent_options.mine.interval=50 traces=null",
        "leaderboard train.algorithm.replicas=4 ++train.steps=5 ~agent env@train.env=call folder=${suite}",
        "leaderboard algorithm@train.algorithm=ppo train.algorithm.n_steps=64",
        "import file=conf format=csv format.time_column=1 output=x.csv.gz",
        "sweep train.env.id=mine:Mine-v0 learning_rate=[1e-4,1e-3] ray.address=auto",
        "tune sending.senders=[] pairs.modes=[] systems=[]",
    ],
)
def test_what_a_command_takes_is_not_refused(typed):
    checked(*typed.split())


def test_the_names_of_the_suites_are_those_that_there_are():
    assert set(get_args(SuiteName)) == {*SUITES, *REPLAYS}


def test_the_bounds_that_a_light_config_repeats_are_those_of_the_code():
    assert LeaderboardConfig.model_fields["packets"].default == PACKETS
    for name, env_id in IDS.items():
        assert types_of(name).keys() - SET_BY_VCGYM == env_parameters(env_id).keys()
    assert CallSettings.pacing == RateSettings.pacing == PACING and CallSettings.frame_ms == FRAMES_MS[0]
    (budget,) = (key for key in VCGYM.keys("call") if key.name == "budget")
    assert budget.allowed == f"number at least 0.0, at most {MAX_BUDGET}"


def test_a_model_whose_runtime_is_not_installed_is_refused_with_what_to_type(monkeypatch, tmp_path):
    (tmp_path / "mine.onnx").write_bytes(b"")
    monkeypatch.setattr("vcgym.agents.config.names.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"allowed: an \.onnx where .* pip install '\.\[onnx\]'"):
        checked("leaderboard", f"agents.MINE={tmp_path / 'mine.onnx'}")


def test_a_multirun_checks_each_value():
    with pytest.raises(ValueError, match="steps is 'many'"):
        checked("train", "-m", "steps=10,many")
