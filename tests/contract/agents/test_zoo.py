"""Learned systems as files: the shipped ones match their cards, and a file that does not match is rejected by name."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vcgym.baselines import zoo
from vcgym.baselines.configured import rule_from
from vcgym.baselines.system_files import system_names, zoo_names
from vcgym.baselines.system_files import zoo as shipped
from vcgym.baselines.systems import learned_system, load_study, load_system, tuning_trials
from vcgym.network.traces.cards import DataError, canonical_sha256

SHIPPED = zoo_names()
MAX_SHIPPED_BYTES = 300_000


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_system_is_small_and_says_how_it_was_made(name):
    system, study = load_system(name), load_study(name)
    assert system.is_learned and name in system_names() and tuning_trials(name) == 0
    assert system.trained_packets == study["budget"]["packets"]
    assert {"config", "seed", "budget", "validation_r" if system.plays == "paths" else "validation"} <= study.keys()
    files = [shipped().joinpath(f"{name}{ending}") for ending in (zoo.CARD, zoo.WEIGHTS)]
    assert sum(len(file.read_bytes()) for file in files) < MAX_SHIPPED_BYTES


def test_a_system_and_its_start_ship():
    assert {"LEARNED", "LEARNED-start"} <= set(SHIPPED)
    assert load_system("LEARNED-start").trained_packets == 0 < load_system("LEARNED").trained_packets


@pytest.fixture
def folder(tmp_path):
    for ending in (zoo.CARD, zoo.WEIGHTS):
        shutil.copy(str(shipped().joinpath(f"LEARNED{ending}")), tmp_path / f"mine{ending}")
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
    zoo.save_learned(tmp_path, "again", rules, load_study("LEARNED"), "a copy", "a test")
    for one, other in zip(rules.values(), learned_system(tmp_path, "again").rules.values(), strict=True):
        assert type(one) is type(other)
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


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
        (lambda tensors: tensors.update({"sender.last": np.zeros(2)}), "tensor is 'sender.last'; allowed: arrays of path, playout"),
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
    prices = load_system("LEARNED").path.prices.tolist()
    target = "vcgym.agents.controllers.learned_router.LearnedRouter"
    assert rule_from({"_target_": target, "prices": prices}, "path").prices.tolist() == prices
    with pytest.raises(ValueError, match=r"path\.prices is .* allowed is an array of float64"):
        rule_from({"_target_": target, "prices": "cheap"}, "path")
