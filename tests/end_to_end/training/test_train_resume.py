"""A killed and resumed training equals the uninterrupted one, byte for byte; foreign checkpoints are rejected."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from absolute import ABSOLUTE
from trap import Trap

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.training import checkpoint
from vcgym.agents.training.training import build_model, train
from vcgym.network.traces.cards import DataError

HERE = Path(__file__).parent
CART = ("cart:test/Cart-v0", {})
CALL = ("vcgym/Call-v1", {"packets": 230, "action": "discrete", "interval": 10})
SMALL = {"algorithm": PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=8), "num_envs": 4, "device": "cpu"}
RUN = """
import itertools, json, os, signal, sys
from pathlib import Path
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.training.training import train

env_id, options, folder, kill_at = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
step_wait, steps = NativeVecEnv.step_wait, itertools.count(1)

def step_or_die(envs):
    if next(steps) == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return step_wait(envs)

NativeVecEnv.step_wait = step_or_die
train(TrainConfig(
    env=EnvConfig(id=env_id, options=options), algorithm=PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=8), num_envs=4, steps=640,
    evaluate_every=2, checkpoint_every=2, evaluation_episodes=3, device="cpu", folder=folder, resume=True), seed=5)
"""


def run(env, folder, kill_at=-1, steps=640):
    """Train in a process of its own, which kills itself at the training's step `kill_at` of that process."""
    command = [sys.executable, "-c", RUN.replace("steps=640", f"steps={steps}"), env[0], json.dumps(env[1]), str(folder), str(kill_at)]
    search = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(command, env=os.environ | {"PYTHONPATH": search}, capture_output=True, text=True, check=False)


def final_bytes(folder):
    home = folder / "seed-5"
    files = [home / "agent" / "agent.safetensors", home / "agent" / "card.json", *(home / "checkpoints" / "step-000000000640").iterdir()]
    return {path.name: path.read_bytes() for path in sorted(files)}


def test_a_training_that_ended_with_a_whole_rollout_is_resumed(tmp_path):
    """600 steps are rounded up to 640, so less than nothing is left."""
    for _ in range(2):
        ended = run(CART, tmp_path, steps=600)
        assert ended.returncode == 0, ended.stderr
        assert (tmp_path / "seed-5" / "checkpoints" / "step-000000000640").is_dir()


@pytest.mark.parametrize("env", [CART, CALL], ids=["cart", "call"])
def test_killed_twice_and_resumed_equals_uninterrupted(tmp_path, env):
    whole = run(env, tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    # The 100th step lies inside the seventh rollout of ten; three rollouts later, counted anew after resuming at the sixth, the 40th.
    for kill_at in (100, 40):
        killed = run(env, tmp_path / "killed", kill_at)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert not (tmp_path / "killed" / "seed-5" / "agent").exists()
    assert sorted(path.name for path in (tmp_path / "killed" / "seed-5" / "checkpoints").glob("step-*"))[-1] == "step-000000000512"
    resumed = run(env, tmp_path / "killed")
    assert resumed.returncode == 0, resumed.stderr
    assert final_bytes(tmp_path / "killed") == final_bytes(tmp_path / "whole")


@pytest.mark.parametrize("env_id", ["vcgym/Relay-v1", "vcgym/Playout-v1", "vcgym/Call-v1"])
def test_resuming_amid_calls_equals_going_on(tmp_path, env_id):
    env = EnvConfig(id=env_id, options=ABSOLUTE[env_id] | {"packets": 230})
    config = TrainConfig(env=env, steps=256, evaluation_episodes=2, checkpoint_every=1, folder=tmp_path, resume=True, **SMALL)
    train(config, seed=5)
    home = tmp_path / "seed-5"
    last = home / "checkpoints" / "step-000000000256"
    uninterrupted = [(home / "agent" / "agent.safetensors").read_bytes(), (last / "state.pt").read_bytes()]
    shutil.rmtree(home / "agent")
    shutil.rmtree(last)
    train(config, seed=5)
    assert [(home / "agent" / "agent.safetensors").read_bytes(), (last / "state.pt").read_bytes()] == uninterrupted


@pytest.mark.parametrize("link", ["seed-5", "seed-5/checkpoints"])
def test_old_checkpoints_are_removed_from_the_folder_of_the_study_alone(tmp_path, link):
    others = tmp_path / "others"
    for name in ("step-000000000001", "step-000000000002", "step-000000000003"):
        (others / name).mkdir(parents=True)
    (tmp_path / "sent" / link).parent.mkdir(parents=True)
    (tmp_path / "sent" / link).symlink_to(others)
    with pytest.raises(DataError, match=r"sent/seed-5/checkpoints: file is 'a link to "):
        checkpoint.folder_of(tmp_path / "sent" / "seed-5")
    own = checkpoint.folder_of(tmp_path / "own" / "seed-5")
    own.mkdir(parents=True)
    (own / "step-000000000001").symlink_to(others)
    (own / "step-notes").mkdir()
    for steps in (2, 3, 4):
        checkpoint.write(own, steps, {"steps": steps}, {})
    assert sorted(path.name for path in others.iterdir()) == [f"step-{n:012d}" for n in (1, 2, 3)]
    kept = [f"step-{n:012d}" for n in (1, 3, 4)]
    assert sorted(path.name for path in own.iterdir()) == [*kept, "step-notes"] and checkpoint.newest(own) == own / kept[-1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    finished = run(CART, folder)
    assert finished.returncode == 0, finished.stderr
    return folder / "seed-5" / "checkpoints" / "step-000000000640"


@pytest.fixture
def model(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    return build_model(TrainConfig(env=EnvConfig(id=CART[0]), **SMALL), seed=5)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("env.id", "vcgym/Call-v1", r"env\.id is 'cart:test/Cart-v0', expected 'vcgym/Call-v1'"),
        ("env.options.max_episode_steps", 61, r"env\.options\.max_episode_steps is 60, expected 61"),
        ("action_space", {"kind": "Discrete", "n": 3}, r"action_space is .*'n': 2.* expected .*'n': 3"),
        ("format", 9, r"format is 8, expected 9"),
        ("algorithm.n_epochs", 3, r"algorithm\.n_epochs is 2, expected 3"),
        ("unheard_of", 1, r"unheard_of is 'absent', expected 1"),
    ],
)
def test_checkpoint_of_another_training_is_refused(saved, model, field, value, message):
    with pytest.raises(ValueError, match=message):
        checkpoint.load(saved, model, identity_of(saved) | {field: value})


def identity_of(saved):
    return json.loads((saved / "training.json").read_text())["identity"]


def spoiled(saved, folder, change):
    """A checkpoint of the same training with another state, and the SHA-256 of that."""
    identity = identity_of(saved)
    return checkpoint.write(folder, 640, change(checkpoint.read(saved, identity)), identity)


MISFITS = {
    r"does not fit: KeyError .*monitor": lambda state: {name: part for name, part in state.items() if name != "monitor"},
    r"does not fit: RuntimeError .*size mismatch": lambda state: spoil(state["parameters"]["policy"], lambda tensor: tensor[:1]),
    r"does not fit: ValueError .*parameter group": lambda state: state["parameters"]["policy.optimizer"].update(param_groups=[]),
    r"does not fit: ValueError .*not enough values": lambda state: spoil(state["env"], lambda array: array[:0]),
    r"does not fit: \w+ .*random": lambda state: state["random"].update(python=("random",)),
    r"state\.pt cannot be read: UnpicklingError; allowed: tensors": lambda state: state.update(sent=Trap()),
}


def spoil(named, change):
    for name in named:
        named[name] = change(named[name])


@pytest.mark.parametrize("message", MISFITS)
def test_a_checkpoint_that_says_it_is_of_this_training_but_does_not_fit_is_refused(saved, model, tmp_path, monkeypatch, message):
    monkeypatch.chdir(tmp_path)
    sent = spoiled(saved, tmp_path / "sent", lambda state: MISFITS[message](state) or state)
    with pytest.raises(ValueError, match=message) as refused:
        checkpoint.load(sent, model, identity_of(saved))
    assert "\n" not in str(refused.value) and not (tmp_path / "harmed").exists()


@pytest.mark.parametrize("change", [lambda content: content[:-8], lambda content: content[:99] + b"x" + content[100:], lambda content: b""])
def test_a_damaged_or_truncated_checkpoint_is_refused(saved, model, tmp_path, change):
    copied = shutil.copytree(saved, tmp_path / "copied")
    (copied / "state.pt").write_bytes(change((saved / "state.pt").read_bytes()))
    with pytest.raises(ValueError, match=r"state\.pt: SHA-256 is .*; allowed: '.*', as training\.json says"):
        checkpoint.load(copied, model, identity_of(saved))


HOSTILE = [None, b"", b"[" * 100_000, b'{"identity":' * 400 + b"1" + b"}" * 400, b"\xff", b"{}", b'{"identity": []}']


@pytest.mark.parametrize("content", HOSTILE)
def test_hostile_json_is_refused_by_name(saved, model, tmp_path, content):
    copied = shutil.copytree(saved, tmp_path / "copied")
    if content is None:
        (copied / "training.json").unlink()
    else:
        (copied / "training.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"copied(/training\.json)?: ") as refused:
        checkpoint.load(copied, model, {})
    assert "\n" not in str(refused.value)


def test_a_write_that_fails_leaves_the_earlier_checkpoint_alone(tmp_path, model, monkeypatch):
    model.learn(64)
    first = checkpoint.save(tmp_path, model, {})
    model.num_timesteps += 1
    monkeypatch.setattr(checkpoint.torch, "save", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(tmp_path, model, {})
    assert checkpoint.newest(tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == [first.name]
