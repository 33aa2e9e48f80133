"""Names of cached results: each changes with all code that affects its content, and with no other code."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cached_names import asked_for, changed_by, is_same_with_other_docstrings
from typed import output_of

from lab.papers.reproduce import parts
from lab.studies.headroom import oracle_rows
from vcgym.agents.published.export import agent_of
from vcgym.agents.sweeps.search import Domain
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.playout.adaptive_quantile import AdaptiveQuantile
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.systems import System
from vcgym.leaderboard import cache
from vcgym.leaderboard.cache import cached, canonical, file_name
from vcgym.leaderboard.evaluation.cells import cells
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.kinds.sender import SENDER
from vcgym.leaderboard.evaluation.published import PublishedAgent
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite
from vcgym.leaderboard.tuning import tuning
from vcgym.leaderboard.tuning.tune_calls import CallTask, kinds_of
from vcgym.network.kernels.compiling.sources import SOURCES, closure, code_hash
from vcgym.network.scenarios import splits
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.predictors.published import shipped_network


def cell_of(system):
    part = Part("table1", "paper", 1)
    return plan(Suite("tiny", "v0", 100, (part,)), [(part, Scenario("table1", "paper", 100))], {"it": system})[0].file


def sender_cell_of(system):
    part = Part("rate", BOTTLENECK, 1, stratum="cubic")
    return plan(Suite("tiny", "v0", 0, (part,), SENDER), [(part, SendingScenario("rate"))], {"it": system})[0].file


def search_of_a_rule():
    space = {"playout.lag_ms": Domain(low=10.0, high=100.0)}
    task = CallTask(4, 4, 100, kinds_of({"table1": ["table1 paper"]}))
    return asked_for(tuning, tuning.tune_system, "it", PAIR, space, task, 4, 0, Path())


PAIR = System(Direct(), FixedLag(20.0))


def part_of_a_reproduction():
    part = next(parts.parts_of(parts.settings_of("table1")[0], 1, 100))
    return asked_for(parts, parts.calls_of, part, {"it": PAIR}, Path(), 1)


def forecasts_of_a_reproduction():
    part = next(parts.parts_of(parts.settings_of("table1")[0], 1, 100))
    return asked_for(parts, parts.forecasts_of, part, System(VCRoute(predictor=shipped_network()), WMJitter()), Path(), 1)


def oracles_of_a_world():
    scenario = Scenario("table1", "paper", 100)
    with splits.unlock_test_split():
        draw = scenario.draw("test", 0)
    identity = {"suite": "tiny", "suite_version": "v0", "pair": draw.pair, "seed": 0, "system": "it"}
    return asked_for(oracle_rows, oracle_rows.oracle_rows, oracle_rows.Drawn(scenario, draw, identity), {"it": PAIR}, Path())


AGENT = PublishedAgent(agent_of, (("card.json", b"{}"),))

USERS = {
    "rule": (
        lambda: cell_of(PAIR),
        {"leaderboard.results.call_metrics", "leaderboard.results.cdf", "leaderboard.evaluation.kinds.paths",
         "leaderboard.evaluation.cells.playing", "network.playout.player",
         "baselines.path.direct", "baselines.playout.fixed_lag", "network.scenarios.paths.linked", "leaderboard.evaluation"},
        {"agents.published.export", "baselines.path.via", "leaderboard.evaluation.kinds.sender"},
    ),
    "agent": (
        lambda: cell_of(AGENT),
        {"agents.published.export", "agents.networks.policy", "envs.environments.call", "leaderboard.results.call_metrics"},
        {"baselines.path.via", "leaderboard.evaluation.kinds.sender"},
    ),
    "sender": (
        lambda: sender_cell_of(System(GccWebrtc(), Fifo(), pacing=2.5)),
        {"leaderboard.evaluation.kinds.sender", "baselines.rate.gcc.trend",
         "network.bottleneck.queue"},
        {"baselines.rate.fixed_rate", "leaderboard.evaluation.kinds.paths"},
    ),
    "sending agent": (
        lambda: sender_cell_of(replace(AGENT, env="vcgym/Rate-v1", arguments=(("order", Fifo()),))),
        {"leaderboard.evaluation.kinds.sender", "agents.networks.policy", "envs.environments.rate",
         "leaderboard.results.sender_metrics"},
        {"baselines.rate.fixed_rate", "leaderboard.evaluation.kinds.paths"},
    ),
    "search": (
        search_of_a_rule,
        {"leaderboard.tuning.tune_calls", "agents.sweeps.search", "envs.call.loop", "baselines.playout.fixed_lag"},
        {"baselines.path.via", "leaderboard.report.words.sentences"},
    ),
    "part of a reproduction": (
        part_of_a_reproduction,
        {"leaderboard.results.call_metrics", "lab.papers.vcroute.outcomes", "leaderboard.results.cdf", "baselines.path.direct"},
        {"baselines.path.via", "lab.papers.reproduce.page"},
    ),
    "forecasts of a reproduction": (
        forecasts_of_a_reproduction,
        {"lab.papers.vcroute.forecasts", "leaderboard.forecasts.logging_router", "predictors.mlp", "baselines.path.vcroute.vcroute"},
        {"baselines.path.via", "lab.papers.reproduce.page"},
    ),
    "oracles": (
        oracles_of_a_world,
        {"lab.studies.oracles.joint", "lab.studies.headroom.oracle_rows", "leaderboard.results.call_metrics", "baselines.path.direct"},
        {"baselines.path.via", "lab.studies.headroom.run"},
    ),
}  # fmt: skip
NEVER = {"leaderboard.report.page.tables", "leaderboard.report.board", "scripts.leaderboard", "lab.bench.steps"}


@pytest.mark.long
@pytest.mark.parametrize("user", USERS)
def test_a_name_follows_the_code_that_decides_and_no_other(user):
    name, decides, does_not = USERS[user]
    changes = changed_by(name)
    assert decides - changes == set()
    assert changes & (NEVER | does_not) == set()


@pytest.mark.parametrize("user", USERS)
def test_docstrings_and_comments_change_no_name(user):
    assert is_same_with_other_docstrings(USERS[user][0])


PLAY = """
import json, sys
from vcgym.{first} import {one}
from vcgym.{second} import {other}
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.cells import playing
from vcgym.leaderboard.evaluation.cells.cells import Batch, Cell
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import Rules
from vcgym.leaderboard.evaluation.kinds.{kinds} import {kind}
part = Part({part})
scenario = {kind}.open(part, 100)
batch = Batch("tiny", "v0", 100, part, {kind}.card(scenario), tuple({kind}.worlds(part, scenario)))
cell = Cell("it", Rules(System({one}(), {other}({argument}), pacing={pacing}), 0), batch, {kind})
playing.play_cells({{cell.file: cell}}, 1)
roots = playing.__name__, type({kind}).__module__, "vcgym.{first}", "vcgym.{second}"
print(json.dumps([roots, [name for name in sys.modules if name.startswith("vcgym.")]]))
"""
PATHS_PLAY = {
    "first": "baselines.path.direct", "one": "Direct", "second": "baselines.playout.fixed_lag", "other": "FixedLag", "argument": "20.0",
    "kinds": "paths", "kind": "PATHS", "part": "'table1', 'paper', 1", "pacing": None,
}  # fmt: skip
SENDER_PLAY = {
    "first": "baselines.rate.fixed_rate", "one": "FixedRate", "second": "baselines.order.fifo", "other": "Fifo", "argument": "",
    "kinds": "sender", "kind": "SENDER", "part": "'rate', 'bottleneck', 1, stratum='cubic'", "pacing": 2.5,
}  # fmt: skip


@pytest.mark.parametrize("played", [PATHS_PLAY, pytest.param(SENDER_PLAY, marks=pytest.mark.long)], ids=["rule", "sender"])
def test_the_closure_holds_all_that_a_process_loads_that_plays_and_imports_nothing_else(played):
    roots, loaded = json.loads(output_of(PLAY.format(**played)))
    assert len(loaded) > 50
    # Folders of files; what registers ids or a stage at any start and plays nothing.
    beside = {"vcgym.conf", "vcgym.data", "vcgym.gymnasium_ids", "vcgym.conference", "vcgym.conference.stage"}
    assert set(loaded) - closure(roots).keys() <= beside


def table():
    return pa.table({"x": [1, 2]})


def test_what_is_cached_is_not_made_again(tmp_path):
    made = []

    def make():
        made.append(1)
        return table()

    assert [cached(tmp_path, (1, "a"), make) for _ in range(2)] == [table(), table()]
    assert cached(tmp_path, (1.0, "a"), make) == table()
    assert len(made) == len(list(tmp_path.iterdir())) == 2


def test_a_broken_file_is_named_in_one_line(tmp_path):
    cached(tmp_path, (1,), table)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"^.*\.parquet is not a complete cell file; delete it to recompute \(.*\)$"):
        cached(tmp_path, (1,), table)


def test_a_plug_in_counts_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text("from stranger_help import SIZE\n")
    (tmp_path / "stranger_help.py").write_text("SIZE = 1\n")
    metadata = tmp_path / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[vcgym.scenarios]\nstrange = stranger:Strange\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = file_name(("strange",), cache.__name__), file_name(("other",), cache.__name__)
    monkeypatch.setitem(SOURCES, "stranger_help", b"SIZE = 2\n")
    code_hash.cache_clear()
    after = file_name(("strange",), cache.__name__), file_name(("other",), cache.__name__)
    assert after[0] != before[0] and after[1] == before[1]


def test_versions_count(monkeypatch):
    before = file_name((1,), cache.__name__)
    monkeypatch.setattr(np, "__version__", "0.0")
    assert file_name((1,), cache.__name__) != before


LONG = np.arange(5000.0)
BENT = np.where(np.arange(5000) == 2500, -1.0, LONG)  # differs where a printed array says "..."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FixedLag(20.0), FixedLag(20.000001)),
        (AdaptiveQuantile(window=5), AdaptiveQuantile(window=6)),
        ((1,), (1.0,)),
        ((b"1",), ("1",)),
        ((LONG,), (BENT,)),
        (np.zeros(2, [("a", "i4")]), np.zeros(2, [("b", "i4")])),
        ({"a": [1]}, {"a": [2]}),
        ([1], (1,)),
        (Direct, FixedLag),
        (cells.failed, cells.failure_of),
    ],
    ids=range(10),
)
def test_what_differs_is_described_apart(one, other):
    assert canonical(one) == canonical(one) != canonical(other)


def test_mappings_are_described_in_any_order():
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [object(), {1, 2}, lambda: 0, np.array([None])], ids=["object", "set", "lambda", "objects"])
def test_what_cannot_be_described_is_refused(value):
    with pytest.raises(TypeError, match=r"a result follows from .*; allowed: numbers"):
        canonical((value,))


def test_a_module_without_a_file_is_refused():
    with pytest.raises(LookupError, match="module sys has no source file"):
        closure(["sys"])
