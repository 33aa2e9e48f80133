"""The shipped table and page of the zoo take the trainings of a folder."""

from lab.shipped.zoo_table import add
from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import PAGE, ZooConfig, ZooTraining
from vcgym.scripts.zoo.runs import read_runs, write_runs


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
