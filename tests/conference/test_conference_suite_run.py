"""A suite of conferences from worlds to board, as `run_suite` plays it, and what its listeners hear."""

import numpy as np
import pytest

from vcgym.baselines.systems import load_systems
from vcgym.conference.board.kind import CONFERENCE
from vcgym.conference.env.listening import CALL_SLOTS, ratings
from vcgym.conference.network.network import LOGGED
from vcgym.conference.network.scenario import ConferenceScenario
from vcgym.leaderboard.evaluation.participants import all_participants
from vcgym.leaderboard.evaluation.published import LocalAgent
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.results.files import read_results
from vcgym.network.playout.quality import rating

SUITE = Suite("tiny", "v0", 0, (Part("conference", "conference", 2, split="validation", stratum="four-sites"),), CONFERENCE)
PACKET_US = 20_000
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conference")
    systems = load_systems(["CELERITY", "SIMULCAST", "oracle_trees"])
    run_suite(SUITE, prepare(SUITE), systems, folder, lambda done, note: None)
    return folder


def test_rows_are_within_what_the_optimum_allows(folder):
    rows = {(row["system"], row["seed"]): row for row in read_results(folder / "results.parquet").to_pylist()}
    assert len(rows) == 6
    for (system, seed), row in rows.items():
        assert 0.2 < row["share"] < 1.0
        assert row["kind"] == ("oracle" if system == "oracle_trees" else "rule")
        assert row["utility"] < rows["oracle_trees", seed]["utility"] + 1e-9
        assert 0.0 < row["r_p5"] <= row["r"] < 93.2
        assert row["recovery_s"] <= 30.0
    assert all(rows["oracle_trees", seed]["share"] == pytest.approx(0.95, abs=0.01) for seed in (0, 1))


def test_the_page_ranks_all_but_the_oracle(folder):
    board = (folder / "leaderboard.md").read_text(encoding="utf-8")
    assert "CELERITY" in board and "| oracle_trees |" not in board
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "hindsight" in page and "one party each in Los Angeles" in page
    assert "Trees and link loads of CELERITY" in page and "data:image/png;base64,iVBOR" in page


def test_a_system_of_rules_plays_and_another_agent_is_refused():
    own = load_systems(["CELERITY"])["CELERITY"]
    assert all_participants(SUITE, {}, None, {"mine": own}) == {"mine": own}
    with pytest.raises(ValueError, match=r"agents has \['mine'\]; allowed on suite tiny-v0: systems with trees"):
        all_participants(SUITE, {}, None, {"mine": LocalAgent(None, "vcgym/Call-v1", ())})


@pytest.mark.parametrize("kind", ConferenceScenario.kinds)
def test_a_kind_has_the_parties_of_its_name_and_another_world_for_each_seed(kind):
    scenario = ConferenceScenario()
    one, other = (scenario.draw("validation", seed, kind) for seed in (0, 1))
    assert len(one.topology.parties) == int(kind.partition("-")[2]) if kind[-1].isdigit() else 4
    assert one.seed != other.seed and one == scenario.draw("validation", 0, kind)
    assert one.changes_s()[0] == 0.0 and len(one.changes_s()) >= 3


def arrivals(delay_us, gap=()):
    """Session 0 heard by party 1, and session 1 by party 0, `delay_us` after each packet was created; those of `gap` are lost."""
    packets = 2 * CALL_SLOTS * 10_000 // PACKET_US
    log = np.zeros((2, packets), LOGGED)
    log["session"], log["receiver"] = np.array([[0], [1]]), np.array([[1], [0]])
    log["number"], log["created_us"] = np.arange(packets), np.arange(packets) * PACKET_US
    log["arrived_us"] = log["created_us"] + delay_us
    kept = ~np.isin(log["number"], list(gap)) | (log["session"] == 1)
    return log[kept], np.array([packets, packets])


def test_a_listener_hears_the_delay_of_its_stream():
    """A slot waits 10 to 20 ms for its packet; the player adds its own margin to the 100 ms of the tree."""
    found = ratings(*arrivals(100_000), 60.0)
    assert np.isnan(found[[0, 1], [0, 1]]).all()
    assert rating(190.0, 0.0) < found[0, 1] < rating(110.0, 0.0)
    assert found[0, 1] == found[1, 0]


def test_what_is_lost_of_one_stream_costs_its_listener_alone():
    whole, holed = (ratings(*arrivals(100_000, gap), 60.0) for gap in ((), range(2000, 3000, 10)))
    assert holed[0, 1] < whole[0, 1] - 5.0
    assert holed[1, 0] == whole[1, 0]
    with pytest.raises(ValueError, match=r"seconds = 59\.0 of a conference with listeners; allowed: 60 or more"):
        ratings(*arrivals(100_000), 59.0)
