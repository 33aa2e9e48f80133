"""Every YAML composes and builds; unknown keys, wrong types and values out of range are rejected before any work starts."""

import json
import os
import sys
from pathlib import Path

import gymnasium
import pytest
from hydra import compose, initialize_config_module
from hydra.errors import InstantiationException
from omegaconf import OmegaConf
from pydantic import ValidationError

from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig, MaskablePPOConfig, OfflineConfig, PPOConfig, SACConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import SweepConfig, TrainConfig, TrainedEnv
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.training.study import what_differs
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.envs import IDS
from vcgym.envs.call.features.forecast import Forecast
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.forecasts.config import PredictorDataConfig, TrainPredictorConfig
from vcgym.leaderboard.tuning.tune_config import TuneConfig
from vcgym.predictors.published import shipped_network
from vcgym.scripts.console import command
from vcgym.scripts.console.program import VCGYM
from vcgym.scripts.console.usage import yaml_of

CONF = Path(command.__file__).parents[2] / "conf"
TABLES = {"suites", "systems", "tune_ranges", "zoo_arguments"}
REQUIRED = {"evaluate": ["agent=somewhere"], "relay": ["secret=somewhere"]}
REQUIRED |= {"emulate": ["secret=somewhere", "session=somewhere", "relays=['127.0.0.1:7000']"]}
REQUIRED |= {"export": ["output=a.csv"], "swaps": ["systems=[CALL-PLAIN,CALL-PAPERS]"], "fit": ["file=somewhere"], "score": ["rule=a.py"]}
REQUIRED |= {"import": ["format=ping", "file=somewhere", "output=a"], "join": ["party=sender", "session=somewhere"]}
REQUIRED |= {"measure": ["secret=somewhere", "session=somewhere", "output=somewhere"], "submit": ["submission=somewhere"]}


@pytest.fixture(autouse=True)
def somewhere(tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("place")
    (place / "somewhere").mkdir()
    (place / "somewhere" / "card.json").touch()
    monkeypatch.chdir(place)


ENVS = sorted(path.stem for path in (CONF / "env").glob("*.yaml"))
ALGORITHMS = sorted(path.stem for path in (CONF / "algorithm").glob("*.yaml"))


@pytest.fixture(autouse=True)
def composer(monkeypatch):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with initialize_config_module("vcgym.conf", version_base="1.3"):
        yield


def built(name, *overrides):
    return command.build(compose(command.register(VCGYM, name), [*REQUIRED.get(name, []), *overrides]), VCGYM.kind(name))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], ""),
        (["algorithm.learning_rate=1e-4", "seeds=[1]", "folder=elsewhere", "study=mine"], "lr 1e-4, "),
        (["algorithm.gamma=0.97", "env.options.interval=50", "env=relay"], "interval 50, gamma 0.97, "),
        (
            ["steps=1e6", "num_envs=64", "algorithm.n_epochs=4", "algorithm.hidden=8", "device=cpu"],
            "n_epochs 4, hidden 8, num_envs 64, ..., ",
        ),
    ],
)
def test_the_name_of_a_run_says_what_differs_from_the_defaults(overrides, said):
    assert what_differs(built("train", *overrides)) == said


@pytest.mark.parametrize(
    ("typed", "added"),
    [
        ("train steps=5", []),
        ("train -m steps=5,6", ["hydra.sweep.dir", "folder"]),
        ("sweep -m train.steps=5,6", ["hydra.sweep.dir", "train.folder"]),
        ("tune --multirun trials=5,6 folder=mine hydra.sweep.dir=here", []),
        ("leaderboard -m suite=default,paper-v0", ["hydra.sweep.dir"]),  # a board has the folder of its suite
    ],
)
def test_each_job_of_a_multirun_has_a_folder_of_its_own(monkeypatch, typed, added):
    name, *words = typed.split()
    monkeypatch.setattr(sys, "argv", [f"vcgym {name}", *words])
    found = command.folders_of_jobs(name, VCGYM)
    assert [word.partition("=")[0] for word in found] == added
    assert all("${hydra:job.num}" in word for word in found if "sweep.dir=" not in word)


def test_every_yaml_is_of_a_command():
    assert {path.stem for path in CONF.glob("*.yaml")} - TABLES <= {VCGYM.yaml(name) for name in VCGYM.commands}


@pytest.mark.parametrize("name", VCGYM.commands)
def test_a_yaml_restates_no_default(name):
    defaults = OmegaConf.to_container(command.schema(VCGYM.kind(name)))
    written = yaml_of(VCGYM.yaml(name), VCGYM.conf)
    assert not list(_restated(written, defaults))


def _restated(written, defaults):
    for key, value in written.items():
        if isinstance(value, dict) and isinstance(defaults.get(key), dict):
            yield from _restated(value, defaults[key])
        elif key in defaults and value == defaults[key]:
            yield key


@pytest.mark.parametrize("name", VCGYM.commands)
def test_every_command_builds(name):
    assert type(built(name)) is VCGYM.kind(name)


@pytest.mark.parametrize("env", ENVS)
def test_every_env_builds_is_registered_and_is_read_back_as_it_was(env):
    config = built("train", f"env={env}").env
    assert config.id in IDS.values() and gymnasium.spec(config.id).vector_entry_point is not None
    assert built("sweep", f"env@train.env={env}").train.env == built("evaluate", f"env={env}").env == config
    assert EnvConfig.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ([], TrainedEnv()),
        (["env.options.mode=paper"], TrainedEnv(options={"mode": "paper"})),
        (["env.id=vcgym/Relay-v1"], TrainedEnv(id="vcgym/Relay-v1")),
    ],
)
def test_an_evaluation_takes_the_environment_of_the_agent_but_for_what_is_typed(typed, found):
    assert built("evaluate", *typed).env == found


def test_a_rule_may_be_an_argument():
    rule = "{_target_: vcgym.baselines.playout.fixed_lag.FixedLag, lag_ms: 90.0}"
    config = built("train", "env=relay", f"env.options.playout={rule}").env
    assert config.options["playout"] == FixedLag(lag_ms=90.0)
    assert EnvConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ValidationError, match=r"_target_ is 'os\.system'; allowed: a class of vcgym\.baselines"):
        EnvConfig(id="vcgym/Relay-v1", options={"playout": {"_target_": "os.system", "command": "true"}})


FORECAST = {
    "_target_": "vcgym.envs.call.features.forecast.Forecast",
    "predictor": {"_target_": "vcgym.predictors.published.shipped_network"},
    "jitter": {"_target_": "vcgym.baselines.playout.wmjitter.WMJitter", "quantile": 0.9},
}


def test_added_features_may_be_an_argument():
    written = f"[{json.dumps(FORECAST)}]".replace('"', "")
    typed = built("train", "env=relay", "env.options.action=discrete", f"env.options.features={written}").env
    read = EnvConfig(id="vcgym/Relay-v1", options={"action": "discrete", "features": [FORECAST]})
    for config in (typed, read, EnvConfig.model_validate_json(typed.model_dump_json())):
        assert config.options["features"] == [Forecast(shipped_network(), WMJitter(quantile=0.9))]
        assert config.model_dump_json() == typed.model_dump_json()
    envs = make_envs(read, 1, "validation")
    plain = make_envs(EnvConfig(id="vcgym/Relay-v1", options={"action": "discrete"}), 1, "validation")
    assert envs.observation_space.shape[-1] - plain.observation_space.shape[-1] == 17  # one feature of each path
    envs.close()
    plain.close()


def test_a_bad_added_feature_is_refused_by_its_place():
    with pytest.raises(ValidationError, match=r"features\[1\]: _target_ is 'os\.system'; allowed: a class of vcgym\.baselines"):
        EnvConfig(id="vcgym/Relay-v1", options={"features": [FORECAST, {"_target_": "os.system", "command": "true"}]})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_builds(algorithm):
    config = built("train", f"algorithm={algorithm}")
    kinds = {"ppo": PPOConfig, "maskable_ppo": MaskablePPOConfig, "sac": SACConfig, "inside_ppo": InsidePPOConfig}
    kinds |= {"bc": OfflineConfig, "iql": OfflineConfig}
    assert type(config.algorithm) is kinds.get(algorithm, LibraryConfig)
    again = TrainConfig.model_validate_json(config.model_dump_json())
    assert again == config and type(again.algorithm) is type(config.algorithm)
    assert again.digest() == config.digest()


def test_yaml_means_what_python_means():
    folder = Path("here")
    assert built("predictor-data") == PredictorDataConfig()
    assert built("train-predictor") == TrainPredictorConfig()
    assert built("tune") == TuneConfig()
    assert built("train", "folder=here") == TrainConfig(folder=folder)
    assert built("sweep", "train.folder=here") == SweepConfig(train=TrainConfig(folder=folder))


@pytest.mark.parametrize(
    ("algorithm", "num_envs", "steps"),
    [("ppo", 256, 400_000), ("sac", 64, 400_000), ("inside_ppo", 8, 20_000_000), ("dqn", 1, 100_000)],
)
def test_the_size_of_a_training_is_that_of_its_algorithm_unless_given(algorithm, num_envs, steps):
    config = built("train", f"algorithm={algorithm}")
    assert (config.env.id, config.num_envs, config.steps) == ("vcgym/Call-v1", num_envs, steps)
    given = built("train", f"algorithm={algorithm}", "num_envs=32", "steps=96")
    assert (given.num_envs, given.steps) == (32, 96)
    assert TrainConfig(algorithm=config.algorithm, num_envs=None).num_envs == num_envs


def test_the_resolved_config_is_complete():
    config = built("train", "env.options.mode=paper", "algorithm.gamma=0.9")
    saved = config.model_dump_json()
    assert TrainConfig.model_validate_json(saved) == config
    resolved = json.loads(saved)
    assert resolved["env"]["options"]["mode"] == "paper"
    assert resolved["env"]["options"].keys() == EnvConfig().options.keys() >= {"scenario", "mode", "interval", "packets", "reward"}
    assert resolved["algorithm"] == json.loads(PPOConfig(gamma=0.9).model_dump_json())


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("num_envs=0", r"num_envs\n.*greater than or equal to 1.*input_value=0"),
        ("num_envs=eight", r"num_envs\n.*valid integer.*input_value='eight'"),
        ("num_envs=1.5", r"num_envs\n.*valid integer.*input_value=1\.5"),
        ("num_envs=true", r"num_envs\n.*valid integer.*input_value=True"),
        ("+learnrate=0.1", r"learnrate\n.*Extra inputs are not permitted.*input_value=0\.1"),
        ("+algorithm.learnrate=0.1", r"learnrate\n.*Extra inputs are not permitted.*input_value=0\.1(.|\n)*full_key: algorithm"),
        ("algorithm.learning_rate=-1", r"learning_rate\n.*greater than 0.*input_value=-1(.|\n)*full_key: algorithm"),
        ("algorithm.gamma=2", r"gamma\n.*less than or equal to 1.*input_value=2"),
        ("algorithm.schedule=cosine", r"schedule\n.*'constant' or 'linear'.*input_value='cosine'"),
        ("algorithm.batch_size=1000", r"algorithm.batch_size is 1000; it must divide .* = 8192"),
        ("seeds=[]", r"seeds\n.*at least 1"),
        ("device=tpu", r"device\n.*'auto', 'cpu' or 'cuda'.*input_value='tpu'"),
        ("env.id=vcgym/Nowhere-v1", r"id\n.*'vcgym/Nowhere-v1' is not a registered environment"),
        ("env.options.colour=red", r"options\n.*no argument \{'colour': 'red'\}; allowed: .*scenario"),
        ("data.root=/nowhere/at/all", r"root\n.*/nowhere/at/all, which is not a folder"),
    ],
)
def test_a_bad_value_is_refused(override, message):
    with pytest.raises(InstantiationException, match=message):
        built("train", override)


def test_python_refuses_the_same():
    with pytest.raises(ValidationError, match=r"num_envs\n.*greater than or equal to 1"):
        TrainConfig(num_envs=0)
    with pytest.raises(ValidationError, match=r"learning_rate\n.*lowest < highest"):
        SweepConfig(learning_rate=[0.1, 0.01])


def test_the_data_folder_is_made_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measured").mkdir()
    monkeypatch.setenv("VCGYM_DATA", "measured")
    config = built("train")
    assert config.data.root == tmp_path / "measured"
    monkeypatch.chdir("/")
    config.data.export()
    assert os.environ["VCGYM_DATA"] == str(tmp_path / "measured")


@pytest.mark.parametrize("search", [False, True], ids=["study", "sweep"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "delay"}, "reward = 'delay'"),
        ({"location": "moon"}, "location = 'moon'"),
        ({"action": "wave"}, "action = 'wave'"),
        ({"action": "exact"}, "action space is Box.*; an agent's may be"),
        ({"interval": 0}, "interval = 0"),
        ({"packets": 0}, "packets = 0"),
        ({"scenario": "nowhere"}, "scenario = 'nowhere'"),
        ({"scenario": "leo", "mode": "replay"}, "VCGYM_DATA"),
    ],
    ids=str,
)
def test_an_environment_that_is_refused_leaves_no_work_behind(tmp_path, monkeypatch, options, message, search):
    import ray

    from vcgym.agents.sweeps.sweep import run_sweep
    from vcgym.agents.training.study import run_study

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    config = TrainConfig(env=EnvConfig(options=options), folder=tmp_path / "run")
    with pytest.raises(Exception, match=message):
        run_sweep(SweepConfig(train=config)) if search else run_study(config)
    assert not list(tmp_path.iterdir())
    assert not ray.is_initialized()


def test_a_gpu_that_is_not_there_is_refused_before_work(tmp_path, monkeypatch):
    import torch

    from vcgym.agents.training.study import run_study
    from vcgym.agents.training.training import train

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = TrainConfig(env=EnvConfig(options={"packets": 60}), folder=tmp_path / "run", device="cuda")
    for begin in (run_study, lambda config: train(config, seed=0)):
        with pytest.raises(ValueError, match="device is 'cuda', but torch finds no GPU; allowed: 'auto' or 'cpu'"):
            begin(config)
    assert not list(tmp_path.iterdir())


def test_no_folder_of_conf_takes_a_key_of_a_config_for_a_group():
    """`study=mine` sets a key only if there is no folder conf/study in which hydra would look for a file."""
    keys = {key for model in (TrainConfig, SweepConfig, LeaderboardConfig) for key in model.model_fields}
    assert not keys & {path.name for path in CONF.iterdir() if path.is_dir()} - {"env", "algorithm"}
