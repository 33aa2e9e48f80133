"""Whole calls on a board: four controls act on the worlds of `vcgym/Call-v1` with an uplink; columns are those of sender and paths."""

import numpy as np
import pytest
from board_rows import table_of_r

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.kinds.whole import WHOLE as WHOLE_CALLS
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.leaderboard.play import play
from vcgym.leaderboard.results.kinds import CALL, RATE, WHOLE
from vcgym.leaderboard.swaps import swaps, with_control

TINY = Suite("tiny", "v0", 300, (Part("wonderproxy+rate", "correlated", 2, "validation", stratum="cubic"),), WHOLE_CALLS)
PLAIN, PAPERS = load_system("CALL-PLAIN"), load_system("CALL-PAPERS")


def test_columns_are_the_sum_of_the_columns_of_sender_and_paths():
    found = SUITES["whole-v0"].columns
    assert set(found.metric) == set(CALL.metric) | set(RATE.metric) | {"taken_share"}
    assert found.types == WHOLE.types and found.ranked_by == "r" and found.metric["r"] == CALL.metric["r"]
    assert {name for _, names in (*found.headline, *found.groups) for name in names} <= set(found.metric)
    assert set(found.details) <= set(found.metric)


def test_there_are_at_least_200_worlds_held_out():
    suite = SUITES["whole-v0"]
    drawn = [(part.split, world) for part, scenario in prepare(suite) for world in suite.kind.worlds(part, scenario)]
    assert len(drawn) >= 200 and {split for split, _ in drawn} == {"test"}


def test_a_swap_takes_one_rule_and_a_rate_keeps_its_pacing():
    slow = PAPERS.replace(pacing=1.0)
    for control in PLAIN.rules:
        swapped = with_control(PLAIN, control, slow)
        assert {name for name, rule in swapped.rules.items() if rule is not PLAIN.rules[name]} == {control}
        assert swapped.pacing == (1.0 if control == "rate" else PLAIN.pacing) and swapped.is_local


GAIN = {"path": 4.0, "playout": 3.0, "rate": 2.0, "order": 1.0}


def rated(*names, suite, named, folder, threads, progress_bar):
    """Rows in which each control of the papers adds its gain to R, and nothing else to any metric."""
    systems = {name: load_system(name) for name in names} | named
    r = {name: 60.0 + sum(GAIN[key] for key, rule in PAPERS.rules.items() if one.rules[key] == rule) for name, one in systems.items()}
    return table_of_r(WHOLE, {name: ("rule", r[name] + np.arange(12)) for name in systems}, stratum="cubic")


def test_swaps_find_what_each_control_adds_and_takes_away(monkeypatch, tmp_path):
    monkeypatch.setattr("vcgym.leaderboard.swaps.play", rated)
    headings, rows = swaps("CALL-PLAIN", "CALL-PAPERS", TINY, tmp_path)
    assert headings == ["difference", "R", "video on time %", "utility /s", "taken %"]
    shared = {name for name in GAIN if PLAIN.rules[name] == PAPERS.rules[name]}  # the rate of both is GCC
    gain = {name: 0.0 if name in shared else value for name, value in GAIN.items()}
    found = {label: cells[0] for label, *cells in rows}
    assert found == {"the papers' rules less plain WebRTC call": cell(sum(gain.values()))} | {
        f"{sign} {name}": cell(value if sign == "+" else 0.0 - value) for sign in "+-" for name, value in gain.items()
    }


def cell(value):
    return f"{value:.2f} [{value:.2f}, {value:.2f}]"


@pytest.mark.long
def test_each_of_the_four_controls_decides(tmp_path):
    changed = {
        "path": RoundRobin(), "playout": PAPERS.playout._replace(quantile=0.3),
        "rate": PAPERS.rate._replace(growth=1.5), "order": PAPERS.order._replace(way=2.0),
    }  # fmt: skip
    systems = {name: PAPERS.replace(**{name: rule}) for name, rule in changed.items()}
    rows = play("CALL-PAPERS", suite=TINY, named=systems, folder=tmp_path).to_pylist()
    metrics = {
        name: [[row[metric] for metric in WHOLE.metric] for row in rows if row["system"] == name] for name in ("CALL-PAPERS", *systems)
    }
    assert [name for name in systems if str(metrics[name]) == str(metrics["CALL-PAPERS"])] == []
    assert all(row["taken_share"] > -0.5 and 0.0 <= row["video_on_time"] <= 1.0 for row in rows)


class FirstScheduler:
    """Sets only the order, and keeps the scheduler of the plain call."""

    reads, options = "features", {"path": PLAIN.path, "playout": PLAIN.playout, "rate": PLAIN.rate, "pacing": PLAIN.pacing}

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.zeros(len(observation), np.int64), state


@pytest.mark.long
def test_an_agent_that_acts_as_the_rules_has_their_rows(tmp_path):
    """So worlds and calls of the board are those of the environment with an uplink."""
    agent = local_agent(FirstScheduler(), TINY, prepare(TINY))
    rows = play("CALL-PLAIN", suite=TINY, named={"same": agent}, folder=tmp_path).to_pylist()
    of_each = [[[row[name] for name in WHOLE.metric] for row in rows if row["system"] == system] for system in ("CALL-PLAIN", "same")]
    assert np.array_equal(np.array(of_each[0], object).astype(str), np.array(of_each[1], object).astype(str))
    assert {row["kind"] for row in rows} == {"rule", "local"}
