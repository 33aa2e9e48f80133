"""The page docs/fit.md: what the fit report says, as Markdown."""

from pathlib import Path

from vcgym.leaderboard.report.table import markdown_table
from vcgym.network.validation.report import FitRow, fit_report
from vcgym.network.validation.time_structure import LAGS_MS, StructureRow, drawn_structure, measured_structure

SCENARIOS = ("wonderproxy", "world", "cloud")
WORLDS = (
    *(("correlated", "quiet", tau_ms) for tau_ms in (0.0, 50.0, 200.0, 1000.0)),
    ("correlated", "user-node", 200.0),
    ("paper", None, 0.0),
)

_FIT_HEAD = ("scenario", "law", "statistic", "links", "measured", "drawn", "error, median", "error, p90")
_HEAD = """\
# How well the parameters fit

Made by `python -m vcgym.scripts.shipped.fit_report`; do not edit. Round-trip milliseconds, drawn from the worlds themselves; each
row is over all links: the median of what was measured, the median of what was drawn, and median and 90th percentile of the absolute error.
A burst is 30 pings a second apart (`cloud`: a run of 3600), its numbers are medians over bursts. The worst burst is the hour that the
two-day record implies if 3 of 48 hours were bad. Two days are ordinary and bad hours together, in the share fitted to each link."""

_STRUCTURE = """\
## Time structure

Autocorrelation by lag within windows of 10 s, share of packets overtaken by the next, and lengths of runs above a series' 95th percentile.
Measured are pings at 11-15 ms spacing over satellite access, as slots of 10 ms; drawn are the direct paths of the training pairs of
`wonderproxy`, 10 minutes each (`paper`: independent draws of the worst burst)."""

_MISFITS = """\
## What does not match

- Mode correlated fits the mean excess over the minimum and the largest ping of a burst. The deviation `mdev` is not fitted: what is drawn
  lies below it where a burst has one outlier, and above it where the lognormal is at its heaviest.
- Links whose largest ping is more than any lognormal allows get the heaviest one (log_sd = 2); their largest of 30 scatters widely.
- Mode paper draws a Beta law with the burst's mean and deviation. Where the largest ping is a lone outlier, that law hardly ever comes near
  it (`cloud`, `max of 3600`; `world`, two-day maxima).
- The share of bad hours is held within 1 and 3 of 48, and for most links one of these bounds decides. Then the two-day spread is met and
  the shift of the mean is not. The spread rests on few bad hours: drawn and measured two-day `sd` differ by tens of per cent.
- In the natural mix bad hours of different links are independent; measured badness sits mostly at places, so that the links of one place
  are bad together less often than they should be.
- Measured satellite series forget in two steps: most within 50 ms, the rest over a second and more. One correlation time cannot do both. Up
  to 50 ms, tau = 50 ms is nearest to the four `victoria` series, 200 ms to `starlink_isl`, 1000 ms to `oneweb_iowa`.
- The moments of a bad hour leave out that first-in-first-out lifts what follows a fast swing: about a tenth of the mean at a level of 100
  ms and tau = 50 ms.
- Satellite access is not a backbone path. We know of no public 10-ms series over the paths of `wonderproxy`, `world` and `cloud`: there the
  correlation time is declared, not fitted.
- With tau = 0, first-in-first-out within a path alone makes neighbouring packets alike: a heavy tail holds back those behind it.
- In mode paper a third of the packets are overtaken; of the measured ones fewer than 2 in 10,000 are."""


def fit_page(root: Path) -> str:
    """Return the whole page, from the measurements under `root`.

    Raises:
        DataError: a file that is missing or broken.
    """
    fits = [row for name in SCENARIOS for row in fit_report(name, root)]
    measured, drawn = measured_structure(root), [drawn_structure(*world) for world in WORLDS]
    structure_head = ("series", *(f"{lag} ms" for lag in LAGS_MS), "overtaken", "spike mean ms", "spike p90 ms")
    parts = (
        _HEAD,
        markdown_table(_FIT_HEAD, map(_fit, fits), text=_FIT_HEAD).rstrip(),
        _STRUCTURE,
        markdown_table(structure_head, map(_structure, [*measured, *drawn]), text=structure_head).rstrip(),
        _MISFITS,
    )
    return "\n\n".join(parts) + "\n"


def _fit(row: FitRow) -> tuple[str, ...]:
    numbers = (f"{value:.3g}" if abs(value) < 100.0 else f"{value:.0f}" for value in row[4:])
    return row.scenario, row.law, row.statistic, str(row.links), *numbers


def _structure(row: StructureRow) -> tuple[str, ...]:
    correlation = (f"{value:.2f}" for value in row.autocorrelation)
    return row.series, *correlation, f"{row.overtaken:.2%}", f"{row.spike_mean_ms:.0f}", f"{row.spike_p90_ms:.0f}"
