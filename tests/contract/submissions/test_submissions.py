"""Submissions: valid folders play, are logged and verified; hostile ones are rejected with name and reason, and none of their code runs."""

import json
import os
import pickle
import shutil
import socket
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.numpy import load, save
from submitted import edit_card, observations, observed, refused
from trap import Trap
from typed import attempt

from vcgym.agents.published.export import load_agent
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError
from vcgym.submissions.accept import accept, accepted, take
from vcgym.submissions.load import read

pytestmark = pytest.mark.long  # starts processes, or compiles much that no other test needs

ONNX = Path(__file__).parent / "submission_onnx"
HIDDEN = 8


def test_an_honest_agent_acts_as_the_one_it_was_made_of(made, agent):
    card, _, published = take(agent, observed(5, 17))
    assert card.name == "tiny agent"
    for paths in (5, 17):
        seen = observations(paths)
        assert np.array_equal(published.policy().predict(seen)[0], load_agent(made / "plain").predict(seen)[0])


def test_a_published_agent_plays_from_the_bytes_of_its_files(agent, monkeypatch):
    published = take(agent, observed(5)).published
    monkeypatch.setattr("tempfile.mkdtemp", lambda *args, **kwargs: pytest.fail("it was written to a folder"))
    monkeypatch.setattr(Path, "write_bytes", lambda *args: pytest.fail("it was written to a folder"))
    assert published.policy().predict(observations(5))[0].shape == (len(observations(5)), 2)


def test_an_honest_model_acts_as_the_runtime_says_one_session_or_many(onnx):
    published = take(onnx, observed(5, 17)).published
    session = onnxruntime.InferenceSession(ONNX / "policy.onnx", providers=["CPUExecutionProvider"])
    for paths in (5, 17):
        seen = observations(paths)
        actions, state = published.policy().predict(seen)
        assert state == [{}] * len(seen)  # it remembers nothing
        for row, action in zip(seen, actions, strict=True):
            inputs = {"paths": row[: paths * 9].reshape(1, paths, 9), "call": row[None, paths * 9 :]}
            scores = dict(zip(("path_scores", "level_scores"), session.run(["path_scores", "level_scores"], inputs), strict=True))
            assert action.tolist() == [scores["path_scores"].argmax(), scores["level_scores"].argmax()]
            assert np.array_equal(published.policy().predict(row[None])[0][0], action)


def test_what_was_taken_is_kept_and_a_second_one_of_its_name_is_not(agent, onnx, tmp_path):
    board = tmp_path / "board"
    assert accept(agent, board, observed(5), ()) == accept(agent, board, observed(5), ()) == "tiny agent"
    assert accept(onnx, board, observed(5), ()) == "tiny onnx"
    assert accepted(board) == ({"tiny agent": read(agent).published, "tiny onnx": read(onnx).published}, {})
    edit_card(agent, "description", value="Another one.")
    with pytest.raises(RefusedError, match=r"is called .tiny agent. as .* is, which differs; allowed: another name"):
        accept(agent, board, observed(5), ())


@pytest.mark.parametrize("name", ["DRT-WM", "PPO", "PPO seed 3"])
def test_a_name_that_a_system_has_is_refused_before_anything_is_kept(agent, tmp_path, name):
    edit_card(agent, "name", value=name)
    with pytest.raises(RefusedError, match=f"is called '{name}', as a system of this leaderboard is; allowed: another name"):
        accept(agent, tmp_path / "board", observed(5), ["DRT-WM"])
    assert not (tmp_path / "board").exists()


def test_the_name_of_an_oracle_is_refused(agent):
    edit_card(agent, "name", value="oracle_joint_6")
    with pytest.raises(RefusedError, match="allowed: one that does not begin with 'oracle_'"):
        take(agent, {})


def test_the_command_refuses_in_one_line_and_with_status_1(agent, tmp_path):
    (agent / "setup.py").write_text("raise SystemExit")
    done = attempt(tmp_path, "submit", f"submission={agent}", f"folder={tmp_path / 'board'}")
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("vcgym submit: ")
    assert "setup.py: does not belong here; allowed: card.json and" in line


@pytest.mark.parametrize("name", ["agent.safetensors", "card.json"])
def test_a_pickle_is_refused_and_does_not_run(agent, tmp_path, name):
    (agent / name).write_bytes(pickle.dumps(Trap(tmp_path / "ran")))
    refused(agent, name)
    assert not (tmp_path / "ran").exists()


def test_a_pickled_model_is_refused_and_does_not_run(onnx, tmp_path):
    torch.save(Trap(tmp_path / "ran"), onnx / "policy.onnx")
    refused(onnx, "policy.onnx")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["policy.py", "agent.pkl", "agent.safetensors.zip", "policy.onnx.data", ".hidden", "card.json~", "sub"])
def test_what_does_not_belong_is_refused(agent, name):
    (agent / name).mkdir() if name == "sub" else (agent / name).write_bytes(b"x")
    refused(agent, name, "does not belong here")


def test_both_kinds_of_weights_or_none_are_refused(agent):
    shutil.copy(ONNX / "policy.onnx", agent)
    refused(agent, "holds ['agent.safetensors', 'card.json', 'policy.onnx']")
    (agent / "policy.onnx").unlink()
    (agent / "agent.safetensors").unlink()
    refused(agent, "holds ['card.json']")


def test_an_archive_is_refused_unopened(agent, tmp_path):
    bomb = tmp_path / "submission.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.safetensors", bytes(1 << 24))
    refused(bomb, "submission.zip: is not a folder", "archives are not unpacked")
    shutil.copy(bomb, agent / "agent.safetensors")
    refused(agent, "agent.safetensors: has ")


def test_links_pipes_and_folders_in_the_place_of_files_are_refused(agent, tmp_path):
    weights = agent / "agent.safetensors"
    outside = Path(shutil.move(weights, tmp_path / "outside"))
    for target in (outside, "../outside", "/etc/passwd", "nowhere"):
        weights.symlink_to(target)
        refused(agent, "agent.safetensors: file is ")
        weights.unlink()
    os.mkfifo(weights)
    refused(agent, "agent.safetensors: file is 'a folder, pipe or device'")
    weights.unlink()
    weights.mkdir()
    refused(agent, "agent.safetensors: file is 'a folder, pipe or device'")
    weights.rmdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(weights))
        refused(agent, "agent.safetensors: file is ")
    shutil.rmtree(tmp_path / "link", ignore_errors=True)
    (tmp_path / "link").symlink_to(agent)
    refused(tmp_path / "link", "is not a folder")


def test_files_that_are_too_large_are_refused_unread(agent, onnx):
    for path in (agent / "agent.safetensors", agent / "card.json", onnx / "policy.onnx"):
        with path.open("r+b") as file:
            file.truncate(1 << 40)  # a hole: it takes no room on the disk
        refused(path.parent, f"{path.name}: size in bytes is {1 << 40}; allowed: a plain file of at most ")
        path.write_bytes(b"")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("name",), "../../board", ["name is ", "allowed: text of the form"]),
        (("name",), "/etc/passwd", ["name is ", "allowed: text of the form"]),
        (("name",), "..", ["name is ", "allowed: text of the form"]),
        (("name",), "<script>", ["name is ", "allowed: text of the form"]),
        (("name",), "tiny\nagent", ["name is ", "allowed: text of the form"]),
        (("name",), "x" * 41, ["name is ", "allowed: text of the form"]),
        (("authors",), "a\x1b[31m", ["authors is ", "allowed: text of the form"]),
        (("weights",), "../agent.safetensors", ["weights is '../agent.safetensors'; allowed: 'agent.safetensors' or 'policy.onnx'"]),
        (("weights",), "policy.onnx", ["weights is 'policy.onnx'"]),
        (("entry_point",), "os:system", ["entry_point is 'os:system'; Extra inputs are not permitted"]),
        (("agent", "env_id"), "vcgym/Relay-v1", ["agent.env_id is 'vcgym/Relay-v1'; allowed: 'vcgym/Call-v1'"]),
        (("agent", "env_id"), "os:vcgym/Call-v1", ["agent.env_id is 'os:vcgym/Call-v1'"]),
        (("agent", "observation", 1, "features", 3), "future_delay", ["agent.observation.1.features.3 is 'future_delay'; allowed: '"]),
        (("agent", "observation", 0, "name"), "queue", ["agent.observation.0.name is 'queue'; allowed: 'paths'"]),
        (("agent", "action_space"), {"kind": "Discrete", "n": 10**30}, ["agent.action_space is {'kind': 'Discrete'"]),
        (("agent", "observation_space"), {"kind": "Box", "shape": [1 << 60]}, ["agent.observation_space is {'kind': 'Box'"]),
        (("agent", "observation", 0, "items"), 10**9, ["agent.observation.0.items is 1000000000; allowed: 1 to 1000"]),
        (("agent", "observation"), [], ["agent.observation.0.items is 0; allowed: 1 to 1000"]),
        (("agent", "network", "trunk", 0, "outputs"), 1 << 40, [f"trunk.1 has {HIDDEN} inputs"]),
        (("agent", "network", "trunk", 1, "outputs"), 1 << 40, ["score.0 has"]),
        (("agent", "network", "trunk", 1, "outputs"), True, ["agent.network.trunk.1.outputs is True; allowed: a valid integer"]),
        (("agent", "network", "trunk", 0, "activation"), "eval", ["trunk.0.activation is 'eval'; allowed: 'tanh', 'relu' or"]),
        (("agent", "network", "trunk", 0, "activation"), "relu", ["agent.network.trunk.0.activation is 'relu'; allowed: 'tanh'"]),
        (("agent", "network", "lag_peak"), None, ["agent.network.lag_peak is None; allowed: "]),
        (("agent", "squashed"), True, ["agent.squashed is True; allowed: False"]),
        (("agent", "format"), 1, ["agent.format is 1; allowed: 2"]),
        (("format",), 2, ["format is 2; allowed: 1"]),
    ],
)
def test_a_card_that_lies_is_refused(agent, place, value, words):
    edit_card(agent, *place, value=value)
    refused(agent, "card.json: ", *words)


def test_a_card_that_is_no_json_or_nested_without_end_is_refused(agent):
    for content in (b"{", b"\xff\xfe", b"[" * 100_000, b""):
        (agent / "card.json").write_bytes(content)
        refused(agent, "card.json: content is ", "Invalid JSON")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_tensors_that_are_not_finite_are_refused(agent, value):
    tensors = load((agent / "agent.safetensors").read_bytes())
    tensors["trunk.1.weight"] = tensors["trunk.1.weight"].copy()
    tensors["trunk.1.weight"][2, 3] = value
    (agent / "agent.safetensors").write_bytes(save(tensors))
    refused(agent, "agent.safetensors: ", f"trunk.1.weight holds {value}")


def header(agent, edit):
    content = (agent / "agent.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    head = edit(json.loads(content[8 : 8 + length]))
    text = (head if isinstance(head, str) else json.dumps(head)).encode()
    (agent / "agent.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def test_safetensors_that_lie_about_their_size_are_refused(agent):
    path = agent / "agent.safetensors"
    content = path.read_bytes()
    for broken in (b"", content[:5], content[:-4], content + bytes(4), (1 << 63).to_bytes(8, "little") + content[8:]):
        path.write_bytes(broken)
        refused(agent, "agent.safetensors: has ", "as the card's network has")
    path.write_bytes(content)
    header(agent, lambda head: head | {"skip.0.weight": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}})
    refused(agent, "agent.safetensors: ", "cannot be read")
    path.write_bytes(content)
    header(agent, lambda head: {("stray" if name == "skip.0.weight" else name): one for name, one in head.items()})
    refused(agent, "agent.safetensors: ", "stray")


def test_finite_weights_that_divide_by_zero_in_play_are_refused(agent):
    tensors = load((agent / "agent.safetensors").read_bytes())
    tensors["rest.0.bias"] = np.full_like(tensors["rest.0.bias"], -1e4)
    (agent / "agent.safetensors").write_bytes(save(tensors))
    refused(agent, "agent.safetensors: a trial call failed: ValueError: the width of the lags is 0")


def test_what_was_spoilt_on_the_board_is_left_out_and_named(agent, onnx, tmp_path):
    board = tmp_path / "board"
    for folder in (agent, onnx):
        accept(folder, board, observed(5), ())
    os.truncate(board / "submissions" / "tiny agent" / "agent.safetensors", 100)
    taken, left_out = accepted(board)
    assert list(taken) == ["tiny onnx"] and left_out.keys() == {"tiny agent"}
    assert "agent.safetensors: has 100 bytes" in left_out["tiny agent"]
