"""Rows of the ping statistics to which links are fitted: CSV files in the folder `wonderproxy` under the data root."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.columns import read_table
from vcgym.network.traces.reading import read_content

FOLDER = "wonderproxy"
Row = TypeVar("Row", bound=BaseModel)


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
