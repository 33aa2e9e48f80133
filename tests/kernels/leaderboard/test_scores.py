"""Anchored scores and Pareto fronts on synthetic results."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from board_rows import row
from scipy import stats

from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.scores import anchored, best_published, format_score, front, undominated
from vcgym.leaderboard.results.files import RESULTS
from vcgym.leaderboard.results.kinds import CALL
from vcgym.leaderboard.statistics import pair_worlds

HUNDRED, INFORMED = CALL.hundred, CALL.informed
ROOM = np.array([0.0, 0.1, 4.0, 8.0] * 5)  # what can be won in each world
BASE = 80.0 + np.random.default_rng(0).normal(0.0, 5.0, len(ROOM))
KINDS = {"VCR-WM": "rule", "DRT-WM": "rule", "GRD": "tuned", "SLOW": "tuned", "PPO": "agent", INFORMED: "oracle", HUNDRED: "oracle"}
GAINS = {"VCR-WM": 0.0, "DRT-WM": -0.5, "GRD": 0.25, "SLOW": 0.1, "PPO": 0.5, INFORMED: 0.8, HUNDRED: 1.0}


def table(values, **columns):
    rows = [
        {"system": system, "mode": "m", "scenario": "s", "stratum": "x", "split": "test", "pair": "p", "seed": world, "r": value}
        | {name: of[system][world] for name, of in columns.items()}
        for system, series in values.items()
        for world, value in enumerate(series)
    ]
    return pair_worlds(pa.Table.from_pylist(rows))


VALUES = {name: BASE + gain * ROOM for name, gain in GAINS.items()}
PAIRED = table(VALUES)


def middle(values):
    """Interquartile mean."""
    return float(stats.trim_mean(values, 0.25))


def test_the_axis_runs_from_the_best_published_system_to_the_oracle():
    assert best_published(PAIRED, CALL) == "VCR-WM"
    axis = anchored(PAIRED, "VCR-WM", CALL)
    assert axis.zero == "VCR-WM"
    zero, room = middle(VALUES["VCR-WM"]), middle(VALUES[HUNDRED]) - middle(VALUES["VCR-WM"])
    assert axis.headroom.value == pytest.approx(room)
    by_hand = {name: 100.0 * (middle(values) - zero) / room for name, values in VALUES.items()}
    assert {name: score.value for name, score in axis.scores.items()} == pytest.approx(by_hand)
    assert tuple(axis.scores[HUNDRED]) == pytest.approx((100.0, 100.0, 100.0))
    assert tuple(axis.scores["VCR-WM"]) == (0.0, 0.0, 0.0)


def test_a_score_is_a_ratio_of_centres_not_a_mean_of_ratios():
    values = {"VCR-WM": [80.0, 80.0], HUNDRED: [90.0, 80.1], "PPO": [85.0, 79.1]}  # ratios of the two worlds: 50 % and -900 %
    axis = anchored(table(values), "VCR-WM", CALL)
    assert axis.scores["PPO"].value == pytest.approx(100.0 * (5.0 - 0.9) / 10.1)


def skewed(system, gain, bad):
    """Rows of a system with `gain` in every world, and `bad` more or less in the worst quarter of the worlds."""
    kinds = {"DRT-WM": "rule", "DRT-NEQ": "rule", "GRD+EWMA-tuned": "tuned", HUNDRED: "oracle"}
    same = {"system": system, "kind": kinds.get(system, "agent"), "mode": "correlated", "g114_band": "<=150"}
    levels = [80.0 + 0.1 * (seed % 7) + gain if seed % 4 else 50.0 + 0.3 * (seed % 5) + bad for seed in range(40)]
    return [row(CALL, **same, seed=seed, stratum="quiet" if seed % 3 else "user-node", r=r) for seed, r in enumerate(levels)]


def test_share_difference_and_regret_of_a_row_are_one_statistic():
    """A system that is better in most worlds and much worse in a few has no positive difference with a negative share, nor the reverse."""
    systems = (("DRT-WM", 0.0, 0.0), ("DRT-NEQ", 0.8, -9.0), ("GRD+EWMA-tuned", -0.1, 9.0), ("PPO", 2.0, -20.0), (HUNDRED, 5.0, 30.0))
    (board,) = boards(pa.Table.from_pylist([row for one in systems for row in skewed(*one)], schema=RESULTS.schema))
    assert board.published == "DRT-NEQ"  # the published system with the best ranked R, so that none is above it
    assert max(line.found["above_published"].value for line in board.lines if line.system in CALL.published) == 0.0
    room = board.axis.headroom
    for line in board.lines:
        to_published, score, regret = (line.found[name] for name in ("above_published", "percent_of_attainable", "regret"))
        assert score.value == pytest.approx(100.0 * to_published.value / room.value)
        assert regret.value == pytest.approx(room.value - to_published.value)
        assert regret.low <= regret.value <= regret.high
        for end in ("low", "high"):
            assert np.sign(getattr(score, end)) == np.sign(getattr(to_published, end))
    assert len(board.strata) == 2
    for stratum in board.strata:
        for name, found in stratum.found.items():
            share = 100.0 * found["above_published"].value / stratum.axis.headroom.value
            assert found["percent_of_attainable"].value == stratum.axis.scores[name].value == pytest.approx(share)


@pytest.mark.parametrize(("room", "word"), [(0.49, "no room"), (0.51, "50")])
def test_under_half_a_point_there_is_no_room(room, word):
    axis = anchored(table({"VCR-WM": BASE, HUNDRED: BASE + room, "PPO": BASE + 0.5 * room}), "VCR-WM", CALL)
    assert axis.has_headroom == (word == "50")
    assert format_score(axis.scores["PPO"]).split(" [")[0] == word


@pytest.mark.parametrize("lacking", [HUNDRED, "VCR-WM"])
def test_without_an_end_there_is_no_axis(lacking):
    paired = table({name: BASE for name in ("VCR-WM", HUNDRED, "PPO") if name != lacking})
    assert anchored(paired, best_published(paired, CALL), CALL) is None


def test_the_interval_of_a_score_contains_the_truth_in_most_suites():
    draws, held = np.random.default_rng(5), 0
    for _ in range(60):
        room = draws.gamma(2.0, 2.0, 40)
        noise = draws.normal(0.0, 1.0, (2, 40))
        level = {"VCR-WM": noise[0], HUNDRED: room + noise[0], "PPO": 0.5 * room + noise[1]}
        axis = anchored(table({name: 80.0 + values for name, values in level.items()}), "VCR-WM", CALL)
        held += axis.scores["PPO"].low <= 50.0 <= axis.scores["PPO"].high
    assert held / 60 >= 0.86


def test_the_front_is_what_no_pair_of_systems_rules_out():
    draws = np.random.default_rng(2)
    delays, losses = draws.integers(0, 6, 20) * 50.0, draws.integers(0, 6, 20) * 0.01
    ruled_out = {
        a for a, b in itertools.permutations(range(20), 2)
        if delays[b] <= delays[a] and losses[b] <= losses[a] and (delays[b], losses[b]) != (delays[a], losses[a])
    }  # fmt: skip
    assert set(np.flatnonzero(~undominated(delays, losses))) == ruled_out


def test_a_front_of_results():
    worlds, draws = 20, np.random.default_rng(3)
    delay = {"quick": 100.0, "safe": 200.0, "worse": 210.0}
    loss = {"quick": 0.05, "safe": 0.01, "worse": 0.02}
    noise = draws.normal(0.0, 1.0, worlds)
    found = front(
        table(
            dict.fromkeys(delay, np.zeros(worlds)),
            event_end_to_end_delay_mean_ms={name: value + noise for name, value in delay.items()},
            network_loss={name: np.full(worlds, 0.5 * value) for name, value in loss.items()},
            event_late_loss={name: np.full(worlds, 0.5 * value) for name, value in loss.items()},
        ),
        CALL.fronts[1],
    )
    assert [name for name, point in found.items() if point.on_front] == ["quick", "safe"]
    assert [point.front_share for point in found.values()] == [1.0, 1.0, 0.0]
    assert found["quick"].loss.value == pytest.approx(0.05)
