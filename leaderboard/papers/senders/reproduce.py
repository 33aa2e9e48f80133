"""Comparison of S1 and S4 with our results: every statement in every setting, with a verdict.

Neither paper describes its networks completely: S1's bottleneck rate and loss levels are only in pictures without numbers, S4's traces were
never published. So each statement is tested over a range of our settings:

    tcp    two Reno flows over 0.5 to 3 Mbit/s and 50 packets, drop-tail
    loss   0.5 to 10 % random loss, no other flow
    wifi   4 Mbit/s, one-way delay 25 ms, and a last hop with mean up-times of 0.2 to 20 s between outages of 10 to 80 ms

Each point has 30 runs of 60 s without the first 3 s, and 95 % intervals by Student's distribution over paired runs, as in S1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.rate.gcc.loss import HIGH, LOW
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import play_sender
from vcgym.leaderboard.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from vcgym.leaderboard.papers.judge import CANNOT, REPRODUCED, WORDS
from vcgym.leaderboard.papers.senders.statements import SendingStatement, Term, load_arithmetic, load_statements
from vcgym.leaderboard.papers.verdicts import OUTCOME, VERDICTS, verdict_cell, verdict_row
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.student import interval
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, constant
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels import rng
from vcgym.network.scenarios.bottleneck.sending_scenarios import LOSS, LOSSY_MBPS, RTT_MS, SEND_QUEUE, order_link
from vcgym.network.traces.plain_file import replace_file

RUNS = 30
MBPS = (0.5, 1.0, 1.5, 2.0, 3.0)
WORKS_MS = (200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0)
WIFI_MBPS = 4.0
ENCODER_KBPS = 2500.0  # S4

Played = Mapping[tuple[str, str, str], list[dict[str, float]]]
"""Setting's label, kind and sender to the metrics of its runs."""


def settings(traces: Mapping[float, CapacityTrace], runs: int = RUNS) -> dict[str, dict[str, dict[str, list[SharedLink]]]]:
    """Return worlds by setting, label and kind; there is one trace per Mbit/s."""
    seeds = [int(rng.stream_key(np.uint64(run), 3, rng.SCENARIO)) for run in range(runs)]
    tcp = {
        f"{mbps:g} Mbit/s": {
            f"rtt{rtt_ms:.0f}-q{length}": [order_link("tcp", seed, traces[mbps], rtt_ms, length) for seed in seeds]
            for rtt_ms in RTT_MS
            for length in SEND_QUEUE
        }
        for mbps in MBPS
    }
    lossy = traces[LOSSY_MBPS]
    loss = {
        f"{100 * share:g} % loss": {"": [order_link("loss", seed, lossy, loss=share, flows=0) for seed in seeds]}
        for share in LOSS[1:]
    }
    wifi = {
        f"works {works_ms:g} ms": {
            "": [
                SharedLink("wifi", seed, traces[WIFI_MBPS], works_ms=works_ms, queue_packets=300, rates_kbps=(300.0, 50.0, ENCODER_KBPS))
                for seed in seeds
            ]
        }
        for works_ms in WORKS_MS
    }
    return {"tcp": tcp, "loss": loss, "wifi": wifi}


def reproduce(senders: Mapping[str, System], folder: Path, on_progress: OnProgress, runs: int = RUNS) -> list[dict[str, Any]]:
    """Play, judge every statement, write sending_verdicts.parquet and sending_reproduction.md, and return the verdicts."""
    statements = load_statements()
    traces = {mbps: constant(mbps * 1e6) for mbps in sorted({*MBPS, LOSSY_MBPS, WIFI_MBPS})}
    grid = settings(traces, runs)
    wanted = {name: _senders_of(statements, name) for name in grid}
    played: dict[str, dict[tuple[str, str, str], list[dict[str, float]]]] = {name: {} for name in grid}
    done = 0
    for name, labels in grid.items():
        for sender in wanted[name]:
            on_progress(done, f"{sender}, {name}")
            done += 1
            for label, kinds in labels.items():
                for kind, links in kinds.items():
                    found = play_sender(senders[sender], links, list(traces.values()), 2 if name == "tcp" else 0).metrics
                    played[name][label, kind, sender] = found
    rows = [row for statement in statements for row in verdicts(statement, played.get(statement.setting, {}))]
    rows += arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "sending_verdicts.parquet")
    replace_file(folder / "sending_reproduction.md", page(rows).encode())
    return rows


def steps() -> int:
    """Return the number of progress reports of `reproduce`."""
    statements = load_statements()
    return sum(len(_senders_of(statements, name)) for name in ("tcp", "loss", "wifi"))


def systems_named() -> list[str]:
    """Return the names of the systems in the statements."""
    return sorted({term.sender for one in load_statements() for term in (*one.terms, *([one.share_of] if one.share_of else []))})


def _senders_of(statements: Iterable[SendingStatement], setting: str) -> list[str]:
    return sorted({term.sender for one in statements if one.setting == setting for term in one.terms})


def measured(statement: SendingStatement, played: Played, label: str) -> Estimate:
    """Return our value in one setting."""
    if statement.constant:
        expiry_ms = order_link("", 0, constant(1e6)).expiry_ms
        value = {"expiry_ms": expiry_ms, "loss_low": LOW, "loss_high": HIGH, "encoder_kbps": ENCODER_KBPS}[statement.constant]
        return Estimate(*[float(value)] * 3)
    if not statement.terms:
        return Estimate(*[float("nan")] * 3)
    total = np.sum([term.weight * _values(term, played, label) for term in statement.terms], axis=0)
    if statement.share_of is not None:
        reference = _values(statement.share_of, played, label).mean()
        total = total / reference if reference > 0.0 else np.full(len(total), np.nan)
    return interval([total])


def _values(term: Term, played: Played, label: str) -> np.ndarray:
    return np.array([run[term.metric] for run in played[label, term.kind, term.sender]])


def verdicts(statement: SendingStatement, played: Played) -> Iterable[dict[str, Any]]:
    """Yield the verdict of each played setting."""
    for label in dict.fromkeys(label for label, _, _ in played) or ("any",):
        ours = measured(statement, played, label)
        nothing = statement.share_of is not None and np.isnan(ours.value)
        cannot = (CANNOT, "what it is to be a share of is 0") if nothing else None
        yield verdict_row(statement, label, ours, statement.unit, is_input=bool(statement.constant), cannot=cannot)


def page(rows: list[dict[str, Any]]) -> str:
    """Return Markdown with the reproduced shares per setting, then every statement."""
    outcomes = [row for row in rows if row["origin"] == OUTCOME]
    labels = list(dict.fromkeys(row["mode"] for row in outcomes))
    verdicts = Counter((row["mode"], row["verdict"]) for row in outcomes)
    counts = [[label, *(str(verdicts[label, word]) for word in WORDS)] for label in labels]
    parts = ["# S1 and S4 beside ours\n", markdown_table(["setting", *WORDS], counts, ("setting",))]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in (row for row in rows if row["origin"] != ARITHMETIC):
        of_statement = [one["mode"] for one in rows if one["statement"] == row["statement"]]
        groups.setdefault(tuple(of_statement), []).append(row)
    for names, found in groups.items():
        lines = {row["statement"]: [f"{row['text']} ({row['source']})", row["published"]] for row in found}
        for row in found:
            lines[row["statement"]].append(verdict_cell(row, row["verdict"] != REPRODUCED))
        headings = ["statement", "published", *names]
        parts.append(markdown_table(headings, lines.values(), tuple(headings)))
    return "\n".join([*parts, arithmetic_table(rows)])
