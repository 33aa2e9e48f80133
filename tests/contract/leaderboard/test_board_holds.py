"""A board never shrinks: a run of a few systems shows them among all that were played there before, as long as these still count."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation.cells import manifest
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.report.words.remarks import remarks

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "correlated", 2), Part("wonderproxy", "paper", 1)))
FILES = ("results.parquet", "cdf.parquet", "timeline.parquet", "report.html", "leaderboard.md")


def stays(level):
    return local_agent(lambda observation: np.tile([0, level], (len(observation), 1)), SUITE, prepare(SUITE), {"action": "relative"})


def run(folder, *names, suite=SUITE, **own):
    return run_suite(suite, prepare(suite), {**load_systems(list(names)), **own}, folder, lambda done, note: None)


def shown(folder):
    return sorted(set(pq.read_table(folder / "results.parquet")["system"].to_pylist()))


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    run(folder, "DRT-WM", "RR-WM", "GRD-WM", stay=stays(4))
    return folder


@pytest.fixture
def board(first_run, tmp_path):
    return shutil.copytree(first_run, tmp_path / "board")


def test_a_page_after_a_partial_play_has_every_system_and_the_same_bytes(board):
    before = {name: (board / name).read_bytes() for name in FILES}
    boards = run(board, "GRD-WM")
    assert {line.system for line in boards[0].lines} == {"DRT-WM", "RR-WM", "GRD-WM", "stay"}
    assert {name: (board / name).read_bytes() for name in FILES} == before


@pytest.mark.long
def test_a_run_of_another_system_adds_it(board):
    run(board, "RND-WM")
    assert shown(board) == ["DRT-WM", "GRD-WM", "RND-WM", "RR-WM", "stay"]


def test_a_method_of_ones_own_is_shown_later_and_replaced_by_its_next_version(board):
    files = set((board / "cells").glob("local-*"))
    before = pq.read_table(board / "results.parquet").filter(pq.read_table(board / "results.parquet")["system"].to_numpy() == "stay")
    run(board, stay=stays(7))
    after = pq.read_table(board / "results.parquet").filter(pq.read_table(board / "results.parquet")["system"].to_numpy() == "stay")
    assert len(after) == len(before) and after["r"] != before["r"]
    assert len(set((board / "cells").glob("local-*"))) == len(files) and not files & set((board / "cells").glob("local-*"))


def test_what_other_code_or_other_worlds_made_is_left_out_and_named(board, monkeypatch):
    run(board, "GRD-WM", suite=SUITE._replace(packets=190))
    assert shown(board) == ["GRD-WM"]
    assert remarks(board) == [f"Left out: DRT-WM, RR-WM, stay, which {manifest.STALE}."]
    named = manifest.file_name
    monkeypatch.setattr(manifest, "file_name", lambda *given: f"other-{named(*given)}")
    run(board, "DRT-WM")
    assert shown(board) == ["DRT-WM"]


@pytest.mark.long
def test_a_name_deleted_from_the_file_is_taken_off(board):
    names = json.loads((board / manifest.FILE).read_text())
    del names["RR-WM"]
    (board / manifest.FILE).write_text(json.dumps(names))
    run(board, "GRD-WM")
    assert shown(board) == ["DRT-WM", "GRD-WM", "stay"] and remarks(board) == []


def test_a_lost_cell_takes_its_system_off_and_names_it(board):
    lost = next(iter(json.loads((board / manifest.FILE).read_text())["RR-WM"].values()))
    (board / "cells" / lost).unlink()
    run(board, "GRD-WM")
    assert shown(board) == ["DRT-WM", "GRD-WM", "stay"]
    assert remarks(board) == [f"Left out: RR-WM, which {manifest.STALE}."]
