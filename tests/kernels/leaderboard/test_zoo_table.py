"""Numbers of the zoo's table against arithmetic done here: scale, intervals over seeds, aggregates as rliable defines them, ends."""

from pathlib import Path

import numpy as np
import pytest

from vcgym.scripts.zoo.cell import CurvePoint
from vcgym.scripts.zoo.config import ALGORITHMS, ENVIRONMENTS, ZooConfig, ZooTraining
from vcgym.scripts.zoo.page import BEGIN, END, improvement, markdown, normalised, of_seeds, over_environments, scores_of, with_table
from vcgym.scripts.zoo.runs import (
    HUNDRED,
    ROLES,
    Reference,
    at_end,
    means,
    read_references,
    read_runs,
    references_path,
    write_references,
    write_runs,
)

A, B = "vcgym/Call-v1", "vcgym/Rate-v1"
LEVELS = {(A, "published"): 80.0, (A, "bound"): 90.0, (B, "published"): 0.5, (B, "bound"): 1.0}
CURVE = [CurvePoint(50, 4.0, 79.0), CurvePoint(80, 9.0, 82.0), CurvePoint(110, 14.0, 85.0)]


def test_scores_are_percent_of_the_way_from_published_to_what_is_told_or_the_bound():
    assert [normalised(score, A, LEVELS) for score in (80.0, 90.0, 85.0, 75.0)] == [0.0, 100.0, 50.0, -50.0]
    assert normalised(0.6, B, LEVELS) == pytest.approx(20.0)
    assert normalised(85.0, A, LEVELS | {(A, HUNDRED): 84.0}) == pytest.approx(125.0)


def test_a_training_counts_at_its_end_alone_and_not_at_a_time():
    cell = ZooTraining(A, "SAC", 0, 100)
    assert at_end(cell, CURVE) == CURVE[2]
    assert at_end(cell, CURVE[:2]) is None
    assert at_end(cell, [CurvePoint(200, 1.0, 0.0)]) is None
    curves = {ZooTraining(A, "SAC", seed, 100): curve for seed, curve in enumerate((CURVE, CURVE[:2]))}
    found = scores_of(curves, LEVELS)["SAC"]
    np.testing.assert_allclose(found.by_env[A], [50.0])
    slower = {cell: [point._replace(cpu_s=7.0 * point.cpu_s) for point in curve] for cell, curve in curves.items()}
    np.testing.assert_equal(scores_of(slower, LEVELS)["SAC"].by_env, found.by_env)


def test_the_interval_of_a_cell_is_students_over_seeds():
    estimate = of_seeds(np.array([1.0, 2.0, 6.0]))
    half = 4.30265273 * np.sqrt(7.0) / np.sqrt(3.0)  # t of 97.5 % with two degrees; variance ((-2)^2 + (-1)^2 + 3^2) / 2
    np.testing.assert_allclose(estimate, (3.0, 3.0 - half, 3.0 + half))
    assert np.isnan(of_seeds(np.array([4.0])).low)


def test_aggregates_are_those_of_rliable():
    by_env = {A: np.array([1.0, 2.0, 3.0, 40.0]), B: np.array([-90.0, 5.0, 6.0, 7.0])}
    estimate = over_environments(by_env)
    assert estimate.value == pytest.approx((2.0 + 3.0 + 5.0 + 6.0) / 4)  # the middle half of the eight
    assert estimate.low < estimate.value < estimate.high
    others = {A: np.array([2.0, 2.5]), B: np.array([6.0])}
    of_a = (0 + 0 + 0.5 + 0 + 1 + 1 + 1 + 1) / 8  # ties count half
    of_b = (0 + 0 + 0.5 + 1) / 4
    assert improvement(by_env, others) == pytest.approx((of_a + of_b) / 2)
    assert improvement(by_env, others) + improvement(others, by_env) == pytest.approx(1.0)


def test_the_bootstrap_draws_seeds_within_an_environment():
    """With the same seeds' values in one environment and other levels, only the spread within environments counts."""
    draws = np.random.default_rng(3)
    apart = {A: np.array([0.0, 1.0, 2.0]), B: np.array([100.0, 101.0, 102.0])}
    found = over_environments(apart)
    values = np.stack([np.concatenate([draws.choice(one, 3) for one in apart.values()]) for _ in range(4000)])
    resampled = np.sort(values, axis=1)[:, 1:-1].mean(axis=1)  # a quarter of six, rounded down, at each end
    factor = np.sqrt(6 / 4)
    assert found.high - found.low > factor * (np.quantile(resampled, 0.975) - np.quantile(resampled, 0.025)) * 0.9
    assert found.high - found.low < 5.0


def test_the_table_has_a_row_for_each_rule_and_algorithm_and_names_seeds():
    curves = {ZooTraining(env, name, seed, 100): [CurvePoint(100, 5.0, LEVELS[env, "published"] + 0.1 * seed)] for env in (A, B)
              for name, seeds in (("PPO", 2), ("DQN", 1)) for seed in range(seeds)}  # fmt: skip
    levels = LEVELS | {(env, role): 0.7 for env in (A, B) for role in ("tuned", "learned", "random")}
    text = markdown(curves, 100, levels, {key: f"its {key[1]}" for key in levels})
    assert "| DQN | 0 (1) | 0 (1) |" in text
    assert "| bound | 100 its bound | 100 its bound |" in text
    assert "| PPO | 0 [-6, 7] (2) | 10 [-117, 137] (2) |" in text
    assert "| interquartile mean, Call-v1, Rate-v1 | score | better than PPO | seconds of one core, median |" in text


def test_trainings_inside_the_loop_stand_beside_those_of_other_decisions():
    curves = {ZooTraining(A, "PPO", 0, 100): CURVE, ZooTraining(A, "InsidePPO", 0, 5000): [CurvePoint(5010, 60.0, 86.0)]}
    levels = LEVELS | {(A, role): 85.0 for role in ("tuned", "learned", "random")}
    text = markdown(curves, 100, levels, dict.fromkeys(levels, "it"))
    assert "| InsidePPO | 60 (1) |" in text and "| PPO | 50 (1) |" in text and "planned for" not in text


def test_trainings_planned_for_other_decisions_have_their_own_table():
    curves = {ZooTraining(A, "PPO", 0, planned): [CurvePoint(planned, 5.0, 81.0 + planned / 100)] for planned in (10, 50, 100)}
    levels = LEVELS | {(A, role): 85.0 for role in ("tuned", "learned", "random")}
    head, *rest = markdown(curves, 100, levels, dict.fromkeys(levels, "it")).split("| planned for ")
    assert "| PPO | 20 (1) |" in head
    assert [table.splitlines()[0] for table in rest] == [f"{n} decisions, after these (seeds) | Call-v1 |" for n in (50, 10)]
    assert [table.splitlines()[2] for table in rest] == ["| PPO | 15 (1) |", "| PPO | 11 (1) |"]


def test_ids_with_a_difficulty_stand_beside_the_ones_without_and_on_their_scale():
    ids = A, "vcgym/Call-hard-v1"
    curves = {ZooTraining(env, "PPO", 0, 100): [CurvePoint(100, 5.0, 81.0 + place)] for place, env in enumerate(ids)}
    levels = LEVELS | {(A, role): 85.0 for role in ("tuned", "learned", "random")}
    text = markdown(curves, 100, levels, dict.fromkeys(levels, "it"))
    assert "| Call-v1 PPO |  | 10 (1) | 20 (1) |" in text
    assert "| PPO | 10 (1) |" in text and "Call-hard" not in text


def test_the_shipped_page_has_the_table_of_the_shipped_trainings():
    config, references = ZooConfig(), read_references(references_path())
    runs = read_runs(references_path().with_name("zoo_runs.csv"))
    levels = means(references, config.worlds)
    page = (Path(__file__).parents[3] / "lab" / "notes" / "zoo.md").read_text(encoding="utf-8")
    assert page == with_table(page, markdown(runs, config.decisions, levels, {(one.env, one.role): one.name for one in references}))


def test_a_page_keeps_its_words_when_its_table_is_made_anew():
    once = with_table("# The zoo\n\nBefore.\n", "| a |")
    page = once.replace(f"{END}\n", f"{END}\n\nAfter.\n")
    assert with_table(page, "| b |") == page.replace("| a |", "| b |")
    assert page.count(BEGIN) == 1 and page.startswith("# The zoo\n\nBefore.\n")


def test_runs_and_references_are_read_as_they_were_written(tmp_path):
    curves = {ZooTraining(B, "DQN", 1, 100): CURVE, ZooTraining(A, "PPO", 0, 100): CURVE[:1]}
    write_runs(tmp_path / "data" / "runs.csv", curves)
    assert read_runs(tmp_path / "data" / "runs.csv") == curves
    assert read_runs(tmp_path / "none.csv") == {}
    found = [Reference(A, "published", "VIA-BF", [1.0, 2.5, 4.125])]
    write_references(found, tmp_path / "references.csv", "a.module")
    assert read_references(tmp_path / "references.csv") == found
    assert means(found, 2) == {(A, "published"): 1.75}
    with pytest.raises(ValueError, match=r"worlds is 4; the references of vcgym/Call-v1 have 3"):
        means(found, 4)


def test_the_shipped_references_are_in_order():
    levels = means(read_references(references_path()), ZooConfig().worlds)
    told = [role for role in ROLES if role.startswith("told")]
    assert {env for env, role in levels if role == HUNDRED} == {*ENVIRONMENTS} - {"vcgym/SendOrder-v1"}
    for env in ENVIRONMENTS:
        others = [levels[env, role] for role in ROLES[:-1] if role not in told or (env, role) in levels]
        assert levels[env, "bound"] > max(others)
        assert levels[env, "tuned"] > levels[env, "published"]
        of_told = [levels[env, role] for role in told if (env, role) in levels]
        assert of_told == sorted(of_told) and max(levels[env, "tuned"], levels[env, "learned"]) < (*of_told, levels[env, "bound"])[0]


def test_cells_come_seed_by_seed():
    cells = ZooConfig(seeds=[0, 1], decisions=7).cells()
    assert [cell.seed for cell in cells] == [0] * (len(cells) // 2) + [1] * (len(cells) // 2)
    assert len(cells) == len(set(cells)) == 2 * (6 * len(ALGORITHMS) - 1)  # none inside the loop on Send
    assert {cell.planned for cell in cells if cell.algorithm != "InsidePPO"} == {7}
    inside = ZooConfig(inside={"Call-v1": 9})
    assert {cell.env: cell.planned for cell in inside.cells() if cell.algorithm == "InsidePPO"}["vcgym/Call-v1"] == 9
    with pytest.raises(ValueError, match=r"\['Chess'\] is not known; allowed: Relay-v1, Playout-v1"):
        ZooConfig(inside={"Chess": 9})
    with pytest.raises(ValueError, match=r"\['A3C'\] is not known; allowed: PPO, A2C"):
        ZooConfig(algorithms=["A3C"])
