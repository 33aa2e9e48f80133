"""Names of cached results of the laboratory: each changes with all code that affects its content, and with no other code."""

from pathlib import Path

import pytest
from cached_names import asked_for, changed_by, is_same_with_other_docstrings

from lab.papers.reproduce import parts
from lab.studies.headroom import oracle_rows
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.systems import System
from vcgym.network.scenarios import splits
from vcgym.network.scenarios.scenario import Scenario
from vcgym.predictors.published import shipped_network

PAIR = System(Direct(), FixedLag(20.0))


def part_of_a_reproduction():
    part = next(parts.parts_of(parts.settings_of("table1")[0], 1, 100))
    return asked_for(parts, parts.calls_of, part, {"it": PAIR}, Path(), 1)


def forecasts_of_a_reproduction():
    part = next(parts.parts_of(parts.settings_of("table1")[0], 1, 100))
    return asked_for(parts, parts.forecasts_of, part, System(VCRoute(predictor=shipped_network()), WMJitter()), Path(), 1)


def oracles_of_a_world():
    scenario = Scenario("table1", "paper", 100)
    with splits.unlock_test_split():
        draw = scenario.draw("test", 0)
    identity = {"suite": "tiny", "suite_version": "v0", "pair": draw.pair, "seed": 0, "system": "it"}
    return asked_for(oracle_rows, oracle_rows.oracle_rows, oracle_rows.Drawn(scenario, draw, identity), {"it": PAIR}, Path())


USERS = {
    "part of a reproduction": (
        part_of_a_reproduction,
        {"leaderboard.results.call_metrics", "lab.papers.vcroute.outcomes", "leaderboard.results.cdf", "baselines.path.direct"},
        {"baselines.path.via", "lab.papers.reproduce.page"},
    ),
    "forecasts of a reproduction": (
        forecasts_of_a_reproduction,
        {"lab.papers.vcroute.forecasts", "leaderboard.forecasts.logging_router", "predictors.mlp", "baselines.path.vcroute.vcroute"},
        {"baselines.path.via", "lab.papers.reproduce.page"},
    ),
    "oracles": (
        oracles_of_a_world,
        {"lab.studies.oracles.joint", "lab.studies.headroom.oracle_rows", "leaderboard.results.call_metrics", "baselines.path.direct"},
        {"baselines.path.via", "lab.studies.headroom.run"},
    ),
}  # fmt: skip
NEVER = {"leaderboard.report.page.tables", "leaderboard.report.board", "scripts.leaderboard", "lab.bench.steps"}


@pytest.mark.long
@pytest.mark.parametrize("user", USERS)
def test_a_name_follows_the_code_that_decides_and_no_other(user):
    name, decides, does_not = USERS[user]
    changes = changed_by(name)
    assert decides - changes == set()
    assert changes & (NEVER | does_not) == set()


@pytest.mark.parametrize("user", USERS)
def test_docstrings_and_comments_change_no_name(user):
    assert is_same_with_other_docstrings(USERS[user][0])
