"""Play the study of the decision value and write its page."""

import importlib.resources
from pathlib import Path

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.receivers.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.receivers.fixed_lag import FixedLag
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.papers.decision_value.drift import Drift, play_drift
from vcgym.leaderboard.papers.decision_value.outcomes import PARTS, label, play
from vcgym.leaderboard.papers.decision_value.page import page
from vcgym.leaderboard.papers.decision_value.participants import KINDS
from vcgym.network.scenarios.paths.stress import STRESS
from vcgym.network.traces.plain_file import replace_file
from vcgym.predictors.published import SHIPPED, read_card, shipped_network, shipped_table

PAGE = "decision_value.md"


def drifts(with_series: bool) -> list[Drift]:
    """Return the conditions: as in training, other receivers, every kind of stress, and measured satellite links."""
    found = [Drift("wonderproxy", "paper"), Drift("wonderproxy", "correlated")]
    found += [Drift("wonderproxy", "correlated", receiver=receiver) for receiver in (AdaptiveEwma(), FixedLag(200.0))]
    # After a step of 30 s there is no feedback to learn from.
    found += [Drift("stress", "correlated", stratum) for stratum in STRESS if stratum != "delay-step"]
    return [*found, Drift("leo", "replay")] if with_series else found


def parts(with_series: bool) -> list[Part]:
    """Return the parts to play; measured series only if available."""
    return [part for part in PARTS if with_series or part.mode != "replay"]


def write_decision_value(
    with_series: bool, seeds: int, drift_seeds: int, packets: int, threads: int, folder: Path, on_progress: OnProgress
) -> Path:  # fmt: skip
    """Play every reward in every kind and part, and every drift; write the page to `folder` and return its path.

    Args:
        with_series: true if measured series are available.
        seeds: see `DecisionValueConfig`.
        drift_seeds: see `DecisionValueConfig`.
        packets: see `DecisionValueConfig`.
        threads: see `DecisionValueConfig`.
        folder: folder for the page.
        on_progress: called with the number of finished `steps` and the next one.
    """
    network, done, results, found = shipped_network(), 0, {}, []
    for part in parts(with_series):
        for kind in KINDS:
            on_progress(done, f"{kind} in {label(part)}")
            results[part, kind] = play(part, kind, seeds, packets, threads)
            done += 1
    for drift in drifts(with_series):
        on_progress(done, f"drift: {drift.label}")
        found.append((drift, play_drift(drift, network, drift_seeds, packets)))
        done += 1
    on_progress(done, "intervals")
    card = read_card(Path(str(importlib.resources.files("vcgym.data"))) / SHIPPED)
    replace_file(folder / PAGE, page(results, found, packets, card.training, shipped_table()).encode())
    return folder / PAGE


def steps(with_series: bool) -> int:
    """Return the number of steps of the study."""
    return len(parts(with_series)) * len(KINDS) + len(drifts(with_series))
