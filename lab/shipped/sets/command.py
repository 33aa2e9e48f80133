"""python -m lab make-set: rebuild a data set from its source."""

from pathlib import Path
from typing import Self

from pydantic import model_validator
from rich.console import Console

from lab.shipped.sets.making import make, set_names
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.config.names import ExistingPath
from vcgym.network.bottleneck.capacity.sets import GENERATED


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
