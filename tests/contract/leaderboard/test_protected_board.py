"""The board of protected calls: bytes within the budget, losses before and after repair apart, and every kind of world in each board."""

import numpy as np
import pytest

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.kinds.protected import LINKED, PROTECTED
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.suites import SUITES, Suite
from vcgym.leaderboard.play import play
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.figure import price_figure
from vcgym.leaderboard.report.page.data_cards import read_cards, write_cards

PLAIN = System(Direct(), WMJitter())
ONE, COPY = FixedProtection(earlier=2), FixedCopies()
NAMED = {"plain": PLAIN, "one": PLAIN.replace(protection=ONE), "copy": PLAIN.replace(protection=COPY)}


def test_every_budget_has_the_same_worlds():
    parts = SUITES["protected-v0"].parts
    of_budget = {
        budget: [part._replace(mode=part.mode.rpartition(",")[0], budget=0.0) for part in parts if part.budget == budget / 100]
        for budget in (5, 10, 25, 100)
    }
    assert all(found == of_budget[5] for found in of_budget.values())
    in_runs = {part.scenario: dict(part.settings) for part in of_budget[5] if part.mode == "losses in runs"}
    measured = {name for name in in_runs if name.endswith("replay")}
    assert {name: found for name, found in in_runs.items() if not found} == {name: {} for name in measured}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    part = Part("table1 paper", "independent losses", 1, "validation", first_seed=3)
    parts = tuple(part._replace(mode=f"{part.mode}, {budget} %", budget=budget / 100) for budget in (10, 100))
    return play(suite=Suite("protected", "v0", 1000, parts, PROTECTED), named=NAMED, folder=tmp_path_factory.mktemp("protected"))


def test_rows(table):
    rows = table.to_pylist()
    found = {(row["system"], row["mode"].removesuffix(" %").split()[-1]): row for row in rows if row["seed"] == rows[0]["seed"]}
    plain, tight, free = found["plain", "10"], found["one", "10"], found["one", "100"]
    assert plain["protection_share"] == 0.0 and plain["residual_loss"] == plain["network_loss"] > 0.0
    assert plain["overhead"] == pytest.approx(plain["probes_sent"] / 3000)
    assert plain["r"] == found["plain", "100"]["r"]
    assert 0.09 < tight["protection_share"] <= 0.1 and free["protection_share"] == pytest.approx(85 / 120, rel=0.01)
    assert tight["network_loss"] == free["network_loss"] == plain["network_loss"]
    assert plain["residual_loss"] > tight["residual_loss"] > free["residual_loss"]
    assert free["r"] > plain["r"] and free["coarse_share"] == 0.0
    assert {row["stratum"] for row in rows} == {"table1 paper"}
    assert np.isclose(free["overhead"] - free["protection_share"], plain["overhead"])


@pytest.fixture(scope="module")
def behind_a_link(tmp_path_factory):
    part = Part("table1 correlated", "independent losses", 1, "validation", first_seed=3, budget=1.0)
    parts = tuple(part._replace(mode=f"load {load:g}", load=load) for load in (0.3, 0.8))
    suite = Suite("protected-link", "v0", 1000, parts, LINKED)
    return play(suite=suite, named=NAMED, folder=tmp_path_factory.mktemp("link")).to_pylist()


def test_what_all_calls_send_loads_their_link(behind_a_link):
    for row in behind_a_link:
        assert row["link_load"] == pytest.approx(float(row["mode"].removeprefix("load ")) * (1.0 + row["overhead"]))
        assert row["network_loss"] >= 1.0 - 1.0 / max(1.0, row["link_load"]) - 0.04
    found = {
        (row["system"], float(row["mode"].removeprefix("load "))): row for row in behind_a_link if row["seed"] == behind_a_link[0]["seed"]
    }
    free, full, plain = found["copy", 0.3], found["copy", 0.8], found["plain", 0.8]
    assert free["link_load"] < 1.0 < full["link_load"] and free["network_loss"] == found["plain", 0.3]["network_loss"]
    assert full["network_loss"] == pytest.approx(1.0 - 1.0 / full["link_load"], abs=0.04)
    assert full["mouth_to_ear_mean_ms"] > plain["mouth_to_ear_mean_ms"] + 50.0
    assert free["residual_loss"] <= plain["residual_loss"] < full["residual_loss"] and full["r"] < plain["r"]


def test_quality_is_drawn_against_bytes(table):
    for board in boards(table):
        svg = price_figure(board.lines, board.columns)
        assert all(f">{name}</text>" in svg for name in NAMED)
        assert "overhead, %" in svg and "nan" not in svg.lower()


def test_the_sources_of_the_worlds_are_kept(tmp_path):
    suite = SUITES["protected-v0"]
    write_cards(suite.kind, [suite.kind.open(part, 1000) for part in suite.parts[:3]], tmp_path)
    (_, scenarios, cards), *_ = read_cards(tmp_path)
    assert scenarios and cards
    assert {name for _, names, _ in read_cards(tmp_path) for name in names.split(", ")} == {"wonderproxy", "table1"}
