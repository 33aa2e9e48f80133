"""vcgym train algorithm=inside_ppo: a system is trained, saved, tracked, resumed to the same bytes, and plays like any system."""

import json

import pytest
from mlflow import MlflowClient

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.training import inside
from vcgym.agents.training.study import run_study
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.systems import learned_system
from vcgym.baselines.zoo import LEARNED
from vcgym.leaderboard.evaluation.participants import all_participants, study_agents
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.network.scenarios.scenario import Scenario
from vcgym.scripts.zoo.scoring import score_systems

SETTINGS = InsidePPOConfig(hidden=8, learning_rate=0.005)
ENV = EnvConfig(id="vcgym/Call-v1", options={"packets": 500, "reward": "impairment", "worlds": 8})


def config(folder, **changed):
    small = {"env": ENV, "algorithm": SETTINGS, "num_envs": 8, "steps": 30_000, "evaluate_every": 3, "checkpoint_every": 2}
    return TrainConfig(folder=folder, evaluation_episodes=4, **(small | changed))


@pytest.fixture(scope="module", autouse=True)
def tracking(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/runs.db")
        yield


def files_of(home):
    return {name: (home / name).read_bytes() for name in ("learned.json", "learned.safetensors")}


def interrupt(wanted, monkeypatch, turns):
    """Start a training that dies before another turn."""
    done, turn = [], inside.Learning.train_step

    def turn_or_die(learning):
        if len(done) == turns:
            raise KeyboardInterrupt
        done.append(1)
        return turn(learning)

    monkeypatch.setattr(inside.Learning, "train_step", turn_or_die)
    with pytest.raises(KeyboardInterrupt):
        run_study(wanted)
    monkeypatch.setattr(inside.Learning, "train_step", turn)


def test_a_training_that_was_interrupted_ends_with_the_same_bytes(tmp_path, monkeypatch):
    (whole,) = run_study(config(tmp_path / "whole"))
    assert whole.steps >= 30_000
    interrupt(config(tmp_path / "cut"), monkeypatch, 5)
    with pytest.raises(FileExistsError, match="resume is False"):
        run_study(config(tmp_path / "cut"))
    run_study(config(tmp_path / "cut", resume=True))
    assert files_of(tmp_path / "cut" / "seed-0") == files_of(tmp_path / "whole" / "seed-0")
    with pytest.raises(ValueError, match=r"another study: algorithm\.hidden is 8, expected 9"):
        run_study(config(tmp_path / "cut", resume=True, algorithm=SETTINGS.model_copy(update={"hidden": 9})))


@pytest.mark.long  # compiles loops that no other test needs
def test_an_order_resumes_to_the_same_bytes_and_plays_on_its_board(tmp_path, monkeypatch):
    env = EnvConfig(id="vcgym/SendOrder-v1", options={"seconds": 5.0, "worlds": 8})
    order = {"env": env, "steps": 3_000, "num_envs": 4, "checkpoint_every": 1}
    (whole,) = run_study(config(tmp_path / "whole", **order))
    interrupt(config(tmp_path / "cut", **order), monkeypatch, 2)
    run_study(config(tmp_path / "cut", resume=True, **order))
    assert files_of(tmp_path / "cut" / "seed-0") == files_of(tmp_path / "whole" / "seed-0")
    (found,) = study_agents("ORDER", tmp_path / "whole", SUITES["order-v0"]).values()
    system = learned_system(whole.agent, LEARNED)
    assert str(found) == str(system) and system.is_learned and system.rate == Tfrc() and system.order.weights.any()
    assert min(score_systems(env.id, [system], 2)[0]) > 0.0


def test_it_is_ranked_and_tracked_like_other_agents(tmp_path):
    playout = EnvConfig(id="vcgym/Playout-v1", options={"packets": 500, "reward": "impairment", "worlds": 8})
    (trained,) = run_study(config(tmp_path / "lag", env=playout, steps=5_000))
    assert study_agents("RL", tmp_path / "lag", SUITES["default"]).keys() == {"RL"}
    system = learned_system(trained.agent, LEARNED)
    study = json.loads((trained.agent / "learned.json").read_text())["study"]
    assert system.is_learned and system.trained_packets == study["budget"]["packets"] > 0
    assert study["budget"]["decisions"] == trained.steps
    r = TrainingCalls.sample(Scenario("wonderproxy", "correlated", 500), "validation", 4).scores(*system.chosen)
    runs = MlflowClient().search_runs(
        ["1"], filter_string=f"tags.algorithm = 'InsidePPO' and tags.seed = '0' and tags.env = '{playout.id}'"
    )
    assert runs[0].data.metrics["validation/r"] == pytest.approx(r.mean())
    assert MlflowClient().get_model_version_by_alias("vcgym-playout-v1-insideppo", "champion").run_id == runs[0].info.run_id


def test_a_training_over_several_kinds_says_what_each_has(tmp_path):
    kinds = ["wonderproxy correlated", "table1 correlated"]
    (trained,) = run_study(config(tmp_path, steps=5_000, env=EnvConfig(options={"packets": 500, "worlds": 8, "scenario": kinds})))
    study = json.loads((trained.agent / "learned.json").read_text())["study"]
    validation_r, system = study["validation_r"], learned_system(trained.agent, LEARNED)
    for kind in kinds:
        calls = TrainingCalls.sample(Scenario(*kind.split(), 500), "validation", 4)
        assert validation_r[kind] == pytest.approx(calls.scores(*system.chosen).mean(), abs=1e-3)
    assert validation_r["end"] == pytest.approx(sum(validation_r[kind] for kind in kinds) / 2, abs=1e-3)
    (run,) = MlflowClient().search_runs(["1"], filter_string=f"tags.kinds = '{', '.join(kinds)}' and tags.seed = '0'")
    names = {found.dataset.name for found in MlflowClient().get_run(run.info.run_id).inputs.dataset_inputs}
    assert names == {f"{kind} {split}" for kind in kinds for split in ("train", "validation")}
    with pytest.raises(ValueError, match="scenario"):
        run_study(config(tmp_path / "none", env=EnvConfig(options={"scenario": ["nowhere correlated"]})))


def test_a_board_trains_it_once_and_refuses_another_config(tmp_path, monkeypatch):
    suite, wanted = SUITES["default"], config(tmp_path, resume=True)
    trained = all_participants(suite, {}, wanted, {})
    assert list(trained) == ["PPO"] and trained["PPO"].is_learned and trained["PPO"].fits(suite.kind.controls)
    monkeypatch.setattr(inside.Learning, "train_step", lambda learning: pytest.fail("it trains again"))
    assert str(all_participants(suite, {}, wanted, {})) == str(trained)
    with pytest.raises(ValueError, match="was trained with config"):
        all_participants(suite, {}, config(tmp_path, resume=True, steps=40_000), {})


def test_wrong_settings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"num_envs is 7; it must be a multiple of algorithm\.replicas = 2"):
        config(tmp_path, num_envs=7)
    with pytest.raises(ValueError, match="allowed: environments over paths"):
        run_study(config(tmp_path / "uplink", env=EnvConfig(id="vcgym/Call-v1", options={"uplink": "order"})))
    with pytest.raises(ValueError, match="no ent_coef to search"):
        SweepConfig(train=config(tmp_path))
