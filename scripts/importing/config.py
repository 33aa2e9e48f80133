"""Configs of the commands of data."""

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from vcgym.agents.config.base import AbsolutePath, Config, DataConfig
from vcgym.agents.config.names import ExistingPath


class CatalogueConfig(Config):
    """Shipped data and data under the root are listed and compared with their cards; then come the sets that can be downloaded.

    Attributes:
        data: folder of measured data; optional, unless a set is downloaded.
        set: download this set into the root instead.
    """

    data: DataConfig = Field(default_factory=DataConfig)
    set: str | None = None

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        from vcgym.network.traces.download import sources

        if self.set is not None and self.set not in sources():
            raise ValueError(f"set is {self.set!r}; allowed: {', '.join(sources())}")
        if self.set is not None and self.data.root is None:
            raise ValueError("set needs data.root (or VCGYM_DATA)")
        return self


class Format(Config):
    """Format of a file: a class of `vcgym.scripts.importing.formats`, whose fields are the arguments of its importer."""


class ImportConfig(Config):
    """A file of measured data, or a folder of files of one format, is imported; the content of a file's card, if any, is copied.

    Attributes:
        format: format of the file: an option of conf/format.
        file: file to import, or a folder of such files.
        output: new file to write, `*.csv.gz` for a series, or the folder for those of a folder.
    """

    format: Format
    file: ExistingPath
    output: AbsolutePath


class FitConfig(Config):
    """A scenario is fitted to traces; what is measured is printed next to what is drawn.

    Attributes:
        file: the traces, as scenario replay takes them: a folder of traces, one per path, or a folder of such folders, one per pair.
        output: scenario file, `*.json`; None: only print.
    """

    file: ExistingPath
    output: AbsolutePath | None = None

    @field_validator("output")
    @classmethod
    def _is_a_scenario(cls, output: Path | None) -> Path | None:
        from vcgym.network.scenarios.paths.fitted import ENDING

        if output is not None and output.suffix != ENDING:
            raise ValueError(f"output is {output.name!r}; allowed: a name ending in {ENDING}")
        return output
