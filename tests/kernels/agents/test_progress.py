"""Progress of long work: lines that are few without a terminal, a bar on one, and what an earlier run has left."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.sweeps import sweep
from vcgym.agents.sweeps.sweep import METRIC, agent_of, reports_of
from vcgym.agents.tracking import points, progress
from vcgym.agents.tracking.points import MetricPoint
from vcgym.live.call.stats import seconds_shown


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now_s)
    return clock


def test_the_first_and_the_last_report_are_lines_and_one_in_ten_seconds_between(capsys, clock):
    with progress.progress("parts done", 1000) as report:
        for done in range(1000):
            report(done, "[DRT-WM]" if done else progress.BEFORE)
            clock.now_s += 0.0625
        assert capsys.readouterr().out.splitlines() == [
            "parts done 0/1,000 before this run", *(f"parts done {done}/1,000 [DRT-WM]" for done in (160, 320, 480, 640, 800, 960))
        ]  # fmt: skip
    assert capsys.readouterr().out == "parts done 999/1,000 [DRT-WM]\n"


def test_the_last_report_comes_when_the_work_fails_too(capsys, clock):
    def work():
        with progress.progress("trials", None) as report:
            report(1, "")
            report(2, "best 0.5")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert capsys.readouterr().out == "trials 1\ntrials 2 best 0.5\n"


def test_a_terminal_gets_a_bar_with_the_note(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **options: Console(**options, file=shown, force_terminal=True, width=120))
    with progress.progress("parts done", 4) as report:
        report(2, "[DRT-WM] on world")
    assert "parts done" in shown.getvalue() and "50%" in shown.getvalue() and "[DRT-WM] on world" in shown.getvalue()


def test_a_call_shows_its_seconds(capsys, clock):
    with seconds_shown("playing", 25.0) as on_slot:
        for slot in range(2500):
            on_slot(slot)
            clock.now_s += 0.01
    assert capsys.readouterr().out.splitlines() == [f"playing: seconds {second}/25" for second in (0, 10, 20, 24)]


def test_a_resumed_sweep_says_what_is_there(tmp_path):
    config = TrainConfig(folder=tmp_path)
    assert sweep._before(config) == ""
    for name, steps in (("trial-00000", (512, 1024)), ("trial-00001", (512,)), ("trial-00002", ())):
        (tmp_path / "agents" / name).mkdir(parents=True)
        for step in steps:
            points.append(reports_of(config, name), MetricPoint({METRIC: 0.0}, step, 0))
    agent_of(config, "trial-00000").mkdir(parents=True)
    told = "before this run: 3 trials began, 1 of them left an agent, 1,536 transitions are not played again"
    assert sweep._before(config) == told
