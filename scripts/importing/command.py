"""Commands of `vcgym data`: list, verify, import, download, fit. Typed counterpart of conf/data.yaml."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from rich.console import Console
from rich.table import Column, Table

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.config.names import ExistingPath
from vcgym.network.traces.cards import CARD_ENDING, DataError
from vcgym.network.traces.catalogue import Entry, entries, shipped, verify
from vcgym.network.traces.download import download, sources
from vcgym.network.traces.trace_file import ENDING as TRACE_ENDING
from vcgym.scripts.importing.formats import Format

_NEEDED = {
    "list": (),
    "verify": (),
    "import": ("format", "file", "output"),
    "download": ("set",),
    "fit": ("file",),
}
_NOT_STATED = "not stated"


class DataCommand(Config):
    """Command on measured data.

    Attributes:
        do: list: list shipped data, data under the root, and sets to download; verify: check shipped data and data under the root against
            their cards; import: import one file; download: download one set into the root; fit: fit a scenario to traces.
        data: folder of measured data; optional for list and verify.
        format: format of the file to import: an option of conf/format.
        file: file to import, or a folder of such files of one format; the content of a file's card, if any, is copied. With do=fit the
            traces, as scenario replay takes them: a folder of traces, one per path, or a folder of such folders, one per pair.
        output: new file to write, `*.csv.gz` for a series, or the folder for those of a folder; with do=fit a scenario file,
            `*.json`, or None: only print what is measured and drawn.
        set: name of the set to download; `do=list` prints it.
    """

    do: Literal["list", "verify", "import", "download", "fit"] = "list"
    data: DataConfig = Field(default_factory=DataConfig)
    format: Format | None = None
    file: ExistingPath | None = None
    output: AbsolutePath | None = None
    set: str | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        missing = [name for name in _NEEDED[self.do] if getattr(self, name) is None]
        if self.do == "download" and self.data.root is None:
            missing.append("data.root (or VCGYM_DATA)")
        if missing:
            raise ValueError(f"do={self.do} needs {' and '.join(missing)}")
        if self.do == "fit" and self.output is not None:
            from vcgym.network.scenarios.paths.fitted import ENDING  # imported here: it loads the worlds

            if self.output.suffix != ENDING:
                raise ValueError(f"output is {self.output.name!r}; allowed with do=fit: a name ending in {ENDING}")
        if self.do == "download" and self.set not in sources():
            raise ValueError(f"set is {self.set!r}; allowed: {', '.join(sources())}")
        return self


def run(command: DataCommand, console: Console) -> int:
    """Run the command, print the result, and return the status: 1 if a file of a folder was refused, else 0.

    Raises:
        DataError: data are invalid; see the importers, `verify` and `download`.
    """
    root = command.data.root
    folders = [shipped()] if root is None else [shipped(), root]
    if command.do == "list":
        for folder in folders:
            console.print(_cards(f"Shipped with vcgym: {folder}" if folder == shipped() else f"Data root: {folder}", entries(folder)))
        console.print(_sets())
    elif command.do == "verify":
        for folder in folders:
            as_said, without = verify(entries(folder))
            console.print(f"{folder}: {as_said} files as their cards say, {without} without a card", soft_wrap=True)
    elif command.do == "import" and command.format and command.file and command.output:
        if command.file.is_dir():
            return _import_folder(command.format, command.file, command.output, console)
        _import(command.format, command.file, command.output, console)
    elif command.do == "fit" and command.file:
        from vcgym.scripts.importing.fit import fit  # imported here: only a fit plays calls

        fit(command.file, command.output, console)
    elif command.set and root is not None:
        _download(command.set, root, console)
    return 0


def _import(form: Format, file: Path, output: Path, console: Console) -> None:
    for one in form.imported(file, output):
        console.print(f"{one.output}: {one.found}; sha256 {one.card.sha256}", soft_wrap=True)


def _import_folder(form: Format, folder: Path, output: Path, console: Console) -> int:
    """Import each file of a folder, at any depth, to its place below `output`; go on past those that are there and those refused.

    Raises:
        DataError: a folder without files, or two files with one output.
    """
    there, refused, outputs = 0, 0, _outputs(form, folder, output)
    for file, to in outputs.items():
        if to.exists():
            there += 1
            continue
        try:
            _import(form, file, to, console)
        except DataError as error:
            refused += 1
            console.print(f"refused: {error}", soft_wrap=True, markup=False)
    written = len(outputs) - there - refused
    console.print(f"{len(outputs)} files: {written} imported, {there} left as they were, {refused} refused")
    return int(refused > 0)


def _outputs(form: Format, folder: Path, output: Path) -> dict[Path, Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    files = [path for path in found if not path.name.endswith(CARD_ENDING)]
    if not files:
        raise DataError(folder, "files", 0, "at least 1")
    outputs: dict[Path, Path] = {}
    for file in files:
        name = re.sub(r"\.(gz|xz)$", "", file.name)
        to = (output / file.relative_to(folder)).with_name(
            (Path(name).stem if "." in name else name) + TRACE_ENDING * (not form.is_of_many)
        )
        if to in outputs.values():
            other = next(path for path, place in outputs.items() if place == to)
            raise DataError(file, "name", file.name, f"one that differs from {other.name} by more than its ending")
        outputs[file] = to
    return outputs


def _download(name: str, root: Path, console: Console) -> None:
    source = sources()[name]
    console.print(f"Fetching {source.url}, licence: {source.licence}", soft_wrap=True)
    path = download(source, root)
    console.print(f"{path}: {path.stat().st_size:,} bytes, card beside it", soft_wrap=True)
    if source.sha256 is None:
        console.print("Nobody has stated a hash for this set: its card holds the hash of what came.", soft_wrap=True)


def _cards(title: str, found: Iterable[Entry]) -> Table:
    table = Table("file", "kind", "licence", "bytes", "sha256", "content", title=title, title_justify="left")
    for entry in found:
        kind, licence = (entry.card.kind, entry.card.licence) if entry.card else ("", _NOT_STATED)
        table.add_row(entry.name, kind, licence, f"{entry.size_bytes:,}", entry.sha256[:12], entry.state)
    return table


def _sets() -> Table:
    address = Column("address", overflow="fold")
    table = Table("set", "what", "licence", address, "import", title="To be fetched with do=download set=NAME", title_justify="left")
    for source in sources().values():
        table.add_row(source.name, source.description, source.licence, source.url, source.format and f"format={source.format}")
    return table
