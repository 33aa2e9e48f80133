"""Compiling ahead: each kind of system is compiled once, in one process."""

import pytest

from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation import compile_ahead as ahead

NAMES = ["DRT-WM", "GRD-WM", "DRT-BF", "RR-WM", "RND-WM"]


class Child:
    """A process that has compiled what it was given."""

    def __init__(self, share):
        for mark, _ in share:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()

    def wait(self):
        """Return at once."""


@pytest.fixture
def shares(monkeypatch, tmp_path):
    """Return the shares that processes are given, in order, the drawing of worlds as None."""
    given = []

    def start(share):
        given.append([system for _, system in share])
        return Child(share)

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ahead, "_start", start)
    monkeypatch.setattr(ahead, "_compile_worlds", lambda: given.append(None))
    return given


def test_every_kind_is_compiled_once_and_the_first_before_the_others(shares):
    systems = [load_system(name) for name in NAMES]
    slower = systems[0].replace(playout=systems[0].playout._replace(start_lag_ms=90.0))
    ahead.compile_ahead([*systems, slower], 2)
    assert shares[1] is None, "the first system beside the worlds"
    first, *others = (share for share in shares if share is not None)
    assert [system.path for system in first] == [systems[0].path]
    assert [len(share) for share in others] == [2, 2]
    kinds = [(type(one.path), type(one.playout)) for share in (first, *others) for one in share]
    assert sorted(map(str, kinds)) == sorted(str((type(one.path), type(one.playout))) for one in systems)


def test_what_was_compiled_before_is_left_out(shares):
    systems = [load_system(name) for name in NAMES]
    ahead.compile_ahead(systems, 2)
    shares.clear()
    ahead.compile_ahead(systems, 2)
    assert shares == []


def test_one_process_and_few_systems_compile_when_they_play(shares):
    systems = [load_system(name) for name in NAMES]
    ahead.compile_ahead(systems, 1)
    ahead.compile_ahead(systems[: ahead.FEWEST - 1], 2)
    assert shares == []


def test_a_loop_is_compiled_without_a_world(monkeypatch, tmp_path):
    played = []

    class Batch:
        def start(self, row, draw, history):
            played.append(history.shape)

        def play_loaded(self, rows):
            played.append(len(rows))

    monkeypatch.setattr(ahead, "batches_together", lambda *_, **__: [Batch()])
    mark = tmp_path / "compiled" / "mark"
    ahead._compile([(mark, load_system("DRT-WM"))])
    assert mark.exists()
    assert played == [(5, 3), 0], "a history is given, and no session is played"
