"""Rank a third-party router and rate controller on a third-party scenario and on a bottleneck; print the ranks and the played systems."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from vcgym.baselines.configured import rule_from
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.kinds.sender import SENDER
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite

PATHS = Suite("stranger", "v0", 300, (Part("two-roads", "paper", seeds=3, split="validation"),))
SENDERS = Suite("stranger-rate", "v0", 300, (Part("rate", BOTTLENECK, seeds=3, split="validation", stratum="wifi"),), SENDER)
ROUTERS = {
    "NEW-WM": System(rule_from({"_target_": "newest-best"}, "path"), WMJitter()),
    "DRT-WM": System(Direct(), WMJitter()),
}
RATES = {
    "HALF": System(rule_from({"_target_": "half-rate"}, "rate"), Fifo(), pacing=2.5),
    "FIXED": System(FixedRate(), Fifo(), pacing=2.5),
}
found = {}
for suite, systems in ((PATHS, ROUTERS), (SENDERS, RATES)):
    run_suite(suite, prepare(suite), systems, Path(suite.name), lambda done, note: None)
    rows = pq.read_table(Path(suite.name) / "results.parquet").to_pylist()
    found[suite.name] = {name: sum(row["system"] == name for row in rows) for name in systems}
print(json.dumps(found))  # noqa: T201
