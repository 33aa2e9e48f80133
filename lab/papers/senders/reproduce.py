"""Comparison of S1 and S4 with our results: every statement in every setting, with a verdict.

Neither paper describes its networks completely: S1's bottleneck rate and loss levels are only in pictures without numbers, S4's traces were
never published. So each statement is tested over a range of our settings:

    tcp    two Reno flows over 0.5 to 3 Mbit/s and 50 packets, drop-tail
    loss   0.5 to 10 % random loss, no other flow
    wifi   4 Mbit/s, one-way delay 25 ms, and a last hop with mean up-times of 0.2 to 20 s between outages of 10 to 80 ms

Each point has 30 runs of 60 s without the first 3 s, and 95 % intervals by Student's distribution over paired runs, as in S1.

For statements of S1 that are reproduced in none of these, one setting is changed, until one holds. With two TCP flows: another round trip
or room of the send queue than the statement's own, at any rate of the bottleneck; these calls are played anyway. With random loss: another
link, round trip or send queue at any loss; these are played in addition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lab.papers.arithmetic import ARITHMETIC, arithmetic_rows, arithmetic_table
from lab.papers.causes import WORLD, Experiment, causes_table, first_that_holds, never_held, shares_table, with_causes
from lab.papers.judge import CANNOT, REPRODUCED
from lab.papers.senders.statements import SenderTerm, SendingStatement, load_arithmetic, load_statements
from lab.papers.verdicts import OUTCOME, VERDICTS, verdict_cell, verdict_row
from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.rate.gcc.loss import HIGH, LOW
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.kinds.sender import play_sender
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, constant
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels import rng
from vcgym.network.scenarios.bottleneck.sending_scenarios import LOSS, LOSSY_MBPS, RTT_MS, SEND_QUEUE, order_link
from vcgym.network.traces.plain_file import replace_file

ENCODER_KBPS = 2500.0  # S4

Played = Mapping[tuple[str, str, str], list[dict[str, float]]]
"""Setting's label, kind and sender to the metrics of its runs."""


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


def _values(term: SenderTerm, played: Played, label: str) -> np.ndarray:
    return np.array([run[term.metric] for run in played[label, term.kind, term.sender]])


OTHER_LINKS: dict[str, tuple[float, float, int]] = {
    "a link of 1 Mbit/s": (1.0, 80.0, 5), "a round trip of 150 ms": (LOSSY_MBPS, 150.0, 5), "room for 32 packets": (LOSSY_MBPS, 80.0, 32),
}  # fmt: skip
"""Mbit/s, round trip in ms, and send queue in packets."""


def play_lossy(senders: Mapping[str, System], seeds: Sequence[int]) -> Played:
    """Play senders on `OTHER_LINKS` at each level of loss."""
    played = {}
    for name, (mbps, rtt_ms, send_queue) in OTHER_LINKS.items():
        trace = constant(mbps * 1e6)
        for loss in LOSS[1:]:
            links = [order_link("loss", seed, trace, rtt_ms, send_queue, loss, flows=0) for seed in seeds]
            for sender, system in senders.items():
                calls = play_sender(system, links).calls
                played[f"{name}, {100 * loss:g} % loss", "", sender] = [call.metrics for call in calls]
    return played


def experiments(statements: Iterable[SendingStatement], tcp: Played, lossy: Played) -> Iterator[Experiment]:
    """Yield an experiment per statement about random loss, or about one kind of calls beside TCP flows.

    Args:
        statements: statements to find a setting for.
        tcp: calls beside two TCP flows.
        lossy: result of `play_lossy`.
    """
    for statement in statements:
        kinds = {term.kind for term in statement.terms}
        if statement.setting == "loss":
            found = [(WORLD, label, measured(statement, lossy, label)) for label in dict.fromkeys(label for label, _, _ in lossy)]
            yield first_that_holds(statement, statement.unit, found)
        elif statement.setting == "tcp" and len(kinds) == 1:
            others = dict.fromkeys((kind, label) for label, kind, _ in tcp if kind not in kinds)
            changed = [(f"{kind}, {label}", measured(_with_kind(statement, kind), tcp, label)) for kind, label in others]
            yield first_that_holds(statement, statement.unit, [(WORLD, name, ours) for name, ours in changed])


def _with_kind(statement: SendingStatement, kind: str) -> SendingStatement:
    return statement.model_copy(update={"terms": tuple(term.model_copy(update={"kind": kind}) for term in statement.terms)})


RUNS = 30
MBPS = (0.5, 1.0, 1.5, 2.0, 3.0)
WORKS_MS = (200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0, 20_000.0)
WIFI_MBPS = 4.0


def seeds_of(runs: int) -> list[int]:
    """Return the seeds of the runs."""
    return [int(rng.stream_key(np.uint64(run), 3, rng.SCENARIO)) for run in range(runs)]


def settings(traces: Mapping[float, CapacityTrace], runs: int = RUNS) -> dict[str, dict[str, dict[str, list[SharedLink]]]]:
    """Return worlds by setting, label and kind; there is one trace per Mbit/s."""
    seeds = seeds_of(runs)
    tcp = {
        f"{mbps:g} Mbit/s": {
            f"rtt{rtt_ms:.0f}-q{length}": [order_link("tcp", seed, traces[mbps], rtt_ms, length) for seed in seeds]
            for rtt_ms in RTT_MS
            for length in SEND_QUEUE
        }
        for mbps in MBPS
    }
    lossy = traces[LOSSY_MBPS]
    loss = {f"{100 * share:g} % loss": {"": [order_link("loss", seed, lossy, loss=share, flows=0) for seed in seeds]} for share in LOSS[1:]}
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
                    calls = play_sender(senders[sender], links).calls
                    played[name][label, kind, sender] = [call.metrics for call in calls]
    rows = [row for statement in statements for row in verdicts(statement, played.get(statement.setting, {}))]
    on_progress(done, "experiments for what is not reproduced")
    missed = [statement for statement in statements if statement.id in never_held(rows)]
    lossy = play_lossy({name: senders[name] for name in _senders_of(missed, "loss")}, seeds_of(runs))
    rows = with_causes(rows, statements, load_arithmetic(), experiments(missed, played["tcp"], lossy)) + arithmetic_rows(load_arithmetic())
    write(VERDICTS, rows, folder / "sending_verdicts.parquet")
    replace_file(folder / "sending_reproduction.md", page(rows).encode())
    return rows


def steps() -> int:
    """Return the number of progress reports of `reproduce`."""
    statements = load_statements()
    return sum(len(_senders_of(statements, name)) for name in ("tcp", "loss", "wifi")) + 1


def systems_named() -> list[str]:
    """Return the names of the systems in the statements."""
    return sorted({term.sender for one in load_statements() for term in (*one.terms, *([one.share_of] if one.share_of else []))})


def _senders_of(statements: Iterable[SendingStatement], setting: str) -> list[str]:
    return sorted({term.sender for one in statements if one.setting == setting for term in one.terms})


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
    by_paper = shares_table(outcomes, lambda row: str(row["statement"])[:2])
    parts = ["# S1 and S4 beside ours\n", by_paper, shares_table(outcomes, lambda row: str(row["mode"]))]
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
    return "\n".join([*parts, causes_table(rows), arithmetic_table(rows)])
