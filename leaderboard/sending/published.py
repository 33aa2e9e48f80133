"""What S1 (SBPN) and S4 (GCC over Wi-Fi) print, as data: `vcgym.data/published_sending.json`, read and checked.

S1 tells its results in words and pictures: orderings, and one size. A statement is measured as a weighted sum of means, run by run paired,
and judged by the rule that stands with it (`vcgym.leaderboard.reproduce.rules`).
"""

import importlib.resources
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vcgym.leaderboard.reproduce.published import Judged
from vcgym.leaderboard.sending.columns import METRIC
from vcgym.network.cards import Card, DataError, canonical_sha256

FILE = "published_sending.json"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Term(_Record):
    """Mean of a metric of a sender on worlds of a kind, times a weight."""

    weight: float = 1.0
    sender: str
    metric: str
    kind: str = ""

    @model_validator(mode="after")
    def _is_known(self) -> "Term":
        if self.metric not in METRIC:
            raise ValueError(f"metric is {self.metric!r}; allowed: {', '.join(METRIC)}")
        return self


class SendingStatement(Judged):
    """One statement of S1 or S4.

    Attributes:
        setting: which settings it is looked at in: S1's two TCP flows, its random loss, S4's Wi-Fi, or none.
        terms: whose weighted sum is ours.
        share_of: divided by the mean of this term.
        constant: an input of ours that the paper prints too; reproduced by construction.
        unit: of ours; % is shown times 100.
    """

    setting: Literal["tcp", "loss", "wifi", "none"]
    terms: tuple[Term, ...] = ()
    share_of: Term | None = None
    constant: Literal["", "expiry_ms", "loss_low", "loss_high", "encoder_kbps"] = ""
    unit: Literal["%", "points", "ms", ""] = ""


class Published(_Record):
    """The file: a card and the statements."""

    card: Card
    statements: Annotated[tuple[SendingStatement, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _each_once(self) -> "Published":
        names = [statement.id for statement in self.statements]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two statements are called {twice}; allowed: each id once")
        return self


def load_published() -> tuple[SendingStatement, ...]:
    """All statements, in the order of the file."""
    return parse_published(importlib.resources.files("vcgym.data").joinpath(FILE).read_text(encoding="utf-8")).statements


def parse_published(text: str) -> Published:
    """Validate the JSON text of the file.

    Raises:
        DataError: a field that is wrong, or content that does not match the card's hash.
    """
    try:
        published = Published.model_validate_json(text)
    except ValidationError as error:
        raise DataError(FILE, "content", str(error), "the fields of vcgym.leaderboard.sending.published.Published") from error
    body = json.loads(text)
    del body["card"]
    sha256 = canonical_sha256(body)
    if sha256 != published.card.sha256:
        raise DataError(FILE, "sha256 of everything but the card", sha256, f"{published.card.sha256}, as the card says")
    return published
