"""vcgym tune with a tiny budget: a study and a system for each pair and sender; a second call reuses them."""

import gzip
import json

import numpy as np
import pytest
from typed import call

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.system_files import Tuned
from vcgym.baselines.systems import System, build_system
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import PairsConfig, SendersConfig, TuneConfig
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card, parse_carded
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace

CARD = Card(name="k", description="", source="", licence="", sha256="0" * 64, kind="synthesised", units="ms")

NO_PAIRS, NO_SENDERS = "pairs.modes=[]", "sending.senders=[]"
SMALL = ["systems=[DRT-FIX]", NO_SENDERS, NO_PAIRS, "trials=5", "worlds=6", "validation_worlds=4", "packets=300", "folder=found",
         "~kinds", "+kinds={one: [wonderproxy correlated, table1 correlated], other: [synthetic-9 paper]}"]  # fmt: skip
TASK = CallTask(6, 4, 300, kinds_of({"one": ["wonderproxy correlated", "table1 correlated"], "other": ["synthetic-9 paper"]}))
TASK_OF_PAIRS = CallTask(6, 4, 300, kinds_of({"wonderproxy": ["wonderproxy correlated"]}))
SENDERS = ["systems=[]", NO_PAIRS, "sending.senders=[FIXED]", "sending.scenarios=[rate]", "sending.trials=6", "sending.worlds=2",
           "sending.validation_worlds=3", "folder=found", "~sending.kinds",
           "+sending.kinds={rate: {steps: [rate steps], calls: [calls fixed]}}"]  # fmt: skip

PAIRS = ["systems=[]", NO_SENDERS, "pairs.routers=[DRT-WM,GRD-WM]", "pairs.receivers=[DRT-FIX,GRD-EWMAH]", "workers=1",
         "folder=found", "pairs.packets=300", "pairs.validation_worlds=4", "packets=300", "validation_worlds=3",
         "~kinds", "+kinds={one: [wonderproxy correlated, table1 correlated], other: [synthetic-9 paper, synthetic-9 correlated]}",
         "pairs.modes=[{mode: correlated, router: GRD-WM-tuned, receiver: DRT-EWMA-tuned, "
         "rounds: [{trials: 5, worlds: 6, left: 3}, {trials: 4, worlds: 8, left: 2}]}]"]  # fmt: skip


def tune(cwd, *overrides, small=SMALL):
    return call(cwd, "tune", *small, *overrides)


def saved(folder, name):
    """The file of a tuned system, its card checked."""
    return parse_carded(Tuned, name, (folder / "found" / f"{name}.json").read_text(encoding="utf-8"))


def tuned_in(found):
    """The system of a study of DRT-FIX, shipped or not."""
    system = System(Direct(), FixedLag(found.study["tuned"]["playout.lag_ms"]))
    assert found.system is None or build_system("DRT-FIX-tuned", found.system) == system
    return system


def test_rules_are_tuned_on_own_traces(tmp_path):
    """On their training part; the study names the traces by their hash, and the file by the scenario."""
    sent_us = np.arange(8000) * SLOT_US
    for name, level_ms in (("direct", 30.0), ("relay", 20.0)):
        delay_us = np.rint(1000.0 * (level_ms + np.random.default_rng(len(name)).gamma(2.0, 3.0, 8000))).astype(np.int64)
        write_trace(Trace(name, sent_us, delay_us, CARD, round_trip=False), tmp_path / "mine" / f"{name}.csv.gz")
    tune(tmp_path, "scenario=replay", "mode=replay", "traces=mine")
    found = saved(tmp_path, "DRT-FIX-replay-tuned")
    card = Scenario("replay", "replay", 300, traces=str(tmp_path / "mine")).layout.card
    assert found.study["budget"]["card"] == card and str(tmp_path) not in found.model_dump_json()
    task = CallTask(6, 4, 300, kinds_of({"replay": ["replay replay"]}), (str(tmp_path / "mine"),), card)
    system = tuned_in(found)
    assert found.study["validation"]["r_tuned"] == round(float(task.scores(system, "validation").mean()), 3)
    assert found.study["left_out"]["r"].keys() == {"replay replay"}
    steps = "".join(f"{n},{0.6 + n % 7}\n" for n in range(600))
    (tmp_path / "rates").mkdir()
    (tmp_path / "rates" / "mine.csv.gz").write_bytes(gzip.compress(f"t_s,mbps\n{steps}".encode()))
    tune(tmp_path, "sending.scenarios=[rate-replay]", "traces=rates", small=SENDERS)
    assert saved(tmp_path, "FIXED-rate-replay-tuned").study["budget"]["scenario"] == "rate-replay"


@pytest.mark.parametrize("changed", [{"traces": "mine"}, {"scenario": "replay", "mode": "replay"}])
def test_traces_go_with_a_scenario_that_plays_them(changed):
    sending, pairs = SendersConfig(senders=[], scenarios=["rate"]), PairsConfig(routers=[], receivers=[], starts=[], modes=[])
    with pytest.raises(ValueError, match=r"allowed: traces=FOLDER with scenario=replay mode=replay, or with .*rate-replay"):
        TuneConfig(systems=["DRT-WM"], sending=sending, pairs=pairs, **changed)


def test_a_search_is_kept_as_a_system_with_its_study(tmp_path):
    tune(tmp_path)
    found = saved(tmp_path, "DRT-FIX-tuned")
    study, system = found.study, tuned_in(found)
    assert system == System(Direct(), FixedLag(study["tuned"]["playout.lag_ms"]))
    assert study["published"] == {"playout.lag_ms": 60.0}
    assert study["budget"]["packets_in_all"] == 5 * 3 * 6 * 300
    for which, pair in (("r_published", System(Direct(), FixedLag(60.0))), ("r_tuned", system)):
        assert study["validation"][which] == round(float(TASK.scores(pair, "validation").mean()), 3)
    assert study["train"]["regret_tuned"] == study["train"]["regret_published"]  # none of five is better than 60 ms ...
    assert study["tuned"] == study["published"] and found.system is None  # ... so there is no tuned system
    assert study["left_out"]["r"].keys() == set(TASK.kinds.names)
    (searched,) = (tmp_path / "found" / "searched").iterdir()
    began_ns = searched.stat().st_mtime_ns
    assert "DRT-FIX: {'regret_published'" in (said := tune(tmp_path)) and "on kinds left out" in said
    assert [file.stat().st_mtime_ns for file in (tmp_path / "found" / "searched").iterdir()] == [began_ns]
    assert saved(tmp_path, "DRT-FIX-tuned") == found
    tune(tmp_path, "trials=3")  # another budget is another study
    assert len(list((tmp_path / "found" / "searched").iterdir())) == 2


def test_a_sender_is_tuned_for_a_scenario(tmp_path):
    tune(tmp_path, small=SENDERS)
    found = saved(tmp_path, "FIXED-rate-tuned")
    study = found.study
    sender = System(FixedRate(study["tuned"]["rate.rate_kbps"]), Fifo(), pacing=2.5)
    assert build_system("FIXED-rate-tuned", found.system) == sender
    assert study["budget"]["calls_in_all"] == 6 * 2 * 2 and study["budget"]["kinds"] == ["rate steps", "calls fixed"]
    task = SenderTask(2, 3, "rate", kinds_of({"steps": ["rate steps"], "calls": ["calls fixed"]}))
    score = float(task.scores(sender, "validation").mean())
    assert study["validation"]["utility_tuned"] == (round(score, 3) if abs(score) >= 1.0 else float(f"{score:.3g}"))
    assert study["train"]["regret_tuned"] < study["train"]["regret_published"]
    tune(tmp_path, small=SENDERS)
    assert len(list((tmp_path / "found" / "searched").iterdir())) == 1


def test_pairs_are_tuned_in_rounds(tmp_path):
    tune(tmp_path, small=PAIRS)
    table = json.loads((tmp_path / "found" / "pairs-wonderproxy-correlated.json").read_text(encoding="utf-8"))
    assert table["alone"].keys() == {"DRT", "GRD", "FIX", "EWMAH"}
    assert list(table["expected"].values()) == sorted(table["expected"].values(), reverse=True)
    assert table["expected"].keys() == {"DRT+FIX", "DRT+EWMAH", "GRD+FIX", "GRD+EWMAH"}
    assert list(table["pairs"])[:2] == [name for name, found in table["pairs"].items() if "validation" in found]
    assert table["pairs"].keys() == set(list(table["expected"])[:3])
    assert table["best"] == max(list(table["pairs"])[:2], key=lambda name: table["pairs"][name]["validation"])
    for name in list(table["pairs"])[:2]:
        found = saved(tmp_path, f"{name}-tuned")
        assert found.study["budget"]["trials"] == 9 and found.study["tuned"] == table["pairs"][name]["values"]
        assert found.study["left_out"]["r"].keys() == {"table1 correlated", "synthetic-9 correlated"}
        pair = build_system(name, found.system)
        assert found.study["validation"]["r_tuned"] == round(float(TASK_OF_PAIRS.scores(pair, "validation").mean()), 3)
    searched = list((tmp_path / "found" / "searched").iterdir())
    assert len(searched) == 4 + 3
    tune(tmp_path, small=PAIRS)
    assert sorted((tmp_path / "found" / "searched").iterdir()) == sorted(searched)
