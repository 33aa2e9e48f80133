"""Playing systems from Python: names or the user's own systems, on any suite, without scripts."""

import pytest

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.published import participant
from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite
from vcgym.leaderboard.play import play

CALLS = Suite("tiny", "v0", 200, (Part("table1", "paper", 1),))


def test_a_name_and_a_system_of_ones_own_play_the_same_worlds(tmp_path):
    rows = play("DRT-WM", suite=CALLS, named={"mine": System(Direct(), FixedLag(60.0))}, folder=tmp_path).to_pylist()
    worlds = {name: [(row["pair"], row["seed"]) for row in rows if row["system"] == name] for name in ("DRT-WM", "mine")}
    assert worlds["DRT-WM"] == worlds["mine"] and len(worlds["mine"]) == len(rows) // 2
    assert {row["system"]: row["kind"] for row in rows} == {"DRT-WM": "rule", "mine": "local"}
    files = sorted((tmp_path / "cells").iterdir())
    assert play("DRT-WM", suite=CALLS, folder=tmp_path).num_rows == len(rows) // 2
    assert sorted((tmp_path / "cells").iterdir()) == files  # nothing was played again


def test_progress_is_shown_on_request(tmp_path, capsys):
    play("DRT-WM", suite=CALLS, folder=tmp_path)
    assert "parts done" not in capsys.readouterr().out
    play("DRT-WM", suite=CALLS, folder=tmp_path, progress_bar=True)
    assert capsys.readouterr().out == "suite tiny-v0: parts done 1/1 before this run\n"


def test_a_system_with_four_controls_is_refused_before_anything_is_played(tmp_path):
    four = System(Direct(), FixedLag(60.0), FixedRate(500.0), Fifo(), pacing=2.5)
    with pytest.raises(ValueError, match="mine has path, playout, rate, order; allowed: systems with path and playout alone"):
        play(suite=CALLS, named={"mine": four}, folder=tmp_path)
    assert not (tmp_path / "cells").exists()


def test_the_origin_of_a_system_decides_its_kind():
    shipped = load_system("DRT-WM")
    assert participant("DRT-WM", shipped).kind == "rule"
    assert participant("DRT-WM", shipped.replace(is_local=True)).kind == "local"  # the same rules, given by the user
    assert not any(load_system(name).is_local for name in system_names())


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"suite = 'last'.*default"):
        play("DRT-WM", suite="last")
    with pytest.raises(ValueError, match=r"systems has 'SKY-NET'; allowed: .*DRT-WM"):
        play("SKY-NET", suite="correlated-v0")
    with pytest.raises(ValueError, match="systems is empty"):
        play(suite=next(iter(SUITES)))
