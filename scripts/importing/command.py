"""`vcgym data`, `vcgym import` and `vcgym fit`."""

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from vcgym.network.traces.cards import CARD_ENDING, DataError
from vcgym.network.traces.catalogue import Entry, entries, shipped, verify
from vcgym.network.traces.download import download, sources
from vcgym.network.traces.trace_file import ENDING as TRACE_ENDING
from vcgym.scripts.importing.config import CatalogueConfig, FitConfig, ImportConfig
from vcgym.scripts.importing.formats import Importer

_NOT_STATED = "not stated"


def list_data(config: CatalogueConfig) -> None:
    """Print what data there are, then compare them with their cards; or download a set.

    Raises:
        DataError: a file differs from its card or is missing; the message names the first one. Or the download failed.
    """
    root, console = config.data.root, _console()
    if config.set is not None and root is not None:
        _download(config.set, root, console)
        return
    found = {folder: list(entries(folder)) for folder in ([shipped()] if root is None else [shipped(), root])}
    for folder, files in found.items():
        console.print(_cards(f"Shipped with vcgym: {folder}" if folder == shipped() else f"Data root: {folder}", files))
    console.print(_sets())
    for folder, files in found.items():
        as_said, without = verify(files)
        console.print(f"{folder}: {as_said} files as their cards say, {without} without a card", soft_wrap=True)


def import_data(config: ImportConfig) -> int:
    """Import a file or a folder; return status 1 if a file of a folder was refused.

    Raises:
        DataError: data are invalid; see the importers.
    """
    assert isinstance(config.format, Importer)
    if config.file.is_dir():
        return _import_folder(config.format, config.file, config.output, _console())
    _import(config.format, config.file, config.output, _console())
    return 0


def fit_data(config: FitConfig) -> None:
    """Fit a scenario to traces."""
    from vcgym.scripts.importing.fit import fit  # imported here: only a fit plays calls

    fit(config.file, config.output, _console())


def _console() -> Console:
    return Console(emoji=False, width=None if Console().is_terminal else 160)


def _import(form: Importer, file: Path, output: Path, console: Console) -> None:
    for one in form.imported(file, output):
        console.print(f"{one.output}: {one.found}; sha256 {one.card.sha256}", soft_wrap=True)


def _import_folder(form: Importer, folder: Path, output: Path, console: Console) -> int:
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


def _outputs(form: Importer, folder: Path, output: Path) -> dict[Path, Path]:
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


def _cards(title: str, found: Sequence[Entry]) -> Table:
    table = Table("file", "kind", "licence", "bytes", "sha256", "content", title=title, title_justify="left")
    for entry in found:
        kind, licence = (entry.card.kind, entry.card.licence) if entry.card else ("", _NOT_STATED)
        table.add_row(entry.name, kind, licence, f"{entry.size_bytes:,}", entry.sha256[:12], entry.state)
    return table


def _sets() -> Table:
    address = Column("address", overflow="fold")
    table = Table(
        "set", "what", "licence", address, "import", title="To be downloaded with set=NAME data.root=FOLDER", title_justify="left"
    )
    for source in sources().values():
        table.add_row(source.name, source.description, source.licence, source.url, source.format and f"format={source.format}")
    return table
