"""Bars: every playable board of calls has one, chosen by the shipped means and without test worlds."""

import pytest

from lab.shipped.bars import validation_suite
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import tuning_trials
from vcgym.leaderboard.evaluation.bars import OF_ANY_KIND, bar_of, load_bars
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.stages import PATHS
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import board_name

BARS = load_bars()
TUNED_FOR = {key: [name for name in systems_of(suite) if tuning_trials(name)] for key, suite in SUITES.items()}


def version(suite):
    return f"{suite.name}-{suite.version}"


@pytest.mark.parametrize("key", [key for key, tuned in TUNED_FOR.items() if tuned])
def test_each_board_of_a_suite_has_a_bar(key):
    suite = SUITES[key]
    found = BARS.bars[version(suite)]
    assert found.keys() == {board_name(part.mode, part.stratum) for part in suite.parts}
    assert BARS.metric[version(suite)] == suite.columns.ranked_by
    assert all(bar_of(version(suite), board) == bar for board, bar in found.items())


@pytest.mark.parametrize("suite", BARS.bars)
def test_the_bar_has_the_best_mean_of_all_tuned_systems(suite):
    for board, means in BARS.validation[suite].items():
        assert BARS.bars[suite][board] == max(means, key=means.__getitem__)
        assert list(means.values()) == sorted(means.values(), reverse=True)
        assert means.keys() == set(next(tuned for key, tuned in TUNED_FOR.items() if version(SUITES[key]) == suite))
        assert means.keys() <= set(system_names())


@pytest.mark.parametrize("key", [key for key, suite in SUITES.items() if suite.stages == (PATHS,)])
def test_the_reference_of_the_mixture_plays_every_suite_over_paths(key):
    assert OF_ANY_KIND in TUNED_FOR[key]


def test_an_unknown_suite_has_no_bar():
    assert bar_of("replay-1234", "replay") == bar_of("correlated-v0", "paper") == ""


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_validation_worlds_are_drawn_as_the_suites_own(suite):
    drawn = validation_suite(suite)
    assert {part.split for part in drawn.parts} == {"validation"} and {part.split for part in suite.parts} == {"test"}
    assert [part._replace(split="test") for part in drawn.parts] == list(suite.parts)
