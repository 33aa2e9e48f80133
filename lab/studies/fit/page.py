"""The fit report: ``python -m lab.studies.fit.page`` with VCGYM_DATA set writes lab/notes/fit.md."""

from pathlib import Path

from lab.studies.fit.report import FitRow, fit_report
from lab.studies.fit.time_structure import LAGS_MS, StructureRow, drawn_structure, measured_structure
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.report.template import render
from vcgym.network.traces.cards import data_root

SCENARIOS = ("wonderproxy", "world", "cloud")
WORLDS = (
    *(("correlated", "quiet", tau_ms) for tau_ms in (0.0, 50.0, 200.0, 1000.0)),
    ("correlated", "user-node", 200.0),
    ("paper", None, 0.0),
)

_FIT_HEAD = ("scenario", "law", "statistic", "links", "measured", "drawn", "error, median", "error, p90")


def fit_page(root: Path) -> str:
    """Return the whole page, from the measurements under `root`.

    Raises:
        DataError: a file is missing or broken.
    """
    fits = [row for name in SCENARIOS for row in fit_report(name, root)]
    measured, drawn = measured_structure(root), [drawn_structure(*world) for world in WORLDS]
    structure_head = ("series", *(f"{lag} ms" for lag in LAGS_MS), "overtaken", "spike mean ms", "spike p90 ms")
    return render(
        Path(__file__).with_name("fit.md.j2"),
        fits=markdown_table(_FIT_HEAD, map(_fit, fits), text=_FIT_HEAD),
        structure=markdown_table(structure_head, map(_structure, [*measured, *drawn]), text=structure_head),
    )


def _fit(row: FitRow) -> tuple[str, ...]:
    numbers = (f"{value:.3g}" if abs(value) < 100.0 else f"{value:.0f}" for value in row[4:])
    return row.scenario, row.law, row.statistic, str(row.links), *numbers


def _structure(row: StructureRow) -> tuple[str, ...]:
    correlation = (f"{value:.2f}" for value in row.autocorrelation)
    return row.series, *correlation, f"{row.overtaken:.2%}", f"{row.spike_mean_ms:.0f}", f"{row.spike_p90_ms:.0f}"


if __name__ == "__main__":
    (Path(__file__).parents[2] / "notes" / "fit.md").write_text(fit_page(data_root()), encoding="utf-8")
