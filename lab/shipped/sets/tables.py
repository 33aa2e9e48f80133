"""The table of the ten WonderProxy places, and link tables as files."""

import json
from pathlib import Path
from typing import Any

from lab.shipped.sets.link_fits import Burst, Pooled, fit_links, read_rows
from vcgym.network.traces.cards import Card, Link, LinkTable, Place, canonical_sha256

DIGITS = 6  # significant digits of shipped parameters
SOURCE = (
    "WonderProxy, A day in the life of the Internet, 28 October 2020, "
    "https://wonderproxy.com/blog/a-day-in-the-life-of-the-internet/, via burst medians and two-day pooled statistics"
)
LICENCE = "fitted parameters only, under the licence of this project; the measurements carry no licence and are not shipped"


def fit_ten_places(root: Path) -> LinkTable:
    """Fit every ordered link among the ten places from the folder `wonderproxy` under `root`; see `fit_links`.

    Raises:
        DataError: a file is missing or a row is malformed.
    """
    places = read_rows(root, "ten_places.csv", Place)
    bursts = read_rows(root, "ten_places_burst_medians.csv", Burst)
    pooled = {(row.src, row.dst): row for row in read_rows(root, "ten_places_two_day_pooled.csv", Pooled)}
    return link_table(
        places,
        fit_links(bursts, pooled),
        name="wonderproxy_ten_places",
        description="Parameters of the ordinary and the bad hours of each ordered link among ten places, fitted to ping statistics of "
        "19-20 July 2020; links with imputed=true have no two-day record",
        source=SOURCE,
        licence=LICENCE,
    )


def link_table(places: list[Place], links: list[Link], **provenance: str) -> LinkTable:
    """Make a table of fitted links with six significant digits; `provenance`: name, description, source and licence of its card."""
    body = _rounded(
        {
            "places": [place.model_dump() for place in places],
            "links": [link.model_dump(exclude_none=True, exclude_defaults=True) for link in links],
        }
    )
    units = "round-trip milliseconds; log_mean is the natural logarithm of milliseconds; a, b, log_sd without unit"
    return LinkTable(card=Card(**provenance, sha256=canonical_sha256(body), kind="fitted", units=units), **body)


def write_table(table: LinkTable, output: Path) -> None:
    """Write a table as JSON to `output`."""
    document = table.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    output.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Round the floats of a JSON document to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
