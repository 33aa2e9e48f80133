"""python -m lab truth: test the claims of the paper in every kind of world; `folder=lab/notes` writes the page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field, field_validator
from rich.console import Console

from lab.papers.truth.page import PICTURE, page, picture
from lab.papers.vcroute.outcomes import Setting, play, settings
from lab.papers.vcroute.statements import SYSTEMS, claimed_scenarios
from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.tracking.progress import OnProgress, progress
from vcgym.baselines.systems import System, load_systems
from vcgym.network.traces.cards import DATA_VARIABLE
from vcgym.network.traces.plain_file import replace_file


class TruthConfig(Config):
    """Test of the paper's claims in every kind of world.

    Attributes:
        scenarios: scenarios of the claims; None: all.
        seeds: worlds per pair; with one, claims about a single pair have no interval.
        packets: length of the calls.
        threads: threads that share the calls; no effect on the results.
        data: folder of measured series; without it replay worlds are left out.
        folder: folder for truth.md and its picture.
    """

    scenarios: Annotated[list[str], Field(min_length=1)] | None = None
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 4
    packets: Annotated[int, Field(ge=1, le=1_000_000)] = 6000
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    data: DataConfig = Field(default_factory=DataConfig)
    folder: AbsolutePath = Path("outputs/truth")

    @field_validator("scenarios")
    @classmethod
    def _claimed(cls, scenarios: list[str] | None) -> list[str] | None:
        unknown = sorted(set(scenarios or ()) - set(claimed_scenarios()))
        if unknown:
            raise ValueError(f"scenarios has {unknown}; allowed: {', '.join(claimed_scenarios())}")
        return scenarios


def main(config: TruthConfig) -> None:
    """Play the calls and write the page."""
    config.data.export()
    console = Console()
    chosen = [setting for scenario in config.scenarios or claimed_scenarios() for setting in settings(scenario)]
    if not os.environ.get(DATA_VARIABLE):
        chosen = [setting for setting in chosen if setting.mode != "replay"]
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    systems = load_systems(list(SYSTEMS))
    with progress("truth table", len(chosen)) as on_progress:
        written = write_truth(chosen, systems, config.seeds, config.packets, config.threads, config.folder, on_progress)
    console.print(f"Truth table: {written}", soft_wrap=True)


def write_truth(
    chosen: Sequence[Setting], systems: Mapping[str, System], seeds: int, packets: int, threads: int, folder: Path, on_progress: OnProgress
) -> Path:  # fmt: skip
    """Play `systems` in each chosen setting, and write truth.md and its picture to `folder`.

    Args:
        chosen: settings of `lab.papers.vcroute.outcomes.settings`.
        systems: systems by name, those of `lab.papers.vcroute.statements.SYSTEMS`.
        seeds: worlds per pair; with fewer than two, claims about one pair have no interval.
        packets: length of the calls.
        threads: threads that share the calls; no effect on the results.
        folder: folder for both files.
        on_progress: called with the number of finished settings and the next one.

    Returns:
        The path of the page.
    """
    results: list[tuple[Setting, pa.Table]] = []
    for done, setting in enumerate(chosen):
        on_progress(done, f"{setting.scenario}, {setting.label}")
        results.append((setting, play(setting, systems, seeds, packets, threads)))
    on_progress(len(chosen), "verdicts")
    drawing = picture(results)
    if drawing:
        replace_file(folder / PICTURE, drawing.encode())
    replace_file(folder / "truth.md", page(results, seeds, packets).encode())
    return folder / "truth.md"
