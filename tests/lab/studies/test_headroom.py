"""From a leaderboard run to its headroom: oracles on its worlds, table and page; finished worlds are not repeated."""

import pytest

from lab.studies.headroom.oracle_rows import hindsight_row
from lab.studies.headroom.run import HEADROOM, worlds, write_headroom
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite, prepare
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.results import files as results
from vcgym.network.traces.catalogue import shipped

pytestmark = pytest.mark.long  # plays, or trains

SUITE = Suite("mini", "v0", 600, (Part("wonderproxy", "correlated", 1), Part("table1", "paper", 1)))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("headroom")
    systems = load_systems(["DRT-WM", "VIA-WM", "DRT-FIX"])
    run_suite(SUITE, prepare(SUITE), systems, folder / "run", lambda done, note: None)
    played = results.read(results.RESULTS, folder / "run" / "results.parquet")
    references = {name: systems[name] for name in ("DRT-WM", "VIA-WM")}

    def write(threads):
        return write_headroom(folder / "run", worlds(played), references, folder / "kept", threads, lambda done, note: None)

    return folder / "run", played, write, write(2)


def test_every_world_has_its_oracles_and_no_system_is_above_the_unlimited_one_on_average(written):
    folder, played, *_ = written
    oracles = results.read(results.RESULTS, folder / "oracles.parquet").to_pylist()
    assert {row["kind"] for row in oracles} == {"oracle"}
    wanted = {"oracle_informed", "oracle_joint_6", "oracle_routing_VIA-WM", "oracle_playout_DRT-WM"}
    assert {row["system"] for row in oracles} >= wanted
    best = {(row["scenario"], row["pair"], row["seed"]): row["r"] for row in oracles if row["system"] == "oracle_joint_any"}
    room = [best[row["scenario"], row["pair"], row["seed"]] - row["r"] for row in played.to_pylist()]
    assert len(room) == 3 * len(best)
    assert sum(room) > 0.0


def test_rooms_are_differences_to_the_best_published(written):
    rows = results.read(HEADROOM, written[0] / "headroom.parquet").to_pylist()
    cells = {(row["mode"], row["stratum"]) for row in rows}
    assert ("paper", "all") in cells
    for cell in cells:
        found = {row["what"]: row for row in rows if (row["mode"], row["stratum"]) == cell}
        best = found["best published"]
        assert best["system"] in ("DRT-WM", "VIA-WM")
        assert found["best tuned rule"]["system"] == "DRT-FIX"
        assert found["room"]["r"] == pytest.approx(found["joint k = 6"]["r"] - best["r"])
        assert found["room, playout"]["system"] == f"oracle_playout_{best['system']}"
        assert found["joint k = 0"]["r"] <= found["joint k = 6"]["r"] + 0.05


def test_a_second_run_reads_what_is_there_and_gives_the_same_bytes(written, monkeypatch):
    folder, _, write, report = written
    before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
    monkeypatch.setattr("lab.studies.headroom.oracle_rows.see", None)  # nothing may be made again
    assert write(1) == report
    assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before
    assert "## Suite mini-v0, mode correlated" in (folder / "headroom.md").read_text()


def test_the_run_has_anchored_scores_from_then_on(written):
    folder, played, _, report = written
    for board in boards(results.read_with_oracles(folder)):
        assert board.axis.zero in ("DRT-WM", "VIA-WM")
        assert board.axis.scores["oracle_joint_6"].value == pytest.approx(100.0) or not board.axis.has_headroom
        assert {line.system for line in board.lines} == {"DRT-WM", "VIA-WM", "DRT-FIX"}
    assert "100 = oracle_joint_6" in (folder / "leaderboard.md").read_text()
    assert "% of attainable" in report.read_text()
    before = (folder / "leaderboard.md").read_bytes()
    run_suite(SUITE, prepare(SUITE), load_systems(["DRT-WM", "VIA-WM", "DRT-FIX"]), folder, lambda done, note: None)
    assert (folder / "leaderboard.md").read_bytes() == before  # a run that goes on keeps its oracles
    assert results.read(results.RESULTS, folder / "results.parquet").equals(played)


def test_oracles_of_other_worlds_and_of_a_part_of_a_board_are_left_out(written, tmp_path):
    folder, played, _, _ = written
    made = results.read(results.RESULTS, folder / "oracles.parquet").to_pylist()
    worlds_made = {(row["mode"], row["pair"], row["seed"]) for row in made}
    (tmp_path / "results.parquet").write_bytes((folder / "results.parquet").read_bytes())
    results.write(results.RESULTS, [row | {"packets": row["packets"] + 1} for row in made], tmp_path / "oracles.parquet")
    assert results.read_with_oracles(tmp_path).equals(played)
    one = next(world for world in sorted(worlds_made) if world[0] == "paper")
    lacking = [row for row in made if (row["mode"], row["pair"], row["seed"]) != one]
    results.write(results.RESULTS, lacking, tmp_path / "oracles.parquet")
    correlated, paper = boards(results.read_with_oracles(tmp_path))
    assert correlated.axis is not None and paper.axis is None


def test_a_run_of_the_default_suite_has_the_shipped_hindsight(tmp_path):
    ships = results.read(results.RESULTS, shipped() / results.HINDSIGHT)
    suite = SUITES["default"]
    played = {(part.mode, pair, seed) for part, scenario in prepare(suite) for pair, seed in suite.kind.worlds(part, scenario)}
    assert {tuple(row) for row in zip(*(ships[name].to_pylist() for name in ("mode", "pair", "seed")), strict=True)} == played
    (again,) = map(hindsight_row, worlds(ships.slice(0, 1)))
    assert again["r"] == pytest.approx(ships["r"][0].as_py(), abs=1e-9)
    results.write(results.RESULTS, [row | {"system": "DRT-WM", "kind": "rule"} for row in ships.to_pylist()], tmp_path / "results.parquet")
    found = results.read_with_oracles(tmp_path)
    assert found.num_rows == 2 * ships.num_rows and set(found["system"].to_pylist()) == {"DRT-WM", "oracle_joint_6"}
