"""python -m lab make-set: rebuild a data set from its source; each file is compared with its known SHA-256.

Shipped files have their hash in their card. Measured files, which are not shipped, have it in data/measured.json, which also describes how
each was cut from its public source. The synthetic cellular traces are generated here.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from rich.console import Console

from lab.shipped.sets.cellular_like import draw_cellular
from lab.shipped.sets.cloud import fit_cloud
from lab.shipped.sets.series_sample import write_drives, write_pings
from lab.shipped.sets.tables import fit_ten_places, write_table
from lab.shipped.sets.throughput_cuts import cut_traces
from lab.shipped.sets.world_sample import write_sample
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.config.names import ExistingPath
from vcgym.network.bottleneck.capacity.files import read_mahimahi, write_capacity
from vcgym.network.bottleneck.capacity.sets import GENERATED
from vcgym.network.scenarios.paths.shipped_series import DRIVES, PINGS
from vcgym.network.traces.card_file import card_beside
from vcgym.network.traces.cards import Card, card_path
from vcgym.network.traces.catalogue import entry_of, shipped
from vcgym.network.traces.columns import Arrays, Table, read_columns
from vcgym.network.traces.reading import read_content
from vcgym.network.traces.trace import MAX_DELAY_US
from vcgym.network.traces.trace_file import ENDING, csv_content, refuse_existing, write_with_card

TRACES = 20


def cellular_csv() -> bytes:
    """Return the CSV, not compressed."""
    lines = ["trace,t_s,mbps"]
    for seed in range(TRACES):
        times_s, rates = draw_cellular(seed)
        lines += [f"generated_{seed:02d},{at_s:.1f},{mbps:.3f}" for at_s, mbps in zip(times_s, rates, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def write_cellular(path: Path) -> None:
    """Write the file and its card."""
    made = cellular_csv()
    path.write_bytes(gzip.compress(made, mtime=0))
    card = {
        "name": GENERATED,
        "description": f"{TRACES} capacity traces like those of cellular links, 120 s each, a rate every 0.2 s",
        "source": "made for this project by lab/shipped/sets/cellular_like.py; nothing was measured",
        "licence": "MIT, as this project",
        "sha256": hashlib.sha256(made).hexdigest(),
        "kind": "synthesised",
        "units": "seconds and Mbit/s",
    }
    card_path(path).write_text(json.dumps(card, indent=1) + "\n")


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cut(_Record):
    """File below the source's folder, and the SHA-256 of the (decompressed) content made from it."""

    source: str
    sha256: Sha256


class MeasuredSet(_Record):
    """Measured files of one source.

    Attributes:
        name: name of the set.
        folder: folder of its files below the data root.
        form: format of the source: replies (CSV without header of the time of the reply in ns and the round trip in ms), opportunities
            (mahimahi's format), or one of `lab.shipped.sets.throughput_cuts.FORMS`.
        rows: number of replies taken from the start of each file; None: all.
        source, licence: values for the cards.
        files: files by name; the source of one with many traces is a folder.
        traces: names of the traces in a file with many.
    """

    name: str
    folder: str
    form: Literal["replies", "opportunities", "throughputs", "drives"]
    rows: int | None
    source: str
    licence: str
    files: dict[str, Cut]
    traces: tuple[str, ...] = ()


class Made(_Record):
    """Rebuilt file, and its actual and known SHA-256."""

    path: Path
    sha256: str
    known: str

    @property
    def equal(self) -> bool:
        """True if the file equals the known one."""
        return self.sha256 == self.known


_SHIPPED: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "wonderproxy_ten_places": ("wonderproxy_ten_places.json", lambda source, path: write_table(fit_ten_places(source), path)),
    "cloud": ("cloud.json", lambda source, path: write_table(fit_cloud(source), path)),
    "world_links": ("world_links.csv.gz", write_sample),
    DRIVES: (f"{DRIVES}{ENDING}", write_drives),
    PINGS: (f"{PINGS}{ENDING}", write_pings),
    GENERATED: (f"{GENERATED}.csv.gz", lambda source, path: write_cellular(path)),
}


def measured_sets() -> dict[str, MeasuredSet]:
    """Return the measured sets that can be cut from their sources, by name."""
    listed = TypeAdapter(list[MeasuredSet]).validate_json((shipped() / "measured.json").read_bytes())
    return {one.name: one for one in listed}


def set_names() -> list[str]:
    """Return the names of all sets that can be rebuilt."""
    return [*_SHIPPED, *measured_sets()]


def make(name: str, source: Path, output: Path) -> Iterator[Made]:
    """Rebuild the files of a set, one by one.

    Args:
        name: one of `set_names`.
        source: for a fitted set, a folder with the tables that its card names; for a measured set, a copy of the repository. The generated
            set needs none.
        output: output folder; measured files have the same layout as below a data root.

    Raises:
        DataError: a source is missing or broken, or an output file exists.
    """
    if name in _SHIPPED:
        file, write = _SHIPPED[name]
        refuse_existing(output / file)
        output.mkdir(parents=True, exist_ok=True)
        write(source, output / file)
        found, known = (entry_of(file, folder / file) for folder in (output, shipped()))
        yield Made(path=output / file, sha256=found.sha256, known=known.sha256)
        return
    measured = measured_sets()[name]
    for file, one in measured.files.items():
        path = output / measured.folder / file
        yield Made(path=path, sha256=_cut(measured, source / one.source, path).sha256, known=one.sha256)


def _cut(measured: MeasuredSet, source: Path, output: Path) -> Card:
    if measured.traces:
        return cut_traces(measured.form, source, measured.traces, measured.source, measured.licence, output)
    origin = card_beside(source, read_content(source)).model_copy(update={"source": measured.source, "licence": measured.licence})
    if measured.form == "replies":
        return _cut_replies(source, origin, output, measured.rows)
    return write_capacity(read_mahimahi(source), origin, output)


def _cut_replies(path: Path, origin: Card, output: Path, rows: int | None) -> Card:
    """Write the first `rows` replies with times in ms since the first one."""

    def numbers_of(block: Table) -> Arrays:
        return block.whole_numbers("1", 0, 2**62), block.numbers("2", 0.0, MAX_DELAY_US / 1e3)

    arrived_ns, rtt_ms = (column[:rows] for column in read_columns(path, read_content(path), numbers_of, header=False))
    since_ms = (arrived_ns - arrived_ns[0]) / 1e6
    cells = (f"{_short(at)},{_short(rtt)}" for at, rtt in zip(since_ms.tolist(), rtt_ms.tolist(), strict=True))
    return write_with_card(output, csv_content(("t_ms", "rtt_ms"), cells), origin, "milliseconds")


def _short(ms: float) -> str:
    """Return a number with microsecond precision, without trailing zeros."""
    return f"{ms:.3f}".rstrip("0").rstrip(".")


class MakeSetConfig(Config):
    """Rebuilding of one set; each file is compared with the known one.

    Attributes:
        set: name of the set, see docs/worlds.md.
        source: folder with a copy of the set's source; the generated set needs none.
        output: folder of the files.
    """

    set: str = GENERATED
    source: ExistingPath | None = None
    output: AbsolutePath = Path("outputs/sets")

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if self.set not in set_names():
            raise ValueError(f"set is {self.set!r}; allowed: {', '.join(set_names())}")
        if self.source is None and self.set != GENERATED:
            raise ValueError(f"source is None; allowed with set={self.set}: a folder with a copy of its source")
        return self


def main(config: MakeSetConfig) -> int:
    """Rebuild the set; return status 1 if a file differs from the known one."""
    console, status = Console(), 0
    for made in make(config.set, config.source or config.output, config.output):
        said = "equal to the known file" if made.equal else f"NOT equal: the known file has {made.known}"
        console.print(f"{made.path}: sha256 {made.sha256}, {said}", soft_wrap=True, highlight=False)
        status |= not made.equal
    return status
