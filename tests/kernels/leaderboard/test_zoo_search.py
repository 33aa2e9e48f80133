"""Search of the zoo's arguments: what is drawn, and what is written of the trials."""

from importlib.resources import files

import pytest
import yaml

from vcgym.agents.training.learners import TABLE
from vcgym.scripts.zoo import config as configs
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import FOUND, ZooConfig, ZooTraining, found_arguments
from vcgym.scripts.zoo.runs import read_runs, references_path
from vcgym.scripts.zoo.search import SPACES, drawn, trials_of, write_found

CALL, RATE = "vcgym/Call-v1", "vcgym/Rate-v1"


@pytest.mark.parametrize("algorithm", SPACES)
def test_trials_begin_with_the_defaults_and_lie_within_the_ranges(algorithm):
    first, *others = drawn(algorithm, 40, seed=3)
    assert first == {} and len(others) == 39 and drawn(algorithm, 3, seed=3) == [{}, *others[:2]]
    for one in others:
        assert one.keys() <= set(TABLE[algorithm].arguments())
        assert 1e-4 <= one["learning_rate"] <= 3e-3 and 0.8 <= one["gamma"] <= 0.995
    rates = sorted(one["learning_rate"] for one in others)
    assert 3e-4 < rates[19] < 1e-3  # uniform in the logarithm: the median is 5.5e-4
    assert {one["policy_kwargs"]["net_arch"][0] for one in others} == {32, 64, 128}


def test_a_trial_is_a_training_with_the_drawn_arguments_on_top():
    config = ZooConfig(algorithms=["SAC"], environments=[CALL, RATE], seeds=[5, 6], trials=2, arguments={"SAC": {"train_freq": 4}})
    trials = trials_of(config)
    assert [(one.cell.env, one.cell.seed) for one in trials] == [(CALL, 5)] * 2 + [(RATE, 5)] * 2
    assert len({one.config.folder for one in trials}) == 4
    chosen = [one.config.arguments_of(one.cell) for one in trials]
    assert chosen[0] == chosen[2] == {"train_freq": 4}
    assert chosen[1] == {"train_freq": 4} | trials[1].arguments and chosen[1]["batch_size"] in (64, 128, 256)
    with pytest.raises(ValueError, match=r"algorithms is \['TD3'\]; allowed with trials: PPO, A2C, DQN, SAC"):
        trials_of(ZooConfig(algorithms=["TD3"], trials=2))


def test_the_best_of_a_pair_is_written_with_its_budget_once_all_trials_have_ended(tmp_path):
    trials = trials_of(ZooConfig(algorithms=["PPO"], environments=[CALL, RATE], trials=3, decisions=50, folder=tmp_path))
    scores = (80.0, 82.0, 81.0, 0.9, 0.8)
    ended = [(trial, [CurvePoint(50, 30.0, score)]) for trial, score in zip(trials, scores, strict=False)]
    config = trials[0].config.model_copy(update={"folder": tmp_path})
    write_found(config, ended)
    budget = {"trials": 3, "decisions": 50, "seed": 0, "worlds": 30, "cpu_minutes": 1.5}
    found = {"arguments": trials[1].arguments, "search": budget | {"default": 80.0, "best": 82.0}}
    assert yaml.safe_load((tmp_path / FOUND).read_text()) == {"PPO/Call-v1": found}
    write_found(config, [*ended, (trials[5], [CurvePoint(50, 30.0, 0.7)])])
    read = yaml.safe_load((tmp_path / FOUND).read_text())
    assert read["PPO/Call-v1"] == found and read["PPO/Rate-v1"]["arguments"] == {}


def test_tuned_trains_under_another_name_with_what_was_found(monkeypatch):
    monkeypatch.setattr(configs, "found_arguments", lambda: {"PPO/Call-v1": {"gamma": 0.9}})
    config = ZooConfig(algorithms=["PPO", "DQN"], tuned=True, arguments={"PPO": {"gamma": 0.5, "n_steps": 64}})
    assert config.cells() == [ZooTraining(CALL, "PPO-tuned", 0, 100_000)]
    assert config.arguments_of(config.cells()[0]) == {"gamma": 0.9, "n_steps": 64}
    assert config.arguments_of(ZooTraining(CALL, "PPO", 0, 100_000)) == {"gamma": 0.5, "n_steps": 64}


def test_shipped_arguments_are_above_the_defaults_in_their_search_and_on_the_shipped_trainings():
    """On the trainings by the mean over the seeds that both have, of the longest ones."""
    runs = {cell: curve[-1].score for cell, curve in read_runs(references_path().with_name("zoo_runs.csv")).items()}
    written = yaml.safe_load(files("vcgym.conf").joinpath(FOUND).read_text())
    for name in found_arguments():
        algorithm, env = name.split("/")
        assert written[name]["search"]["best"] > written[name]["search"]["default"]
        tuned = [cell for cell in runs if cell[:2] == (f"vcgym/{env}", f"{algorithm}-tuned")]
        longest = [cell for cell in tuned if cell.planned == max(one.planned for one in tuned)]
        gains = [runs[cell] - runs[cell._replace(algorithm=algorithm)] for cell in longest if cell._replace(algorithm=algorithm) in runs]
        assert not tuned or sum(gains) > 0.0, name
