"""python -m lab decision-value: measure what prediction is worth to routing; page: `folder=lab/notes`. See lab/conf/decision_value.yaml."""

import importlib.resources
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.decision_value.drift import Drift, play_drift
from lab.studies.decision_value.outcomes import PARTS, label, play
from lab.studies.decision_value.page import page
from lab.studies.decision_value.participants import KINDS
from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.tracking.progress import OnProgress, progress
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.leaderboard.evaluation.part import Part
from vcgym.network.scenarios.paths.stress import STRESS
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.network.traces.plain_file import replace_file
from vcgym.predictors.published import SHIPPED, read_card, shipped_network
from vcgym.scripts.console.command import command

PAGE = "decision_value.md"


class DecisionValueConfig(Config):
    """Worlds of the study, and the folder of its page.

    Attributes:
        seeds: worlds per pair, in units of `lab.studies.decision_value.outcomes.PARTS`.
        drift_seeds: worlds per pair of each drift.
        packets: length of the calls; under stress a relay fails after a fifth of a call at the earliest, and a router that stays on it
            fills the receiver's ring 4096 packets later.
        threads: threads that share the calls; no effect on the results.
        data: folder of measured series; without it replay worlds are left out.
        folder: folder for decision_value.md.
    """

    seeds: Annotated[int, Field(ge=1, le=10_000)] = 12
    drift_seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    packets: Annotated[int, Field(ge=100, le=5000)] = 5000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/decision_value")


@command("decision_value", DecisionValueConfig, LAB)
def main(config: DecisionValueConfig) -> None:
    """Play the study and write its page."""
    config.data.export()
    console, with_series = Console(), bool(os.environ.get(DATA_VARIABLE))
    if not with_series:
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    with progress("decision value", steps(with_series)) as on_progress:
        written = write_decision_value(
            with_series, config.seeds, config.drift_seeds, config.packets, config.threads, config.folder, on_progress
        )  # fmt: skip
    console.print(f"Decision value: {written}", soft_wrap=True)


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
    replace_file(folder / PAGE, page(results, found, packets, card.training).encode())
    return folder / PAGE


def steps(with_series: bool) -> int:
    """Return the number of steps of the study."""
    return len(parts(with_series)) * len(KINDS) + len(drifts(with_series))
