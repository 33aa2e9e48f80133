"""A member of a population, with Ray's part played by hand: a killed one repeats its reports and ends with the same bytes."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import SweepConfig, TrainConfig
from vcgym.agents.sweeps import population
from vcgym.agents.sweeps.trial import agent_of, home_of, reports_of

STRONG, WEAK, CHANGED = ({"learning_rate": rate, "ent_coef": 0.01} for rate in (1e-3, 1e-4, 8e-4))


class StoppedError(Exception):
    """What ends a function that Ray stops at a report."""


@pytest.fixture
def segment(tmp_path, monkeypatch):
    """Runs a trial from the checkpoint that it is given to its next report; returns the metrics and its checkpoint."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    env, algorithm = EnvConfig(id="cart:test/Cart-v0"), PPOConfig(n_steps=16, batch_size=32, n_epochs=1)
    config = TrainConfig(
        env=env, algorithm=algorithm, num_envs=4, steps=128, evaluate_every=1, checkpoint_every=1, evaluation_episodes=3, device="cpu",
        folder=tmp_path / "sweep",
    )  # fmt: skip

    def run(number, values, given):
        told = []

        def report(metrics, checkpoint):
            folder = tmp_path / f"passed-{len(list(tmp_path.iterdir()))}"
            shutil.copytree(checkpoint.path, folder)
            told.append((metrics, folder))
            raise StoppedError

        passed = given and SimpleNamespace(to_directory=lambda draft: shutil.copytree(given, draft, dirs_exist_ok=True))
        monkeypatch.setattr(population.tune, "get_context", lambda: SimpleNamespace(get_trial_id=lambda: f"a_{number:05}"))
        monkeypatch.setattr(population.tune, "get_checkpoint", lambda: passed)
        monkeypatch.setattr(population.tune, "report", report)
        with pytest.raises(StoppedError):
            population.run_member(values, config)
        return told[0]

    run.config = config
    return run


def test_a_killed_member_repeats_its_reports_and_ends_the_same(segment):
    (first, _), (_, passed) = segment(0, WEAK, None), segment(1, STRONG, None)
    assert first["steps"] == 64 and not first["done"] and first["learning_rate"] == WEAK["learning_rate"]
    last, _ = segment(0, CHANGED, passed)
    assert last["steps"] == 128 and last["done"] and last["learning_rate"] == CHANGED["learning_rate"]
    name = "trial-00000"
    weights, reports = agent_of(segment.config, name) / "agent.safetensors", reports_of(segment.config, name)
    expected = weights.read_bytes()
    assert segment(0, CHANGED, passed)[0] == last  # nothing is trained twice: of the agent only the report is repeated

    shutil.rmtree(weights.parent)
    shutil.rmtree(max((home_of(segment.config, name) / "seed-0" / "checkpoints").iterdir()))
    reports.write_text("".join(reports.read_text().splitlines(keepends=True)[:1]))
    before_ns = reports.stat().st_mtime_ns
    assert segment(0, WEAK, None)[0] == first
    assert reports.stat().st_mtime_ns == before_ns
    assert segment(0, CHANGED, passed)[0] == last
    assert weights.read_bytes() == expected


def test_a_population_needs_two_trials_and_a_checkpoint_at_each_evaluation():
    with pytest.raises(ValueError, match=r"trials is 1, train.evaluate_every 10, train.checkpoint_every 10; allowed with pbt: at least 2"):
        SweepConfig(trials=1, scheduler="pbt")
    with pytest.raises(ValueError, match=r"train.evaluate_every 3, train.checkpoint_every 2; allowed with pbt"):
        SweepConfig(train=TrainConfig(evaluate_every=3, checkpoint_every=2), scheduler="pbt")
