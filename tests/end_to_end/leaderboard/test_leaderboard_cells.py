"""An evaluation in cells: finished cells are never replayed, changed ones always, and results do not depend on the playing process."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation import evaluate as evaluation
from vcgym.leaderboard.evaluation.cells import playing
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.published import LOGGED_FORM, PublishedAgent
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.report.words.remarks import remarks

HERE = str(Path(__file__).parent)
SUITE = Suite("tiny", "v0", 300, (Part("wonderproxy", "correlated", 8), Part("table1", "paper", 2)))
FILES = ("results.parquet", "cdf.parquet")  # the page follows from them


def published(load, *files):
    """An agent of the module `mortal`, which Ray workers find through PYTHONPATH."""
    return PublishedAgent(getattr(importlib.import_module("mortal"), load), files, arguments=tuple(LOGGED_FORM.items()))


def every_system():
    lags = {f"lag {ms} ms": System(Direct(), FixedLag(float(ms))) for ms in range(20, 200, 20)}
    return {**lags, "still": published("load_still")}


def quiet(done, what):
    pass


def run(folder, systems=None, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vcgym.leaderboard.report.run.publish", lambda folder: folder)
        run_suite(SUITE, prepare(SUITE), systems or every_system(), folder, how.pop("tell", quiet), **how)
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module", autouse=True)
def module_of_agents():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")])))
        yield


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return run(tmp_path_factory.mktemp("serial"))


@pytest.fixture(autouse=True)
def ray_is_shut_down():
    yield
    assert not ray.is_initialized()


@pytest.fixture
def played(monkeypatch):
    """Names of the systems in the order in which they are played in this process."""
    names = []

    def play_cells(piece, threads):
        names.extend(cell.name for cell in piece.values())
        return playing.play_cells(piece, threads)

    monkeypatch.setattr(evaluation, "play_cells", play_cells)
    return names


def test_cells_are_cut_within_a_part_and_cover_each_world_once():
    planned = plan(SUITE, prepare(SUITE), every_system())
    sizes = [len(cell.batch.worlds) for cell in planned if cell.name == "still"]
    assert sizes == [32, 8, 8]
    assert len({cell.file for cell in planned}) == len(planned) == 3 * len(every_system())
    seen = [(cell.batch.part, world) for cell in planned if cell.name == "still" for world in cell.batch.worlds]
    assert len(seen) == len(set(seen)) == 48


def test_what_is_done_is_not_done_again(tmp_path, serial, played):
    assert run(tmp_path) == serial
    played.clear()
    assert run(tmp_path) == serial
    assert played == []
    gone = sorted((tmp_path / "cells").iterdir())[:5]
    for file in gone:
        file.unlink()
    assert run(tmp_path) == serial
    assert len(played) == len(gone)


def test_what_changed_is_done_again(tmp_path, serial, played, monkeypatch):
    run(tmp_path)
    played.clear()
    changed = every_system() | {"lag 20 ms": System(Direct(), FixedLag(20.5)), "still": published("load_still", ("weights", b"1"))}
    assert run(tmp_path, changed)["results.parquet"] != serial["results.parquet"]
    assert sorted(played) == sorted(3 * ["lag 20 ms", "still"])
    played.clear()
    monkeypatch.setattr("vcgym.leaderboard.cache.code_hash", lambda modules: "another")
    assert run(tmp_path) == serial
    assert len(played) == 3 * len(every_system())


def test_two_workers_give_the_same_bytes_also_when_one_is_lost(tmp_path, serial):
    assert run(tmp_path / "two", workers=2) == serial
    mark = tmp_path / "died"
    with_mortal = {**every_system(), "mortal": published("load_or_die", ("mark", str(mark).encode()))}
    outlived = run(tmp_path / "lost", with_mortal, workers=2)
    assert mark.exists()
    assert outlived == run(tmp_path / "again", with_mortal)


def test_an_agent_that_fails_is_left_out_and_not_tried_for_ever(tmp_path, serial):
    found = run(tmp_path, {**every_system(), "empty": published("load_nothing")}, workers=1)
    assert {name: found[name] for name in serial} == serial
    (line,) = remarks(tmp_path)
    assert "empty" in line and "no weights here" in line


@pytest.fixture
def cluster():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20})
    yield cluster
    cluster.shutdown()


def test_two_machines_give_the_same_bytes_and_one_may_be_lost(tmp_path, serial, cluster):
    second = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    assert run(tmp_path / "both", address=cluster.address) == serial
    told = []

    def lose(done, what):
        told.append(done)
        if done > 0 and second in cluster.list_all_nodes():
            cluster.remove_node(second, allow_graceful=False)

    assert run(tmp_path / "one", address=cluster.address, tell=lose) == serial
    assert second not in cluster.list_all_nodes()
    assert told[-1] == 3 * len(every_system())


KILLED = """
import os, signal, sys
from pathlib import Path
import test_leaderboard_cells as test

def tell(done, what):
    if done >= 10:
        os.kill(os.getpid(), signal.SIGKILL)

test.run(Path(sys.argv[1]), tell=tell, workers=int(sys.argv[2]))
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_run_goes_on(tmp_path, serial, played, workers):
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(workers)], env=os.environ, capture_output=True, check=False)
    assert killed.returncode == -9, killed.stderr.decode()
    assert not (tmp_path / "results.parquet").exists()
    done = len(list((tmp_path / "cells").iterdir()))
    assert 10 <= done < 3 * len(every_system())
    assert run(tmp_path) == serial
    assert len(played) == 3 * len(every_system()) - done


def test_a_worker_with_other_code_is_refused(monkeypatch):
    cell = plan(SUITE, prepare(SUITE), {"lag": System(Direct(), FixedLag(20.0))})[0]
    piece = {cell.file: cell}
    monkeypatch.setattr("vcgym.leaderboard.cache.code_hash", lambda modules: "another")
    with pytest.raises(ValueError, match=r"file of lag is .* on this worker, .* in the run; allowed: the same code and packages"):
        playing.play_cells(piece)
