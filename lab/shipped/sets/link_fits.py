"""Per-link parameters in closed form from ping statistics.

Source: WonderProxy, "A day in the life of the Internet" (28 October 2020): hourly bursts of 30 pings between servers for two days, each
stored as min / avg / max / mdev of the round-trip time. Fitted per ordered link, to round-trip times:

    median  Beta distribution on [min, max] with the mean and deviation of the median burst: an ordinary hour
    worst   Beta distribution on [min of two days, max of two days] for a bad hour, see `bad_hour`
    queue   base and lognormal excess, see `queueing_excess`
    hours   share of bad hours and level of their congestion, see `bad_hours`

Left out: time structure within a burst (the statistics determine no correlation in time) and loss (not in the data).
"""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vcgym.network.traces.cards import BadHour, BadHours, Beta, DataError, Link, QueueTimes
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import read_content
from vcgym.network.worlds import bad_hours as congestion

FOLDER = "wonderproxy"  # of the CSV files, under the data root
Row = TypeVar("Row", bound=BaseModel)

HOURS = 48  # in two days
BAD_HOURS = 3  # of HOURS, declared: a few bad bursts explain a two-day deviation far above the median burst's
MIN_BAD_HOURS = 1  # of HOURS, declared: hourly bursts cannot show fewer, and more than BAD_HOURS would show in the median
BURST_PINGS = 30

MEAN_SHARE = (0.001, 0.999)  # allowed relative position of the mean in [low, high]
VARIANCE_SHARE = (0.05, 0.95)  # of (mean - low) * (high - mean), the variance of a distribution on the two endpoints
MIN_EXCESS_MS = 0.01
MIN_LOG_SD = 0.05


class Burst(BaseModel):
    """A row of `ten_places_burst_medians.csv`: medians over the bursts of one ordered pair, ms."""

    model_config = ConfigDict(allow_inf_nan=False)
    src: str
    dst: str
    min_ms: float = Field(ge=0.0)
    avg_ms: float = Field(ge=0.0)
    max_ms: float = Field(ge=0.0)
    mdev_ms: float = Field(ge=0.0)


class Pooled(BaseModel):
    """A row of `ten_places_two_day_pooled.csv`: all pings of one ordered pair, ms."""

    model_config = ConfigDict(allow_inf_nan=False)
    src: str
    dst: str
    min_ms: float = Field(ge=0.0)
    mean_ms: float = Field(ge=0.0)
    max_ms: float = Field(ge=0.0)
    std_ms: float = Field(ge=0.0)


def read_rows(root: Path, name: str, row_class: type[Row]) -> list[Row]:
    """Read the rows of a CSV file (or .csv.gz) in the folder `wonderproxy`; places without codes are named by server number.

    Raises:
        DataError: the file is missing or a row is malformed.
    """
    path = root / FOLDER / name
    table = read_table(path, read_content(path))
    columns = dict(zip(table.header, table.columns, strict=True))
    columns = {"src": columns.get("src_id", []), "dst": columns.get("dst_id", []), **columns}
    columns = {field: cells for field, cells in columns.items() if field in row_class.model_fields and cells}
    missing = [field for field, kind in row_class.model_fields.items() if kind.is_required() and field not in columns]
    if missing:
        raise DataError(path, "line 1, header", table.header, f"columns {', '.join(missing)} too")
    rows = []
    for line, cells in zip(table.lines, zip(*columns.values(), strict=True), strict=True):
        try:
            rows.append(row_class.model_validate(dict(zip(columns, cells, strict=True))))
        except ValidationError as error:
            raise DataError(path, f"line {line}", str(error), f"a row of {', '.join(row_class.model_fields)}") from error
    return rows


class Excess(NamedTuple):
    """A bad hour relative to the median burst's average: mean, deviation, maximum and congestion level; and the share of bad hours."""

    mean: float
    sd: float
    high: float
    level: float
    share: float


def beta_by_moments(low_ms: float, high_ms: float, mean_ms: float, sd_ms: float) -> Beta:
    """Return the Beta distribution on [low_ms, high_ms] with the given mean and standard deviation.

    With m and v the mean and variance scaled to [0, 1]: a = m n, b = (1 - m) n, n = m (1 - m) / v - 1 (method of moments; Johnson, Kotz,
    Balakrishnan, Continuous Univariate Distributions 2, chapter 25). Infeasible moments are clipped to the limits of MEAN_SHARE and
    VARIANCE_SHARE, and the result has `clamped` set.

    Raises:
        ValueError: low_ms is not below high_ms.
    """
    if not low_ms < high_ms:
        raise ValueError(f"high_ms is {high_ms}; allowed: above low_ms {low_ms}")
    width = high_ms - low_ms
    wanted_mean = (mean_ms - low_ms) / width
    mean = min(max(wanted_mean, MEAN_SHARE[0]), MEAN_SHARE[1])
    wanted_share = (sd_ms / width) ** 2 / (mean * (1.0 - mean))
    share = min(max(wanted_share, VARIANCE_SHARE[0]), VARIANCE_SHARE[1])
    n = 1.0 / share - 1.0
    return Beta(low_ms=low_ms, high_ms=high_ms, a=mean * n, b=(1.0 - mean) * n, clamped=(mean, share) != (wanted_mean, wanted_share))


def bad_hour(median_avg_ms: float, pooled_mean_ms: float, pooled_sd_ms: float) -> tuple[float, float]:
    """Return mean and standard deviation (ms) of the bad hours, assuming that all other hours have the median burst's average.

    The pooled moments about that average are then BAD_HOURS / HOURS times those of a bad hour. A pooled mean below the median average
    gives a shift of zero, since a bad hour is not better than an ordinary one. A deviation of zero means that the link had more than
    BAD_HOURS bad hours.
    """
    shift = pooled_mean_ms - median_avg_ms
    bad_shift = max(shift, 0.0) * HOURS / BAD_HOURS
    second_moment = (pooled_sd_ms**2 + shift**2) * HOURS / BAD_HOURS
    return median_avg_ms + bad_shift, math.sqrt(max(second_moment - bad_shift**2, 0.0))


def burst_moments() -> tuple[float, float]:
    """Return mean and mean square of the congestion delay in a bad hour, in units of its median level.

    The declared generator (`vcgym.network.worlds.bad_hours`): on for a time T uniform in [ON_MIN_S, ON_MAX_S], off for OFF_MEAN_S on
    average; a lognormal level with log_sd LEVEL_LOG_SD; a linear rise over r, which reduces the time by r / 2 in the mean and by 2 r / 3 in
    the mean square; fast variation by FAST_SHARE times a standard normal clipped at +-1, whose mean square is 1 - 2 phi(1) = 0.516. Left
    out: the drain after a burst, which adds under 4 % of the mean at levels below 150 ms.
    """
    on_s = 0.5 * (congestion.ON_MIN_S + congestion.ON_MAX_S)
    rise_s = 0.5 * (congestion.RISE_MIN_S + congestion.RISE_MAX_S)
    share = on_s / (on_s + congestion.OFF_MEAN_S)
    cut_square = 1.0 - 2.0 * NormalDist().pdf(1.0)
    mean = share * (1.0 - rise_s / 2.0 / on_s) * math.exp(congestion.LEVEL_LOG_SD**2 / 2.0)
    square = share * (1.0 - 2.0 * rise_s / 3.0 / on_s) * math.exp(2.0 * congestion.LEVEL_LOG_SD**2)
    square *= 1.0 + congestion.FAST_SHARE**2 * cut_square
    return mean, square


def bad_hours(median_avg_ms: float, median_mdev_ms: float, pooled_mean_ms: float, pooled_sd_ms: float) -> BadHours:
    """Fit the share of bad hours and their median level, so that ordinary and bad hours together have the pooled mean and deviation.

    An ordinary hour has the median burst's average and deviation; a bad hour adds bursts with the moments (c, q) of `burst_moments` times
    the level L. With d = pooled mean - median average and Q = pooled variance + d^2 - median variance (the mean square of the addition),
    d = p c L and Q = p q L^2, so p = d^2 q / (c^2 Q) and L = sqrt(Q / (p q)). The share p is clipped to MIN_BAD_HOURS..BAD_HOURS of HOURS.
    If it is clipped, the result has `clamped` set, and Q is matched but not d.
    """
    c, q = burst_moments()
    shift = max(pooled_mean_ms - median_avg_ms, 0.0)
    square = max(pooled_sd_ms**2 + (pooled_mean_ms - median_avg_ms) ** 2 - median_mdev_ms**2, 0.0)
    wanted = shift**2 * q / (c * c * square) if square > 0.0 else 0.0
    share = min(max(wanted, MIN_BAD_HOURS / HOURS), BAD_HOURS / HOURS)
    return BadHours(share=share, level_ms=math.sqrt(square / (share * q)), clamped=share != wanted)


def queueing_excess(min_ms: float, avg_ms: float, max_ms: float, pings: int = BURST_PINGS) -> QueueTimes:
    """Fit base and lognormal excess of one burst: its mean is avg - min, and the median of its maximum over `pings` samples is max - min.

    With z the normal quantile at 0.5^(1/pings) and L = ln((max - min) / (avg - min)): log_sd solves L = z s - s^2 / 2, the smaller root
    z - sqrt(z^2 - 2 L), or z where L exceeds a lognormal's maximum, z^2 / 2. Then log_mean = ln(avg - min) - log_sd^2 / 2. Lower limits:
    MIN_EXCESS_MS and MIN_LOG_SD.
    """
    z = NormalDist().inv_cdf(0.5 ** (1.0 / pings))
    excess = max(avg_ms - min_ms, MIN_EXCESS_MS)
    ratio = math.log(max(max_ms - min_ms, excess) / excess)
    log_sd = max(z - math.sqrt(max(z * z - 2.0 * ratio, 0.0)), MIN_LOG_SD)
    return QueueTimes(base_ms=min_ms, log_mean=math.log(excess) - log_sd**2 / 2.0, log_sd=log_sd)


def fit_links(bursts: list[Burst], pooled: Mapping[tuple[str, str], Pooled]) -> list[Link]:
    """Fit every link that has a median burst.

    The bad hours of a link without a two-day record are the median over the measured links, relative to its own median burst's average;
    the link has `imputed` set.
    """
    usual = _usual_excess(bursts, pooled)
    links = []
    for row in bursts:
        days = pooled.get((row.src, row.dst))
        links.append(
            Link(
                source=row.src,
                destination=row.dst,
                median=beta_by_moments(row.min_ms, max(row.max_ms, row.min_ms + MIN_EXCESS_MS), row.avg_ms, row.mdev_ms),
                worst=_worst(row, days, usual),
                bad_hours=_bad_hours(row, days, usual),
                queue=queueing_excess(row.min_ms, row.avg_ms, row.max_ms),
            )
        )
    return links


def _usual_excess(bursts: list[Burst], pooled: Mapping[tuple[str, str], Pooled]) -> Excess:
    relative = []
    for burst in bursts:
        days = pooled.get((burst.src, burst.dst))
        if days is not None:
            mean, sd = bad_hour(burst.avg_ms, days.mean_ms, days.std_ms)
            hours = bad_hours(burst.avg_ms, burst.mdev_ms, days.mean_ms, days.std_ms)
            shifts = np.array([mean - burst.avg_ms, sd, days.max_ms - burst.avg_ms, hours.level_ms]) / burst.avg_ms
            relative.append([*shifts, hours.share])
    return Excess(*np.median(relative, axis=0).tolist())


def _worst(burst: Burst, days: Pooled | None, usual: Excess) -> BadHour:
    if days is None:
        avg = burst.avg_ms
        law = beta_by_moments(burst.min_ms, avg * (1.0 + usual.high), avg * (1.0 + usual.mean), avg * usual.sd)
    else:
        high_ms = max(days.max_ms, days.min_ms + MIN_EXCESS_MS)
        law = beta_by_moments(days.min_ms, high_ms, *bad_hour(burst.avg_ms, days.mean_ms, days.std_ms))
    return BadHour(**law.model_dump(), imputed=days is None)


def _bad_hours(burst: Burst, days: Pooled | None, usual: Excess) -> BadHours:
    if days is None:
        return BadHours(share=usual.share, level_ms=burst.avg_ms * usual.level, imputed=True)
    return bad_hours(burst.avg_ms, burst.mdev_ms, days.mean_ms, days.std_ms)
