"""Kinds of worlds left out of training: regrets from kept scores, the table of the page, and the picture."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lab.studies import left_out
from lab.studies.left_out import AGENTS, GROUPS, KINDS, PICTURE, draw, kept, regrets, rule, table

NOTE = Path(__file__).parents[3] / "lab/notes/agents.md"


def test_the_page_has_the_kept_table_and_the_picture(tmp_path):
    assert {(one.agent, one.kind) for one in kept()} <= set(product(AGENTS, KINDS))
    page = NOTE.read_text(encoding="utf-8")
    assert table(kept()) in page
    assert f"](pictures/{PICTURE.name})" in page and PICTURE.is_file()
    draw(kept(), tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 10_000


def test_a_regret_is_that_of_the_training_without_the_group(tmp_path, monkeypatch):
    monkeypatch.setattr(left_out, "FOLDER", tmp_path)
    monkeypatch.setattr(left_out, "_of_rule", lambda name, kind: np.full(4, 80.0 + (name == "DRT-WM-tuned")))
    for number, group in enumerate(["all", *GROUPS]):
        np.save(tmp_path / f"PPO-{group}.npy", 80.5 - number + np.tile([-0.1, 0.1], (len(KINDS), 2)))
    found = {one.kind: one for one in regrets("PPO")}
    assert list(found) == KINDS
    first, last = found["wonderproxy correlated"], found["leo replay"]
    assert (first.group, first.seen, first.unseen, first.change) == ("correlated", 0.5, 1.5, 1.0)
    assert (last.group, last.seen, last.unseen, last.change) == ("satellites", 0.5, 6.5, 6.0)
    assert last.unseen_half == pytest.approx(1.96 * 0.1 * np.sqrt(4 / 3) / 2, abs=1e-3) and last.change_half == 0.0


def test_the_rule_of_a_mixture_has_the_least_regret(monkeypatch):
    """Over worlds with a standard deviation of 1 the first loses 3 on the first kind, the second 13 on the second."""
    r = {"DRT-WM-tuned": (80.0, 80.0), "GRD-WM-tuned": (83.0, 70.0)}
    monkeypatch.setattr(left_out, "RULES", tuple(r))
    monkeypatch.setattr(left_out, "_of_rule", lambda name, kind: r[name][KINDS.index(kind)] + np.array([-1.0, 1.0]))
    monkeypatch.setattr(left_out, "load_system", lambda name: name)
    assert rule(KINDS[:1]) == "GRD-WM-tuned"
    assert rule(KINDS[:2]) == "DRT-WM-tuned"
