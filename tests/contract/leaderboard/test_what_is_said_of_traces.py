"""What a board says of the user's own traces: with one path, that it compares no routers."""

import numpy as np
import pytest

from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.report.words.remarks import remarks, write_measured
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace

CARD = Card(name="one", description="flat", source="a test", licence="MIT", sha256="0" * 64, kind="synthesised", units="us")


@pytest.mark.parametrize("paths", [1, 2])
def test_a_board_of_one_path_says_that_it_compares_no_routers(tmp_path, paths):
    (tmp_path / "measured").mkdir()
    for path in range(paths):
        write_trace(Trace(f"p{path}", 10_000 * np.arange(6000), np.full(6000, 40_000), CARD), tmp_path / "measured" / f"p{path}.csv.gz")
    traces = str(tmp_path / "measured")
    scenario = Scenario("replay", "replay", 300, traces=traces)
    write_measured([(Part("replay", "replay", 1, "all", traces=(traces,)), scenario)], tmp_path)
    said = remarks(tmp_path)
    assert said[0] == f"Played: all of 1 x {paths} traces."
    assert ("One path: this board does not compare routers, all rules of path play alike." in said) == (paths == 1)
