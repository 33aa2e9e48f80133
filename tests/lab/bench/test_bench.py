"""A tiny benchmark: every figure is measured or reported as absent, and bench.json equals the table. Speed is not asserted."""

import io
import json
import math

import pytest
from pydantic import ValidationError
from rich.console import Console

from lab.bench import measure
from lab.bench.catalogue import CATALOGUE, bench
from lab.bench.command import BenchConfig
from lab.bench.measure import Effort, Measurement

pytestmark = pytest.mark.long  # plays, or trains

TINY = Effort(rounds=2, round_s=0.0, scale=0.002)
SLOW = {"cold_start_s"}  # compiles everything; its warm twin runs the same code
TWO_THREADS = {
    "drt_bf", "drt_wm", "via_wm", "world_paper", "world_correlated", "env_1pkt_64", "env_50pkt_64", "paper_evaluation_s", "learner_inside"
}  # fmt: skip


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    patched = pytest.MonkeyPatch()
    patched.delenv("VCGYM_DATA", raising=False)
    # The largest batch has no smaller self.
    patched.setitem(CATALOGUE, "env_1pkt_8192", lambda effort: [Measurement("env_1pkt_8192", 1.0, "steps/s", 1, 2, 0.0)])
    screen = io.StringIO()
    records = bench(folder, [name for name in CATALOGUE if name not in SLOW], TINY, Console(file=screen, width=150))
    patched.undo()
    return records, screen.getvalue(), json.loads((folder / "bench.json").read_text())


def test_every_figure_is_there_or_said_to_be_absent(taken):
    records, screen, _ = taken
    names = {record.name for record in records}
    for name in CATALOGUE.keys() - SLOW:
        assert name in names or f"{name} is absent: " in screen, name
        assert name in screen
    assert "world_replay is absent" in screen
    assert {record.name for record in records if record.threads == 2} >= TWO_THREADS


def test_a_record_is_complete(taken):
    records, _, stored = taken
    assert [Measurement(**one) for one in stored] == records
    for record in records:
        assert math.isfinite(record.value)
        assert record.value > 0.0 or record.name == "bytes_per_packet"
        assert record.threads in (1, 2)
        assert record.rounds in (1, TINY.rounds)
        assert 0.0 <= record.spread < 100.0
        assert record.unit in {
            "packets/s/core", "packet-hops/s/core", "simulated s/s/core",
            "packets/s", "path-slots/s", "us/slot", "steps/s", "decisions/s", "s", "ms", "ns", "x", "bytes"
        }  # fmt: skip
    assert len({(record.name, record.threads) for record in records}) == len(records)


def test_the_best_round_counts(monkeypatch):
    seconds = iter([9.0, 1.0, 4.0, 2.0, 8.0])
    now = [0.0]
    monkeypatch.setattr(measure.time, "thread_time", lambda: now[0])

    def run():
        now[0] += next(seconds)

    found = measure.rate("a", "packets/s/core", 100.0, run, Effort(rounds=3, round_s=0.0))
    assert found == Measurement("a", 50.0, "packets/s/core", 1, 3, 0.75)


def test_a_ratio_is_the_median_of_rounds_that_take_turns(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(measure.time, "thread_time", lambda: now[0])
    order = []

    def taking(name, seconds):
        left = iter(seconds)

        def run():
            order.append(name)
            now[0] += next(left)

        return run

    slow, fast = taking("slow", [9.0, 9.0, 6.0, 8.0, 30.0]), taking("fast", [9.0, 9.0, 1.0, 2.0, 3.0])
    found = measure.median_ratio("a", (10.0, slow), (20.0, fast), Effort(rounds=3, round_s=0.0))
    assert found[2:5] == ("x", 1, 3)
    assert (found.value, found.spread) == pytest.approx((12.0, 1.0))
    assert order[4:] == ["slow", "fast"] * 3


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValidationError, match=r"only has \['drt_vm'\]; allowed: drt_bf, drt_wm"):
        BenchConfig(only=["drt_wm", "drt_vm"])
