"""python -m lab train-pair: a pair is trained, saved, resumed to the same bytes, and plays like any system."""

import json
import os
from threading import Timer

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_module
from mlflow import MlflowClient
from ray.cluster_utils import Cluster
from safetensors.torch import save
from tracked import answer_of

from lab.commands import LAB
from lab.learners import pair as learned_pair
from lab.learners.pair import PAIRS, hedged, specialist
from lab.learners.pair_config import PairConfig
from lab.learners.study import MODEL, run_pairs
from vcgym.agents.controllers.learned_router import NUMBERS
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.sweeps.search import parallel_map
from vcgym.agents.tracking import registry
from vcgym.baselines.records import Record
from vcgym.baselines.rule import allocate, decide, start, update
from vcgym.baselines.system_files import learned_folders
from vcgym.baselines.systems import learned_system
from vcgym.baselines.zoo import LEARNED, read_learned
from vcgym.leaderboard.evaluation.participants import study_agents
from vcgym.leaderboard.evaluation.published import participant
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import DataError
from vcgym.scripts.console.command import build, register

pytestmark = pytest.mark.long  # trains

SMALL = {
    "worlds": ["wonderproxy correlated"], "packets": 300, "calls": 8, "validation_calls": 5, "lag_steps": 20, "calls_per_step": 8,
    "learning_rate": 0.01, "hidden": 8, "trials": 12, "population": 4, "chunks": 2, "references": ["DRT-WM"], "seeds": [3],
}  # fmt: skip


def train(folder, **changed):
    return run_pairs(PairConfig(folder=folder, **(SMALL | changed)))


@pytest.fixture(scope="module", autouse=True)
def tracking(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/runs.db")
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    return folder, train(folder, resume=True)[0]


def files_of(home):
    return {name: (home / name).read_bytes() for name in ("learned.json", "learned.safetensors", "start.safetensors", "router-0.jsonl")}


def test_a_trained_pair_beats_its_start_on_training_calls(trained):
    _, pair = trained
    calls = TrainingCalls.sample(Scenario("wonderproxy", "correlated", 300), "train", 8, 24)
    before, after = (calls.scores(*learned_system(pair.folder, name).chosen).mean() for name in ("start", LEARNED))
    assert after > before
    assert set(pair.validation_r) == {"start", "lag 0", "router 0", "end", "DRT-WM"}
    assert json.loads((pair.folder / "learned.json").read_text())["study"]["validation_r"]["wonderproxy correlated"] == round(
        pair.validation_r["end"], 3
    )


def test_a_lag_goes_on_from_a_shipped_one_and_joins_experts(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")  # the champion of the others stays
    onward = {
        "turns": 0, "start": "all-worlds", "start_rough": "correlated", "start_lag": "all-worlds", "experts": ["correlated"],
        "specialists": [["table1 paper"]], "lag_steps": 2,
    }  # fmt: skip
    (pair,) = train(tmp_path / "onward", hidden=32, **onward)
    before, after = (learned_system(pair.folder, name).playout for name in ("start", LEARNED))
    paths, lags = zip(*(specialist(name).chosen for name in ("all-worlds", "correlated")), strict=True)
    shipped = hedged(lags, lags[:1])
    assert all(np.array_equal(a, b) for a, b in zip(before, shipped, strict=True))
    assert [np.array_equal(a, b) for a, b in zip(after.first, before.first, strict=True)] == [False, True, False]
    assert np.array_equal(learned_system(pair.folder, LEARNED).path.prices, [path.prices for path in paths])
    assert set(pair.validation_r) == {"start", "end", "DRT-WM"}
    with pytest.raises(ValueError, match="hidden is 8 and start_lag is all-worlds; allowed: its 32 units"):
        train(tmp_path / "narrow", **onward)


def test_the_registered_pair_decides_alike_in_a_fresh_process(trained):
    found, example = answer_of(os.environ["MLFLOW_TRACKING_URI"], MODEL), registry.pair(()).example
    system, record = learned_system(trained[1].folder, LEARNED), Record(*example["records"][0].tolist())
    for name, rule, now_us in (("path", system.path, record.known_us), ("lag_us", system.playout, record.arrived_us)):
        state = allocate(rule, 1, 2)
        start(rule, state, np.ones(1, np.bool_), example["history"][None], np.zeros(1, np.uint64))
        update(rule, state, 0, record)
        assert found[name] == [decide(rule, state, 0, now_us)]


def test_its_run_holds_the_worlds(trained):
    client = MlflowClient()
    version = client.get_model_version_by_alias(MODEL, "champion")
    run = client.get_run(version.run_id)
    assert run.info.run_name == "Call-v1 learned pair seed 3"
    assert {one.dataset.name for one in run.inputs.dataset_inputs} == {"wonderproxy correlated train", "wonderproxy correlated validation"}


def test_it_stands_on_a_board_as_an_agent(trained):
    folder, pair = trained
    found = study_agents("OURS", folder, SUITES["correlated-v0"])
    assert list(found) == ["OURS"]
    ours = participant("OURS", found["OURS"])
    assert ours.kind == "agent"
    packets = json.loads((pair.folder / "learned.json").read_text())["study"]["budget"]["packets"]
    assert ours.cost["training_decisions"] == packets == 2 * 20 * 8 * 300 + 12 * 4 * 300
    assert ours.cost["parameters"] == NUMBERS + 26 * 8 + 9 * 8 + 9
    with pytest.raises(ValueError, match=r"suite rate-v0 cannot play: .* has path, playout; allowed: systems with rate and order"):
        study_agents("OURS", folder, SUITES["rate-v0"])


@pytest.mark.parametrize("lost", ["last generation", "half a line", "second lag", "everything"])
def test_a_stopped_training_ends_with_the_same_bytes(trained, tmp_path, lost):
    _, pair = trained
    home = tmp_path / "seed-3"
    if lost != "everything":
        home.mkdir(parents=True)
        (home / "lag-0.safetensors").write_bytes((pair.folder / "lag-0.safetensors").read_bytes())
        told = (pair.folder / "router-0.jsonl").read_text().splitlines(keepends=True)
        kept = {"last generation": told[:-1], "half a line": [*told[:-1], told[-1][:7]], "second lag": told}[lost]
        (home / "router-0.jsonl").write_text("".join(kept))
    train(tmp_path, resume=True)
    assert files_of(home) == files_of(pair.folder)


@pytest.mark.parametrize("content", [b"", save({"first.weight": torch.zeros(8, 26)})], ids=["empty", "another network"])
def test_a_broken_file_of_a_stopped_training_is_named(tmp_path, content):
    (tmp_path / "seed-3").mkdir()
    (tmp_path / "seed-3" / "lag-0.safetensors").write_bytes(content)
    with pytest.raises(DataError, match=r"lag-0\.safetensors: content is .*; allowed: the network of this training"):
        train(tmp_path, resume=True)


def test_threads_do_not_change_the_bytes(trained, tmp_path):
    _, pair = trained
    torch.set_num_threads(2)
    train(tmp_path, threads=1)
    assert files_of(tmp_path / "seed-3") == files_of(pair.folder)
    train(tmp_path, threads=2, resume=True)  # a resumed training may have other threads


def test_processes_of_ray_give_the_same_bytes_and_a_machine_may_be_lost(trained, tmp_path, monkeypatch):
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20})
    second = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    generations = []

    def losing(function, calls):
        generations.append(len(calls))
        if len(generations) == 2:
            Timer(0.1, cluster.remove_node, (second,), {"allow_graceful": False}).start()
        return parallel_map(function, calls)

    monkeypatch.setattr(learned_pair, "parallel_map", losing)
    try:
        train(tmp_path, ray={"address": cluster.address})
        assert second not in cluster.list_all_nodes()
    finally:
        cluster.shutdown()
    assert generations == [4, 1, 4, 1, 4]
    assert files_of(tmp_path / "seed-3") == files_of(trained[1].folder)


def test_the_prices_of_roughness_are_searched_on_worlds_of_mode_paper(tmp_path):
    changed = {"worlds": ["wonderproxy correlated", "wonderproxy paper"], "calls": 2, "trials": 4, "rough_trials": 4, "lag_steps": 2}
    train(tmp_path, **changed)
    assert len((tmp_path / "seed-3" / "rough-0.jsonl").read_text().splitlines()) == 1
    (before, after) = (learned_system(tmp_path / "seed-3", name).path.prices for name in ("start", LEARNED))
    assert (before != after).all()


def test_only_the_last_lag_is_learned_on_calls_over_longer_distances(trained, tmp_path):
    _, pair = trained
    train(tmp_path, max_added_ms=100.0)
    for name in ("lag-0.safetensors", "router-0.jsonl"):
        assert (tmp_path / "seed-3" / name).read_bytes() == (pair.folder / name).read_bytes()
    assert (tmp_path / "seed-3" / "lag-1.safetensors").read_bytes() != (pair.folder / "lag-1.safetensors").read_bytes()


HOMES = {"learned": learned_folders()["learned"]} | {path.parts[-3]: path.parent for path in PAIRS.glob("*/*/learned.json")}


@pytest.mark.parametrize(("name", "home"), HOMES.items())
def test_the_experiment_of_a_pair_is_that_of_its_card(name, home):
    with initialize_config_module("lab.conf", version_base="1.3"):
        config = build(compose(register(LAB, "train-pair"), [f"experiment={name}"]), PairConfig).decisive()
    trained = read_learned(home, LEARNED).file.study["config"]
    decided = trained.keys() - {"study", "seeds"}
    assert {key: config[key] for key in decided} == {key: trained[key] for key in decided}


def test_a_folder_that_holds_a_training_is_refused(trained):
    folder, _ = trained
    with pytest.raises(FileExistsError, match=r"holds a training of seeds \[3\]"):
        train(folder)
    with pytest.raises(ValueError, match="is of another study: hidden is 8, expected 4"):
        train(folder, hidden=4, resume=True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"worlds": ["wonderproxy replay"]}, "mode of scenario wonderproxy"),
        ({"worlds": ["nowhere paper"]}, "nowhere"),
        ({"references": ["GCC-DRAFT"]}, r"references has \['GCC-DRAFT'\]; allowed: systems with path and playout"),
        ({"references": ["NONE"]}, "systems has 'NONE'"),
        ({"chunks": 9}, "chunks is 9; allowed: at most calls = 8"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_a_folder_is_made(tmp_path, changed, said):
    with pytest.raises(ValueError, match=said):
        train(tmp_path / "new", **changed)
    assert not (tmp_path / "new").exists()
