"""The base of every config: a typed counterpart of YAML under conf/, every field with its unit, default and allowed range.

A config is refused as a whole before any work starts: unknown key, wrong type, out of range. Defaults live here, so Python and the
command line mean the same; `model_dump(mode="json")` of a config is complete and is what a run saves.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

PLACES = frozenset({"folder", "data", "resume"})
"""Fields of every config that have no effect on the result."""

AbsolutePath = Annotated[Path, Field(strict=False), AfterValidator(lambda path: path.expanduser().absolute())]


class Config(BaseModel):
    """A frozen record that takes nothing it does not know and converts nothing silently.

    Attributes:
        without_effect: fields that have no effect on the result.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)
    without_effect: ClassVar[frozenset[str]] = PLACES

    def decisive(self) -> dict[str, Any]:
        """Return the resolved config as JSON values, less fields without effect and the places of a training within it."""
        return self.model_dump(mode="json", exclude={**dict.fromkeys(self.without_effect, True), "train": set(PLACES)})

    def digest(self) -> str:
        """Return sixteen hex digits of the SHA-256 of `decisive`, the same on every machine."""
        return hashlib.sha256(json.dumps(self.decisive(), sort_keys=True).encode()).hexdigest()[:16]


class DataConfig(Config):
    """The folder of measured data: `root`, else the environment variable VCGYM_DATA, else none (shipped worlds only)."""

    root: AbsolutePath | None = None

    @field_validator("root", mode="before")
    @classmethod
    def _from_environment(cls, root: Any) -> Any:
        return os.environ.get("VCGYM_DATA") if root is None else root

    @field_validator("root")
    @classmethod
    def _exists(cls, root: Path | None) -> Path | None:
        if root is not None and not root.is_dir():
            raise ValueError(f"data.root (or VCGYM_DATA) is {root}, which is not a folder")
        return root

    def export(self) -> None:
        """Set VCGYM_DATA to the absolute root, for this process and its children."""
        if self.root is not None:
            os.environ["VCGYM_DATA"] = str(self.root)


class RayConfig(Config):
    """Location of a Ray cluster.

    Attributes:
        address: of a running cluster, "auto" for the one this machine belongs to; None: none.
    """

    address: Annotated[str, Field(min_length=1)] | None = None
