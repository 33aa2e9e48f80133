"""Per-link parameters of the ten WonderProxy places, in closed form from ping statistics.

Source: WonderProxy, "A day in the life of the Internet" (28 October 2020): every hour for two days, bursts of 30 pings between servers,
each kept as min / avg / max / mdev of the round trip. What is fitted, per ordered link and in the round-trip domain:

    median  Beta law on [min, max] with the mean and spread of the median burst: an ordinary hour
    worst   Beta law on [min of two days, max of two days] for a bad hour, see `bad_hour`
    queue   a base and a lognormal excess over it, see `queueing_excess`

Left out: everything below one burst (the statistics fix no correlation in time) and loss (no column of it).
"""

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from vcgym.network.cards import BadHour, Beta, Card, DataError, Link, LinkTable, Place, Queue, canonical_sha256

HOURS = 48  # of the two days
BAD_HOURS = 3  # of HOURS, declared: a two-day spread far above the median burst's is a few bad bursts
BURST_PINGS = 30

MEAN_SHARE = (0.001, 0.999)  # where in [low, high] a mean may lie
VARIANCE_SHARE = (0.05, 0.95)  # of (mean - low) * (high - mean), the variance of a law with all its mass at the two ends
MIN_EXCESS_MS = 0.01
MIN_LOG_SD = 0.05

_FOLDER = "wonderproxy"
Row = TypeVar("Row", bound=BaseModel)
_DIGITS = 6


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


class Excess(NamedTuple):
    """A bad hour relative to the median burst's average: shift of the mean, spread and shift of the maximum."""

    mean: float
    sd: float
    high: float


def beta_by_moments(low_ms: float, high_ms: float, mean_ms: float, sd_ms: float) -> Beta:
    """Beta law on [low_ms, high_ms] with the given mean and standard deviation.

    With m and v the mean and variance scaled to [0, 1]: a = m n, b = (1 - m) n, n = m (1 - m) / v - 1 (method of moments; Johnson, Kotz,
    Balakrishnan, Continuous Univariate Distributions 2, chapter 25). Moments that no such law has are moved to the nearest that one has,
    within MEAN_SHARE and VARIANCE_SHARE, and the result says `clamped`.

    Raises:
        ValueError: low_ms not below high_ms.
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
    """Mean and standard deviation (ms) of the bad hours, if the other hours all sit at the median burst's average.

    The pooled moments about that average are then BAD_HOURS / HOURS times those of a bad hour. A pooled mean below the median average
    gives a shift of zero: a bad hour is not better than an ordinary one. A spread of zero means that the link had more than BAD_HOURS bad
    ones.
    """
    shift = pooled_mean_ms - median_avg_ms
    bad_shift = max(shift, 0.0) * HOURS / BAD_HOURS
    second_moment = (pooled_sd_ms**2 + shift**2) * HOURS / BAD_HOURS
    return median_avg_ms + bad_shift, math.sqrt(max(second_moment - bad_shift**2, 0.0))


def queueing_excess(min_ms: float, avg_ms: float, max_ms: float) -> Queue:
    """Base and lognormal excess of one burst: mean excess avg - min, and max - min its median largest of BURST_PINGS draws.

    With z the normal quantile at 0.5^(1/30) and L = ln((max - min) / (avg - min)): log_sd solves L = z s - s^2 / 2, the smaller root
    z - sqrt(z^2 - 2 L), or z where L is above the most a lognormal allows, z^2 / 2. Then log_mean = ln(avg - min) - log_sd^2 / 2. Floors:
    MIN_EXCESS_MS and MIN_LOG_SD.
    """
    z = NormalDist().inv_cdf(0.5 ** (1.0 / BURST_PINGS))
    excess = max(avg_ms - min_ms, MIN_EXCESS_MS)
    ratio = math.log(max(max_ms - min_ms, excess) / excess)
    log_sd = max(z - math.sqrt(max(z * z - 2.0 * ratio, 0.0)), MIN_LOG_SD)
    return Queue(base_ms=min_ms, log_mean=math.log(excess) - log_sd**2 / 2.0, log_sd=log_sd)


def fit_ten_places(root: Path) -> LinkTable:
    """Fit every ordered link among the ten places from the folder `wonderproxy` under `root`.

    A link without a two-day record gets, for its bad hour, the median over the measured links of the bad hour's shift, spread and
    maximum, each relative to the median burst's average; it says `imputed`.

    Raises:
        DataError: a file that is missing, or a row that is not as it must be.
    """
    places = _read(root, "ten_places.csv", Place)
    bursts = _read(root, "ten_places_burst_medians.csv", Burst)
    pooled = {(row.src, row.dst): row for row in _read(root, "ten_places_two_day_pooled.csv", Pooled)}
    usual = _usual_excess(bursts, pooled)
    links = [
        Link(
            source=row.src,
            destination=row.dst,
            median=beta_by_moments(row.min_ms, row.max_ms, row.avg_ms, row.mdev_ms),
            worst=_worst(row, pooled.get((row.src, row.dst)), usual),
            queue=queueing_excess(row.min_ms, row.avg_ms, row.max_ms),
        )
        for row in bursts
    ]
    body = _rounded(
        {
            "places": [place.model_dump() for place in places],
            "links": [link.model_dump(exclude_none=True, exclude_defaults=True) for link in links],
        }
    )
    card = Card(
        name="wonderproxy_ten_places",
        description="Parameters of the ordinary and the bad hour of each ordered link among ten places, fitted to ping statistics of "
        "19-20 July 2020; links with imputed=true have no two-day record",
        source="WonderProxy, A day in the life of the Internet, 28 October 2020, "
        "https://wonderproxy.com/blog/a-day-in-the-life-of-the-internet/, via burst medians and two-day pooled statistics",
        licence="fitted parameters only, under the licence of this project; the measurements carry no licence and are not shipped",
        sha256=canonical_sha256(body),
        kind="fitted",
        units="round-trip milliseconds; log_mean is the natural logarithm of milliseconds; a, b, log_sd without unit",
    )
    return LinkTable(card=card, **body)


def write_ten_places(root: Path, output: Path) -> None:
    """Fit (`fit_ten_places`) and write the table as JSON to `output`."""
    table = fit_ten_places(root).model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    output.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(root: Path, name: str, row_class: type[Row]) -> list[Row]:
    path = root / _FOLDER / name
    line = 1
    rows = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                line = reader.line_num
                # The files also carry the servers' numbers, which nothing here needs.
                rows.append(row_class.model_validate({key: value for key, value in row.items() if key in row_class.model_fields}))
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(path, f"line {line}", str(error), f"a row of {', '.join(row_class.model_fields)}") from error
    return rows


def _usual_excess(bursts: list[Burst], pooled: Mapping[tuple[str, str], Pooled]) -> Excess:
    relative = []
    for burst in bursts:
        days = pooled.get((burst.src, burst.dst))
        if days is not None:
            mean, sd = bad_hour(burst.avg_ms, days.mean_ms, days.std_ms)
            relative.append(np.array([mean - burst.avg_ms, sd, days.max_ms - burst.avg_ms]) / burst.avg_ms)
    return Excess(*np.median(relative, axis=0).tolist())


def _worst(burst: Burst, pooled: Pooled | None, usual: Excess) -> BadHour:
    if pooled is None:
        avg = burst.avg_ms
        law = beta_by_moments(burst.min_ms, avg * (1.0 + usual.high), avg * (1.0 + usual.mean), avg * usual.sd)
    else:
        law = beta_by_moments(pooled.min_ms, pooled.max_ms, *bad_hour(burst.avg_ms, pooled.mean_ms, pooled.std_ms))
    return BadHour(**law.model_dump(), imputed=pooled is None)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
