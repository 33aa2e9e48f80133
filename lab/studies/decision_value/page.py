"""lab/notes/decision_value.md from results: the same bytes for the same results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from lab.studies.decision_value.drift import AS_TRAINED, CORRECTED, KIND, Drift
from lab.studies.decision_value.outcomes import label
from lab.studies.decision_value.participants import ABOUT, BASIS, KINDS, REFERENCE, REWARDS
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.report.table import markdown_table, signed
from vcgym.leaderboard.report.template import render
from vcgym.leaderboard.statistics import Estimate, Paired, difference, means, pair_worlds
from vcgym.predictors.published import Training

EVENT, CLOCKED, R = "event_end_to_end_delay_mean_ms", "clocked_end_to_end_delay_mean_ms", "r"
DECIMALS = {EVENT: 1, CLOCKED: 1, R: 2}


def page(
    results: Mapping[tuple[Part, str], pa.Table],
    drifts: Sequence[tuple[Drift, pa.Table]],
    packets: int,
    training: Training,
) -> str:
    """Return the whole page as Markdown.

    Args:
        results: results of each played part and each kind.
        drifts: results of each drift.
        packets: length of the calls.
        training: training data of the shipped network.
    """
    paired = {key: pair_worlds(found) for key, found in results.items()}
    headings = ("reward", "what teaches VCRoute")
    sections = [_summary(paired)]
    for (part, kind), found in paired.items():
        sections += [f"## {kind} in {label(part)} ({found.row.shape[1]} worlds)\n", _regret(found)]
    return render(
        Path(__file__).with_name("decision_value.md.j2"),
        reference=REFERENCE, basis=BASIS, packets=packets, modes=", ".join(training.modes), data=training.data_sha256[:12],
        rows=training.rows, kinds=ABOUT,
        rewards=markdown_table(headings, ([reward.name, reward.about] for reward in REWARDS), text=headings), sections=sections,
        drift_kind=KIND, drift=_drift(drifts),
    )  # fmt: skip


def _summary(paired: Mapping[tuple[Part, str], Paired]) -> str:
    """Return R relative to the baseline in every kind and part, as a word and a number."""
    labels = list(dict.fromkeys(label(part) for part, _ in paired))
    rows = []
    for kind in KINDS:
        for reward in REWARDS[1:]:
            found = {label(part): difference(p, R, reward.name, BASIS, False) for (part, of), p in paired.items() if of == kind}
            rows.append([kind, reward.name, *(_verdict(found[one]) for one in labels)])
    return f"R against {BASIS}.\n\n" + markdown_table(["kind", "reward", *labels], rows, text=("kind", "reward"))


def _regret(paired: Paired) -> str:
    found = {metric: means(paired, metric) for metric in (EVENT, CLOCKED, R, "path_changes", "concealed_share")}
    rows = []
    for reward in (reward.name for reward in REWARDS):
        cells = [f"{found[metric][reward].value:.{decimals}f}" for metric, decimals in DECIMALS.items()]
        regrets = [difference(paired, metric, reward, REFERENCE, False) for metric in DECIMALS]
        regrets[-1] = Estimate(-regrets[-1].value, -regrets[-1].high, -regrets[-1].low)  # R: more is better
        shown = [signed(found, decimals) for found, decimals in zip(regrets, DECIMALS.values(), strict=True)]
        both = [f"{cell} {regret}" for cell, regret in zip(cells, shown if reward != REFERENCE else [""] * 3, strict=True)]
        against = "" if reward == BASIS else _verdict(difference(paired, R, reward, BASIS, False))
        other = [f"{100 * found['concealed_share'][reward].value:.2f}", f"{found['path_changes'][reward].value:.1f}"]
        rows.append([reward, *(cell.strip() for cell in both), against, *other])
    headings = ["reward", "event ms, regret", "clocked ms, regret", "R, regret", f"R against {BASIS}", "concealed %", "path changes"]
    return markdown_table(headings, rows, text=("reward",))


def _drift(drifts: Sequence[tuple[Drift, pa.Table]]) -> str:
    rows = []
    for drift, found in drifts:
        paired = pair_worlds(found)
        cells = [drift.label]
        for metric, decimals in (("forecast_error_ms", 1), (R, 2)):
            average = means(paired, metric)
            cells += [f"{average[system].value:.{decimals}f}" for system in (AS_TRAINED, CORRECTED)]
            cells.append(signed(difference(paired, metric, CORRECTED, AS_TRAINED, False), decimals))
        rows.append(cells)
    headings = ["worlds", "error ms, as trained", "corrected", "difference", "R, as trained", "corrected", "difference"]
    return markdown_table(headings, rows, text=("worlds",))


def _verdict(found: Estimate) -> str:
    word = "better" if found.low > 0.0 else "worse" if found.high < 0.0 else "tied"
    return f"{word} {signed(found, 2)}"
