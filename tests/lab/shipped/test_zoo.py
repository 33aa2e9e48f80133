"""The shipped table takes the trainings of a folder, and the agents that ship are the best trainings of its cells."""

from lab.shipped.zoo import SHIPPED, add, best, name_of
from vcgym.agents.published.export import read_card
from vcgym.agents.published.shipped import shipped_folder, shipped_names
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import ENVIRONMENTS, PAGE, ZooConfig, ZooTraining
from vcgym.scripts.zoo.runs import read_runs, write_runs

CALL = "vcgym/Call-v1"
MAX_BYTES = 2_000_000


def test_the_best_last_score_of_a_cell_counts_of_those_with_all_decisions_and_a_flat_policy():
    ends = {("PPO", 0, 100): 3.0, ("DQN", 1, 100): 4.0, ("DQN", 2, 100): 3.5, ("DQN", 3, 50): 9.0, ("SAC", 0, 100): 8.0}
    curves = {ZooTraining(CALL, *key): [CurvePoint(20, 1.0, 7.0 - end), CurvePoint(key[2], 2.0, end)] for key, end in ends.items()}
    curves[ZooTraining(CALL, "PPO", 1, 100)] = [CurvePoint(90, 9.0, 5.0)]  # its processor time ended before
    assert best(curves, 100) == [ZooTraining(CALL, "DQN", 1, 100), ZooTraining(CALL, "PPO", 0, 100)]


def test_what_ships_is_the_best_of_its_cell_and_the_best_of_each_environment_ships():
    curves = read_runs(SHIPPED)
    found = best(curves, ZooConfig().decisions)
    seeds = {name_of(cell): cell.seed for cell in found}
    shipped = {name: read_card(shipped_folder(name)).seed for name in shipped_names()}
    assert shipped.items() <= seeds.items()
    for env in ENVIRONMENTS:
        assert name_of(max((cell for cell in found if cell.env == env), key=lambda cell: curves[cell][-1].score)) in shipped
    assert sum(file.stat().st_size for name in shipped for file in shipped_folder(name).iterdir()) < MAX_BYTES


def test_the_trainings_of_a_folder_are_added_to_the_shipped_ones_and_to_the_page(tmp_path):
    config = ZooConfig(folder=tmp_path / "zoo", decisions=100)
    one, two, three = (ZooTraining("vcgym/Call-v1", "PPO", seed, 100) for seed in range(3))
    old, new = [CurvePoint(100, 1.0, 80.0)], [CurvePoint(100, 2.0, 84.0)]
    shipped, page = tmp_path / "data" / "runs.csv", tmp_path / PAGE
    write_runs(shipped, {one: old, two: old})
    write_runs(config.runs, {two: new, three: new})
    page.write_text("# The zoo\n\nMy words.\n")
    add(config, shipped, page)
    assert read_runs(shipped) == {one: old, two: new, three: new}
    assert read_runs(config.runs) == {two: new, three: new}
    assert "My words." in page.read_text() and "(3) |" in page.read_text()
    assert (tmp_path / "pictures" / "zoo.png").stat().st_size > 1000
