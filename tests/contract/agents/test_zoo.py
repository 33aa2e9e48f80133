"""Learned systems as files: the shipped ones match their cards, and a file that does not match is rejected by name."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save as torch_bytes

from vcgym.agents.config.env import EnvConfig
from vcgym.baselines import zoo
from vcgym.baselines.configured import rule_from
from vcgym.baselines.system_files import learned_folders, system_names
from vcgym.baselines.systems import learned_system, load_study, load_system, tuning_trials
from vcgym.baselines.tensors import tensors_of
from vcgym.network.traces.cards import DataError, canonical_sha256

SHIPPED = learned_folders()
NAME = "learned-whole"
MAX_SHIPPED_BYTES = 300_000


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_system_is_small_and_says_how_it_was_made(name):
    system, study = load_system(name), load_study(name)
    assert system.is_learned and name in system_names() and tuning_trials(name) == 0
    assert system.trained_packets == study["budget"]["packets"]
    assert {"config", "seed", "budget", "validation_r" if system.plays == "paths" else "validation"} <= study.keys()
    files = [SHIPPED[name] / f"{name}{ending}" for ending in (zoo.CARD, zoo.WEIGHTS)]
    assert sum(len(file.read_bytes()) for file in files) < MAX_SHIPPED_BYTES


def test_one_learned_system_of_each_kind_ships():
    assert set(SHIPPED) == {"learned", "learned-rl", "learned-gate", "learned-rate", "learned-order", "learned-whole", "ALLOCATOR"}
    assert all(load_system(name).trained_packets > 0 for name in SHIPPED)


@pytest.fixture
def folder(tmp_path):
    for ending in (zoo.CARD, zoo.WEIGHTS):
        shutil.copy(SHIPPED[NAME] / f"{NAME}{ending}", tmp_path / f"mine{ending}")
    return tmp_path


def change_weights(folder: Path, change):
    """Change the tensors and let the card agree."""
    tensors = load_file(folder / "mine.safetensors")
    change(tensors)
    save_file(tensors, folder / "mine.safetensors")
    change_card(folder, lambda body: body.update(weights_sha256=hashlib.sha256((folder / "mine.safetensors").read_bytes()).hexdigest()))


def change_card(folder: Path, change):
    card = json.loads((folder / "mine.json").read_text())
    change(card)
    card["card"]["sha256"] = canonical_sha256({key: value for key, value in card.items() if key != "card"})
    (folder / "mine.json").write_text(json.dumps(card))


def test_saved_is_read_back_equal(folder, tmp_path):
    rules = learned_system(folder, "mine").rules
    zoo.save_learned(tmp_path, "again", rules, load_study(NAME), "a copy", "a test")
    for one, other in zip(rules.values(), learned_system(tmp_path, "again").rules.values(), strict=True):
        assert type(one) is type(other)
        assert all(np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype for a, b in zip(one, other, strict=True))


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"mine\.json: file is 'No such file or directory'; allowed: a plain file of at most"):
        learned_system(tmp_path, "mine")


def test_other_weights_than_the_card_means_are_refused(folder):
    path = folder / "mine.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(DataError, match=r"mine\.safetensors: sha256 is .*as the card says"):
        learned_system(folder, "mine")


def test_too_large_weights_are_refused_before_they_are_read_as_tensors(folder):
    (folder / "mine.safetensors").write_bytes(bytes(zoo.MAX_BYTES + 1))
    with pytest.raises(DataError, match=r"size in bytes is .*at most"):
        learned_system(folder, "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tensors: tensors.update({"playout.third": np.zeros(2)}), "has no parameter 'third'"),
        (lambda tensors: tensors.pop("playout.last"), "lacks its parameter 'last'"),
        (lambda tensors: tensors.update({"sender.last": np.zeros(2)}), "tensor is 'sender.last'; allowed: arrays of order, pacing, path"),
        (lambda tensors: tensors.update({"playout.last": tensors["playout.last"][:-1]}), "weights have shapes"),
        (lambda tensors: tensors.update({"playout.first": np.array(1.0)}), "weights have shapes"),
        (lambda tensors: tensors.update({"path.prices": tensors["path.prices"] * np.nan}), "finite numbers"),
    ],
)
def test_wrong_tensors_are_refused(folder, change, said):
    change_weights(folder, change)
    with pytest.raises(ValueError, match=said):
        learned_system(folder, "mine")


def test_another_class_is_refused(folder):
    change_card(folder, lambda body: body["system"]["path"].update(_target_="os.system"))
    with pytest.raises(ValueError, match=r"_target_ is 'os\.system'; allowed"):
        learned_system(folder, "mine")


def test_an_array_may_stand_in_yaml_as_numbers():
    prices = load_system(NAME).path.prices.tolist()
    target = "vcgym.agents.controllers.learned_router.LearnedRouter"
    assert rule_from({"_target_": target, "prices": prices}, "path").prices.tolist() == prices
    with pytest.raises(ValueError, match=r"path\.prices is .* allowed is an array of float64"):
        rule_from({"_target_": target, "prices": "cheap"}, "path")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_tensors_of_a_type_that_numpy_lacks_are_refused_by_name(folder, dtype):
    (folder / "mine.safetensors").write_bytes(torch_bytes({"playout.last": torch.zeros(4).to(dtype)}))
    change_card(folder, lambda body: body.update(weights_sha256=hashlib.sha256((folder / "mine.safetensors").read_bytes()).hexdigest()))
    with pytest.raises(DataError, match=r"mine\.safetensors: type of 'playout\.last' is '(BF16|F8_E4M3|F8_E5M2)'; allowed: F64, F32"):
        learned_system(folder, "mine")


def test_a_shape_that_numpy_lacks_is_refused_by_name(tmp_path):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1] * 70, "data_offsets": [0, 4]}}).encode()
    with pytest.raises(DataError, match=r"sent\.safetensors: shape of a tensor is "):
        tensors_of(tmp_path / "sent.safetensors", len(header).to_bytes(8, "little") + header + bytes(4))


BUDGETS = {
    "no budget": {}, "null": {"budget": None}, "a list": {"budget": [1]}, "a number": {"budget": 1}, "no packets": {"budget": {}},
    "a text": {"budget": {"packets": "1"}}, "a truth": {"budget": {"packets": True}}, "below 0": {"budget": {"packets": -1}},
    "a share": {"budget": {"packets": 0.5}}, "too many": {"budget": {"packets": 10**400}},
}  # fmt: skip


@pytest.mark.parametrize("study", BUDGETS.values(), ids=BUDGETS)
def test_a_study_without_a_budget_is_refused(folder, study):
    change_card(folder, lambda body: body.update(study=study))
    with pytest.raises(DataError, match=r"mine\.json: content is .*study\.budget\.packets is .*; allowed: 0 to"):
        learned_system(folder, "mine")


def chained(folder: Path, name: str, names: str):
    """Make a learned folder whose two rules are those of a system, or of another folder."""
    home = folder / name
    home.mkdir(exist_ok=True)
    for ending in (zoo.CARD, zoo.WEIGHTS):
        shutil.copy(SHIPPED["ALLOCATOR"] / f"ALLOCATOR{ending}", home / f"mine{ending}")
    change_card(home, lambda body: body.update(system={"path": names, "playout": names}))
    for ending in (zoo.CARD, zoo.WEIGHTS):
        (home / f"mine{ending}").rename(home / f"{zoo.LEARNED}{ending}")
    return home


def test_the_file_of_a_learned_system_may_name_another_system(tmp_path):
    found, wanted = learned_system(chained(tmp_path, "a", "learned"), zoo.LEARNED), load_system("learned")
    assert np.array_equal(found.path.prices, wanted.path.prices)


def test_no_file_of_a_learned_system_names_a_folder(tmp_path, monkeypatch):
    """Not itself, each other or a chain, in which two rules of each would double the reads; nothing above it, absolute or by a link."""
    monkeypatch.chdir(tmp_path)
    chained(tmp_path, "level-0", "learned")
    (tmp_path / "link").symlink_to("level-0")
    (tmp_path / "inner").mkdir()
    chained(tmp_path / "inner", "level-0", "learned")
    names = {"itself": str(tmp_path / "itself"), "one": str(tmp_path / "other"), "other": "one", "absolute": str(tmp_path / "level-0")}
    names |= {"beside": "level-0", "above": "../level-0", "linked": "link", "below": "inner/level-0", "nothing": "", "here": "."}
    names |= {f"level-{n}": f"level-{n - 1}" for n in range(1, 15)}
    for name, named in names.items():
        chained(tmp_path, name, named)
    for name, named in names.items():
        with pytest.raises(ValueError, match=rf"{name}/learned\.json: path = .*; a file cannot name a folder; allowed: "):
            learned_system(tmp_path / name, zoo.LEARNED)
        with pytest.raises(ValueError, match=r"allowed are the name of a system, the class of a rule"):
            EnvConfig.model_validate_json(json.dumps({"id": "vcgym/Call-v1", "options": {"path": named}}))
