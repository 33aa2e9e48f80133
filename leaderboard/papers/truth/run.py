"""Play the truth table and write its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from vcgym.agents.tracking.progress import OnProgress
from vcgym.baselines.systems import System
from vcgym.leaderboard.papers.truth.page import page
from vcgym.leaderboard.papers.truth.ranking import PICTURE, picture
from vcgym.leaderboard.papers.vcroute.outcomes import Setting, play
from vcgym.network.traces.plain_file import replace_file


def write_truth(
    chosen: Sequence[Setting], systems: Mapping[str, System], seeds: int, packets: int, threads: int, folder: Path, on_progress: OnProgress
) -> Path:  # fmt: skip
    """Play `systems` in each chosen setting, and write truth.md and its picture to `folder`.

    Args:
        chosen: settings of `vcgym.leaderboard.papers.vcroute.outcomes.settings`.
        systems: systems by name, those of `vcgym.leaderboard.papers.vcroute.statements.SYSTEMS`.
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
