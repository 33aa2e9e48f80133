"""Base class of every config: a typed counterpart of the YAML under conf/; each field has a unit, a default and an allowed range.

A config with an unknown key, a wrong type or a value out of range is rejected before any work starts. Defaults live here, so Python and
the command line use the same ones; a run saves `model_dump(mode="json")` of its config, which is complete.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

PLACES = frozenset({"folder", "data", "resume"})
"""Fields of every config that have no effect on the result."""


def _absolute(path: Path) -> Path:
    return Path(os.path.expanduser(path)).absolute()  # that of Path raises an error for ~NAME without such a user


AbsolutePath = Annotated[Path, Field(strict=False), AfterValidator(_absolute)]


class Config(BaseModel):
    """Frozen settings that reject unknown keys and implicit type conversions, but for whole numbers such as 1e6.

    A field whose default follows from other fields may be given as None, which stands for this default.

    Attributes:
        without_effect: fields that have no effect on the result.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)
    without_effect: ClassVar[frozenset[str]] = PLACES

    @model_validator(mode="before")
    @classmethod
    def _following_from_others(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        following = {name for name, field in cls.model_fields.items() if field.default_factory_takes_validated_data}
        return {name: value for name, value in given.items() if value is not None or name not in following}

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: Any, info: ValidationInfo) -> Any:
        """Return 1e6 as an integer where integers are allowed and other numbers are not."""
        kind = cls.model_fields[str(info.field_name)].annotation
        allowed = (kind, *get_args(kind))
        is_whole = isinstance(value, float) and value.is_integer() and int in allowed and float not in allowed
        return int(value) if is_whole else value

    def decisive(self) -> dict[str, Any]:
        """Return the resolved config as JSON values, without fields that have no effect and without the paths of a nested training."""
        return self.model_dump(mode="json", exclude={**dict.fromkeys(self.without_effect, True), "train": set(PLACES)})

    def digest(self) -> str:
        """Return the first 16 hex digits of the SHA-256 of `decisive`, equal on every machine."""
        return digest_of(self.decisive())


def digest_of(decisive: dict[str, Any]) -> str:
    """Return the digest of a config from what its `decisive` returned."""
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


class DataConfig(Config):
    """Location of measured data.

    Attributes:
        root: folder of measured data; None: that of the environment variable VCGYM_DATA, else none (shipped worlds only).
    """

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
    """Address of a Ray cluster.

    Attributes:
        address: a running cluster; "auto": the cluster of this machine; None: no cluster.
    """

    address: Annotated[str, Field(min_length=1)] | None = None
