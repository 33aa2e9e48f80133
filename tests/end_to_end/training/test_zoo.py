"""The zoo as a command: what is missing is trained, tracked and tabled; a training that was ended goes on as if it had not been."""

import json

import pytest
from tracked import runs_of

from vcgym.agents.training import checkpoint
from vcgym.scripts.zoo import cell as cells
from vcgym.scripts.zoo.command import run
from vcgym.scripts.zoo.config import ZooConfig, ZooTraining
from vcgym.scripts.zoo.runs import read_runs

ENV = "vcgym/Playout-v1"
INSIDE = 100_000
DQN = {"learning_starts": 40, "buffer_size": 200}


def config_of(home, **changes):
    small = {"environments": [ENV], "decisions": 300, "points": 3, "worlds": 2, "inside": {"Playout-v1": INSIDE}}
    return ZooConfig(**{"folder": home} | small | {"arguments": {"DQN": DQN}, "algorithms": ["DQN"]} | changes)


def test_a_training_that_was_ended_goes_on_with_the_same_scores(tmp_path, monkeypatch):
    one, clock = ZooTraining(ENV, "DQN", 3, 300), iter(range(10_000))
    monkeypatch.setattr(cells.time, "process_time", lambda: 0.001 * next(clock))
    whole = cells.train_cell(config_of(tmp_path / "whole"), one)
    assert [point.decisions for point in whole] == sorted({point.decisions for point in whole}) and whole[-1].decisions == 300
    scores, asked = cells.score_agent, iter(range(10))

    def killed(*arguments):
        if next(asked) == 2:
            raise KeyboardInterrupt
        return scores(*arguments)

    monkeypatch.setattr(cells, "score_agent", killed)
    with pytest.raises(KeyboardInterrupt):
        cells.train_cell(config_of(tmp_path / "ended"), one)
    home = tmp_path / "ended" / str(one)
    kept = json.loads((home / "curve.json").read_bytes())
    assert not kept["is_done"] and len(kept["points"]) == 2 and checkpoint.newest(home / "checkpoints") is not None
    monkeypatch.setattr(cells, "score_agent", scores)
    resumed = cells.train_cell(config_of(tmp_path / "ended"), one)
    assert [(point.decisions, point.score) for point in resumed] == [(point.decisions, point.score) for point in whole]
    monkeypatch.setattr(cells, "build_model", None)  # a finished one is read, not trained
    assert cells.train_cell(config_of(tmp_path / "ended"), one) == resumed


@pytest.mark.parametrize("algorithm", ["PPO", "InsidePPO"])
def test_a_row_repeats_whatever_the_clock_says(tmp_path, monkeypatch, algorithm):
    one = ZooTraining(ENV, algorithm, 1, INSIDE if algorithm == "InsidePPO" else 300)
    found = []
    for name, speed in (("idle", 0.001), ("busy", 50.0)):
        clock = iter(range(1_000_000))
        monkeypatch.setattr(cells.time, "process_time", lambda clock=clock, speed=speed: speed * next(clock))
        points = cells.train_cell(config_of(tmp_path / name), one)
        found.append([(point.decisions, point.score) for point in points])
    assert found[0] == found[1] and found[0][-1][0] >= one.planned


def test_a_run_trains_what_the_table_lacks_and_writes_table_picture_and_study(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    run(config_of(tmp_path))
    assert set(read_runs(tmp_path / "zoo_runs.csv")) == {ZooTraining(ENV, "DQN", 0, 300)}
    text = (tmp_path / "zoo.md").read_text()
    (tmp_path / "zoo.md").write_text(text + "\nMy words.\n")
    monkeypatch.setattr(cells, "build_model", None)  # DQN is in the table
    run(config_of(tmp_path, algorithms=["DQN", "InsidePPO"]))
    assert set(read_runs(tmp_path / "zoo_runs.csv")) == {ZooTraining(ENV, "DQN", 0, 300), ZooTraining(ENV, "InsidePPO", 0, INSIDE)}
    page = (tmp_path / "zoo.md").read_text()
    assert "| InsidePPO | " in page and page.endswith("My words.\n")
    assert (tmp_path / "pictures" / "zoo.png").stat().st_size > 1000
    named = {one.data.tags.get("algorithm"): one for one in runs_of(tmp_path, "mlflow.db")[1]}
    assert named["DQN"].data.metrics["validation/score"] == read_runs(tmp_path / "zoo_runs.csv")[ZooTraining(ENV, "DQN", 0, 300)][-1].score
