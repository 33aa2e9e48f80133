"""A killed and resumed training equals the uninterrupted one, byte for byte; foreign checkpoints are rejected."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from absolute import ABSOLUTE

from vcgym.network.traces.cards import DataError

HERE = Path(__file__).parent
CART = ("cart:test/Cart-v0", {})
CALL = ("vcgym/Call-v1", {"packets": 230, "action": "discrete", "interval": 10})
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
    from vcgym.agents.config.algorithms import PPOConfig
    from vcgym.agents.config.env import EnvConfig
    from vcgym.agents.config.training import TrainConfig
    from vcgym.agents.training.training import train

    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=8)
    options = ABSOLUTE[env_id] | {"packets": 230}
    config = TrainConfig(
        env=EnvConfig(id=env_id, options=options), algorithm=ppo, num_envs=4, steps=256, evaluation_episodes=2, checkpoint_every=1,
        device="cpu", folder=tmp_path, resume=True,
    )  # fmt: skip
    train(config, seed=5)
    home = tmp_path / "seed-5"
    last = home / "checkpoints" / "step-000000000256"
    uninterrupted = [(home / "agent" / "agent.safetensors").read_bytes(), (last / "state.safetensors").read_bytes()]
    shutil.rmtree(home / "agent")
    shutil.rmtree(last)
    train(config, seed=5)
    assert [(home / "agent" / "agent.safetensors").read_bytes(), (last / "state.safetensors").read_bytes()] == uninterrupted


@pytest.mark.parametrize("link", ["seed-5", "seed-5/checkpoints"])
def test_old_checkpoints_are_removed_from_the_folder_of_the_study_alone(tmp_path, link):
    from vcgym.agents.training import checkpoint

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
        checkpoint.write(own, steps, {}, {"steps": steps}, {})
    assert sorted(path.name for path in others.iterdir()) == [f"step-{n:012d}" for n in (1, 2, 3)]
    kept = [f"step-{n:012d}" for n in (1, 3, 4)]
    assert sorted(path.name for path in own.iterdir()) == [*kept, "step-notes"] and checkpoint.newest(own) == own / kept[-1]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    finished = run(CART, folder)
    assert finished.returncode == 0, finished.stderr
    return folder / "seed-5" / "checkpoints" / "step-000000000640"


@pytest.fixture
def model(monkeypatch, tmp_path):
    from vcgym.agents.config.algorithms import PPOConfig
    from vcgym.agents.config.env import EnvConfig
    from vcgym.agents.config.training import TrainConfig
    from vcgym.agents.training.training import build_model

    monkeypatch.syspath_prepend(HERE)
    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=2, hidden=8)
    return build_model(TrainConfig(env=EnvConfig(id="cart:test/Cart-v0"), algorithm=ppo, num_envs=4, device="cpu"), seed=5)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("env.id", "vcgym/Call-v1", r"env\.id is 'cart:test/Cart-v0', expected 'vcgym/Call-v1'"),
        ("env.options.max_episode_steps", 61, r"env\.options\.max_episode_steps is 60, expected 61"),
        ("action_space", {"kind": "Discrete", "n": 3}, r"action_space is .*'n': 2.* expected .*'n': 3"),
        ("format", 8, r"format is 7, expected 8"),
        ("algorithm.n_epochs", 3, r"algorithm\.n_epochs is 2, expected 3"),
        ("unheard_of", 1, r"unheard_of is 'absent', expected 1"),
    ],
)
def test_checkpoint_of_another_training_is_refused(checkpoint, model, field, value, message):
    from vcgym.agents.training.checkpoint import load

    identity = json.loads((checkpoint / "state.json").read_text())["identity"]
    with pytest.raises(ValueError, match=message):
        load(checkpoint, model, identity | {field: value})


def test_truncated_checkpoint_is_refused(checkpoint, model, tmp_path):
    from vcgym.agents.training.checkpoint import load

    copied = shutil.copytree(checkpoint, tmp_path / "copied")
    (copied / "state.safetensors").write_bytes((checkpoint / "state.safetensors").read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"state\.safetensors: SHA-256 is .*; allowed: '.*', as manifest\.json says"):
        load(copied, model, json.loads((checkpoint / "state.json").read_text())["identity"])


def spoil(folder, change):
    """Change the arrays or the scalars of a checkpoint, and write a manifest that agrees."""
    from safetensors.numpy import load_file, save

    from vcgym.agents.training.manifest import write_files

    arrays, scalars = load_file(folder / "state.safetensors"), json.loads((folder / "state.json").read_text())
    change(arrays, scalars)
    write_files(folder, {"state.safetensors": save(arrays), "state.json": json.dumps(scalars).encode()})


def changed(name, change):
    return lambda arrays, scalars: arrays.update({name: np.asarray(change(arrays[name]))})


def copied_moments(to, source):
    return lambda arrays, scalars: arrays.update({to: arrays[source]})


MISFITS = {
    r"random/numpy is uint32\(623,\); allowed: uint32\(624,\)": changed("random/numpy", lambda words: words[:-1]),
    "random_numpy.pos is 1000000; allowed: .* 0 to 624": lambda arrays, scalars: scalars["random_numpy"].update(pos=10**6),
    "rollout/last_observation is float32": changed("rollout/last_observation", lambda seen: seen[:2]),
    "rollout/last_observation holds nan": changed("rollout/last_observation", lambda seen: seen * float("nan")),
    "normaliser/returns is float64": changed("normaliser/returns", lambda seen: seen[:0]),
    "optimiser/0/exp_avg has the shape": copied_moments("optimiser/0/exp_avg", "optimiser/1/exp_avg"),
    "optimiser/99/step is of parameter '99'": copied_moments("optimiser/99/step", "optimiser/1/step"),
    "optimiser/0 has the moments": lambda arrays, scalars: arrays.pop("optimiser/0/exp_avg_sq"),
    "optimiser/0/step has the shape": changed("optimiser/0/step", lambda step: -step),
    "optimiser has the settings": lambda arrays, scalars: scalars["optimiser"][0].update(betas=1),
    "lr of optimiser is -1": lambda arrays, scalars: scalars["optimiser"][0].update(lr=-1),
    "r of episodes is inf": lambda arrays, scalars: scalars.update(episodes=[{"r": float("inf"), "l": 1}]),
    "last observation or a variance": changed("normaliser/return_variance", lambda variance: variance - 1e9),
    "KeyError .*monitor/returns": lambda arrays, scalars: arrays.pop("monitor/returns"),
    "steps is -1; allowed: a whole number": lambda arrays, scalars: scalars.update(steps=-1),
    "does not fit": lambda arrays, scalars: scalars.update(random_python=[]),
    r"identity is \[\]; allowed: an object": lambda arrays, scalars: scalars.update(identity=[]),
}


@pytest.mark.parametrize("message", MISFITS)
def test_a_checkpoint_whose_manifest_agrees_but_does_not_fit_is_refused(checkpoint, model, tmp_path, message):
    from vcgym.agents.training.checkpoint import load

    identity = json.loads((checkpoint / "state.json").read_text())["identity"]
    copied = shutil.copytree(checkpoint, tmp_path / "copied")
    spoil(copied, MISFITS[message])
    with pytest.raises(ValueError, match=message):
        load(copied, model, identity)


@pytest.mark.parametrize("name", ["state.json", "manifest.json"])
@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"identity":' * 400 + b"1" + b"}" * 400, b"\xff", b"{}"])
def test_hostile_json_is_refused_by_name(checkpoint, model, tmp_path, name, content):
    from vcgym.agents.training.checkpoint import load

    copied = shutil.copytree(checkpoint, tmp_path / "copied")
    (copied / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name.removesuffix('.json')}\.json|state\.safetensors: SHA-256"):
        load(copied, model, {})


def test_a_write_that_fails_leaves_the_earlier_checkpoint_alone(tmp_path, model, monkeypatch):
    from vcgym.agents.training import checkpoint as checkpoints

    model.learn(64)
    first = checkpoints.save(tmp_path, model, {})
    model.num_timesteps += 1
    monkeypatch.setattr(checkpoints.json, "dumps", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoints.save(tmp_path, model, {})
    assert checkpoints.newest(tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == [first.name]
