"""The agents that ship are the best trainings of the shipped table."""

from lab.shipped.zoo_agents import best
from vcgym.agents.published.export import read_card
from vcgym.agents.published.shipped import shipped_folder, shipped_names
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import ZooConfig, ZooTraining
from vcgym.scripts.zoo.references import references_path
from vcgym.scripts.zoo.runs import read_runs

CALL = "vcgym/Call-v1"


def test_the_best_last_score_counts_of_those_planned_alike_with_a_flat_policy():
    ends = {("PPO", 0, 100): 3.0, ("DQN", 1, 100): 4.0, ("DQN", 2, 50): 9.0, ("SAC", 0, 100): 8.0}
    curves = {ZooTraining(CALL, *key): [CurvePoint(20, 1.0, 7.0 - end), CurvePoint(key[2], 2.0, end)] for key, end in ends.items()}
    assert best(curves, 100) == [ZooTraining(CALL, "DQN", 1, 100)]


def test_what_ships_is_the_best_of_the_shipped_table():
    found = best(read_runs(references_path().with_name("zoo_runs.csv")), ZooConfig().decisions)
    named = {f"{cell.algorithm}-{cell.env.removeprefix('vcgym/')}": cell.seed for cell in found}
    assert {name: read_card(shipped_folder(name)).seed for name in shipped_names()} == named
