"""Every console command ends a bad file or value with one line that names it, and status 1: no traceback, no endless read."""

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from submitted import ONNX
from typed import attempt
from untrained import publish_random_agent

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.baselines.system_files import learned_folders
from vcgym.baselines.zoo import CARD, LEARNED, WEIGHTS
from vcgym.leaderboard.results import files as results
from vcgym.live.protocol.session import Session
from vcgym.network.traces.cards import canonical_sha256
from vcgym.network.traces.refusal import MAX_LINE, one_line
from vcgym.scripts.console.program import VCGYM, main

COMMANDS = [VCGYM.title(name) for name in VCGYM.commands]
CALL = EnvConfig(id="vcgym/Call-v1", options={"packets": 60, "action": "discrete", "interval": 10})


def end_of(monkeypatch, name, *overrides):
    """Run a console command in this process; return what it ends with."""
    monkeypatch.setattr(sys, "argv", [*name.split(), *overrides])
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def absent(path):
    path.unlink()


def folder(path):
    path.unlink()
    path.mkdir()


def endless(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def huge(path):
    os.truncate(path, 1 << 40)  # a hole: it takes no room on the disk


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def holding(content):
    def replace(path):
        path.write_bytes(content)

    return replace


BROKEN = {
    **{change.__name__: change for change in (absent, folder, endless, pipe, huge, cut)},
    "empty": holding(b""),
    "noise": holding(np.random.default_rng(0).bytes(4000)),
    "not UTF-8": holding(b'{"format": "\xff\xfe"}'),
    "nested lists": holding(b"[" * 100_000),
    "nested objects": holding(b'{"env":' * 400 + b"1" + b"}" * 400),
    "long number": holding(b'{"format": ' + b"9" * 10_000 + b"}"),
    "long text": holding(b'{"format": "' + b"x" * 500_000 + b'"}'),
    "null": holding(b"null"),
    "another object": holding(b'{"cos\\nsystem": 1}'),
    "UTF-16": holding('{"format": 1}'.encode("utf-16")),
    "a key twice": holding(b'{"": 1, "": {}}'),
    "NaN": holding(b'{"format": NaN, "card": -Infinity}'),
    "a way out": holding(b'{"local-x/../../../study": {"../study": "local-x/../../../session.json"}}'),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished study with an untrained agent, the empty results of a run, policies of one's own."""
    home = tmp_path_factory.mktemp("made")
    publish_random_agent(home / "study" / "seed-0" / "agent", hidden=4, scale=0.0, **CALL.options)
    (home / "study" / "config.json").write_text(TrainConfig(env=CALL).model_dump_json())
    for layout, name in ((results.RESULTS, "results"), (results.ACTIONS, "actions")):
        results.write(layout, [], home / "board" / f"{name}.parquet")
    shutil.copy(ONNX / "policy.onnx", home / "mine.onnx")
    (home / "mine.py").write_text("class Mine:\n    def predict(self, observation, state, episode_start, deterministic):\n")
    with zipfile.ZipFile(home / "mine.zip", "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": {"__module__": "stable_baselines3.ppo.policies"}}))
    Session(
        number=1, key="0" * 64, packets=100, seed=0, media=[["127.0.0.1:1"]], feedback=["127.0.0.1:1"], commands=["127.0.0.1:1"],
        levels=["127.0.0.1:1"], setup=["127.0.0.1:1"], history=[[0.0, 0.0, 0.0]],
    ).write(home / "session.json")  # fmt: skip
    (home / "relay.key").write_text("0" * 64)
    (home / "board" / "board.json").write_text("{}")
    (home / "pair" / "seed-0").mkdir(parents=True)
    for ending in (CARD, WEIGHTS):
        shutil.copy(learned_folders()[LEARNED] / f"{LEARNED}{ending}", home / "pair" / "seed-0" / f"{LEARNED}{ending}")
    law = {"base_ms": 20.0, "log_mean": 0.0, "log_sd": 0.5, "loss": 0.0, "loss_run": 1.0, "tau_ms": 100.0}
    body = {"paths": ["direct"], "pairs": {"here-there": [law]}}
    card = dict.fromkeys(("name", "description", "source", "licence", "units"), "test")
    card |= {"kind": "fitted", "sha256": canonical_sha256(body)}
    (home / "fitted.json").write_text(json.dumps({"card": card} | body))
    return home


AGENT, STUDY, BOARD = "study/seed-0/agent", "study", "board"
OWN = ["suite=order-v0", "train=null", "systems=[FIXED]", "folder=new"]
READS = [
    ("vcgym evaluate", f"{AGENT}/card.json", [f"agent={AGENT}", "env.id=vcgym/Call-v1"]),
    ("vcgym evaluate", f"{AGENT}/agent.safetensors", [f"agent={AGENT}", "env.id=vcgym/Call-v1"]),
    ("vcgym train", f"{STUDY}/config.json", [f"folder={STUDY}", "resume=true", "env.options.packets=60", "seeds=[7]"]),
    ("vcgym leaderboard", f"{STUDY}/config.json", ["train=null", f"agents.mine={STUDY}", "folder=new"]),
    ("vcgym leaderboard", f"{AGENT}/card.json", ["train=null", f"agents.mine={STUDY}", "folder=new"]),
    ("vcgym leaderboard", f"{AGENT}/agent.safetensors", ["train=null", f"agents.mine={STUDY}", "folder=new"]),
    ("vcgym submit", f"{AGENT}/card.json", ["train=null", f"submission={AGENT}", "folder=new"]),
    ("vcgym verify", f"{BOARD}/actions.parquet", [f"folder={BOARD}"]),
    ("vcgym verify", f"{BOARD}/results.parquet", [f"folder={BOARD}"]),
    ("vcgym page", f"{BOARD}/results.parquet", ["results=."]),
    ("vcgym train-predictor", f"{BOARD}/results.parquet", [f"rows={BOARD}/results.parquet"]),
    ("vcgym import", f"{STUDY}/config.json", ["format=ping", f"file={STUDY}/config.json", "output=a.csv.gz"]),
    ("vcgym import", f"{STUDY}/config.json", ["format=mahimahi", f"file={STUDY}/config.json", "output=a.csv.gz"]),
    ("vcgym leaderboard", f"{STUDY}/config.json", ["suite=replay", "train=null", f"traces={STUDY}/config.json", "folder=new"]),
    ("vcgym leaderboard", f"{BOARD}/board.json", ["suite=order-v0", "train=null", "systems=[FIXED]", f"folder={BOARD}"]),
    ("vcgym leaderboard", f"pair/seed-0/{LEARNED}{CARD}", ["agents.mine=pair", "train=null", "folder=new"]),
    ("vcgym leaderboard", f"pair/seed-0/{LEARNED}{WEIGHTS}", ["agents.mine=pair", "train=null", "folder=new"]),
    ("vcgym train", "fitted.json", ["env.options.scenario=fitted.json", "env.options.packets=60", "folder=new"]),
    ("vcgym join", "session.json", ["party=receiver", "session=session.json"]),
]
NOT_JSON = [
    ("vcgym relay", "relay.key", ["secret=relay.key"]),
    ("vcgym leaderboard", "mine.onnx", [*OWN, "agents.mine=mine.onnx"]),
    ("vcgym leaderboard", "mine.py", [*OWN, "agents.mine=mine:Mine"]),
    ("vcgym leaderboard", "mine.zip", [*OWN, "agents.mine=mine.zip"]),
]
LACKING_IS_FINE = {
    ("vcgym train", "absent"),
    ("vcgym relay", "absent"),
    ("vcgym leaderboard", "absent", "suite=order-v0"),
    ("vcgym leaderboard", "absent", "agents.mine=pair"),
}
CASES = [(*read, broken) for read in READS for broken in BROKEN]
CASES += [(*read, broken) for read in NOT_JSON for broken in ("absent", "empty", "cut", "huge", "endless", "not UTF-8")]


@pytest.mark.parametrize(
    ("name", "file", "overrides", "broken"), CASES, ids=[f"{name} {file} {more[0]}-{broken}" for name, file, more, broken in CASES]
)
def test_a_bad_file_ends_a_command_with_one_line(made, tmp_path, monkeypatch, name, file, overrides, broken):
    if LACKING_IS_FINE & {(name, broken), (name, broken, overrides[0])}:
        return
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    BROKEN[broken](tmp_path / file)
    line = end_of(monkeypatch, name, *overrides)
    assert isinstance(line, str), "no message"
    assert line.startswith(f"{name}: ") and "\n" not in line and len(line) <= MAX_LINE + len(name) + 2
    assert Path(file).name.removesuffix(".py") in line and "did you mean at" not in line


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("override", ["+unheard_of=1", "learnrate=1", "threads=many", "[[", "+hydra=x"])
def test_a_bad_argument_ends_every_command_with_one_line(tmp_path, monkeypatch, name, override):
    monkeypatch.chdir(tmp_path)
    line = end_of(monkeypatch, name, override)
    assert line.startswith(f"{name}: ") and "\n" not in line and len(line) <= MAX_LINE + len(name) + 2


@pytest.mark.parametrize("name", ["vcgym train", "vcgym sweep", "vcgym tune", "vcgym leaderboard"])
def test_a_full_disk_ends_long_work_before_it_begins(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=53248))
    keys = {"vcgym sweep": ["train.folder=new"], "vcgym leaderboard": ["folder=new", "train=null", "systems=[DRT-WM]"]}
    line = end_of(monkeypatch, name, *keys.get(name, ["folder=new"]))
    assert line == f"{name}: {tmp_path}/new: free space of the disk in bytes is 53248; allowed: at least 67108864"


@pytest.mark.parametrize("link", ["train.log", ".hydra", ".hydra/config.yaml"])
def test_a_link_in_a_folder_that_somebody_sent_is_not_written_through(tmp_path, monkeypatch, link):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sent" / link).parent.mkdir(parents=True)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "config.yaml").write_text("kept")
    (tmp_path / "sent" / link).symlink_to(tmp_path / "victim" / ("" if link == ".hydra" else "config.yaml"))
    line = end_of(monkeypatch, "vcgym train", "folder=sent", "env.options.packets=60", "steps=1")
    assert line.startswith(f"vcgym train: sent/{link}: file is 'a link to ")
    assert [path.read_text() for path in (tmp_path / "victim").iterdir()] == ["kept"]


def test_a_file_in_place_of_a_folder_ends_long_work_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new").touch()
    line = end_of(monkeypatch, "vcgym leaderboard", "folder=new", "train=null", "systems=[DRT-WM]")
    assert line == f"vcgym leaderboard: {tmp_path}/new: file is 'existing'; allowed: a folder, or none"


def test_a_ray_that_does_not_start_ends_a_command_with_one_line(tmp_path, monkeypatch):
    def slow(**arguments):
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ray.init", slow)
    line = end_of(monkeypatch, "vcgym tune", "systems=[DRT-FIX]", "folder=new")
    assert line == "vcgym tune: Ray did not start: The current node timed out during startup."


def test_the_line_and_nothing_else_is_on_stderr(tmp_path):
    (tmp_path / "card.json").write_text("{")
    done = attempt(tmp_path, "evaluate", f"agent={tmp_path}")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"vcgym evaluate: {tmp_path}/card.json: content is 'JSONDecodeError") and line.endswith(
        "; allowed: a JSON object"
    )
    shown = attempt(tmp_path, "evaluate", f"agent={tmp_path}", VCGYM_TRACEBACK="1")
    assert shown.returncode == 1 and "Traceback" in shown.stderr


def test_a_long_error_keeps_its_beginning_and_its_end():
    line = one_line(f"/where/it/is: value is {'x' * 10_000};\nallowed: 1 to 3")
    assert len(line) == MAX_LINE
    assert line.startswith("/where/it/is: value is xx") and line.endswith("xx; allowed: 1 to 3")
