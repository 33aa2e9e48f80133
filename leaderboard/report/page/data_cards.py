"""Cards of the data of the worlds, saved with the results so that the page can show the sources without the data."""

import json
from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from vcgym.leaderboard.evaluation.kinds.kind import Kind
from vcgym.leaderboard.evaluation.kinds.protected import ProtectedScenario
from vcgym.leaderboard.evaluation.kinds.whole import WholeScenario
from vcgym.leaderboard.evaluation.suites import MEASURED
from vcgym.network.bottleneck.capacity.sets import FOLDER, GENERATED
from vcgym.network.scenarios.bottleneck.rate_worlds import SETS
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.paths.fitted import Fitted
from vcgym.network.scenarios.paths.replay import Replay
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card, DataError, data_root
from vcgym.network.traces.catalogue import entries, shipped
from vcgym.network.traces.plain_file import read_json, replace_file
from vcgym.network.traces.refusal import faults, one_line

FILE_NAME = "cards.json"
_MAX_BYTES = 1 << 26  # a card for each of the user's traces


class _Cards(BaseModel):
    scenarios: list[str]
    cards: list[Card]


_CARDS = TypeAdapter(dict[str, _Cards])


def write_cards(kind: Kind, scenarios: Iterable[Any], folder: Path) -> None:
    """Write `cards.json`: for each card hash in the results, the scenarios (opened by `kind`) and the cards of their files."""
    known = {entry.card.sha256: entry.card for entry in entries(shipped()) if entry.card is not None}
    found: dict[str, dict[str, Any]] = {}
    for scenario in scenarios:
        of_hash = found.setdefault(kind.card(scenario), {"scenarios": [], "cards": []})
        of_hash["scenarios"] = sorted({*of_hash["scenarios"], Path(scenario.name).name})
        of_hash["cards"] = [card.model_dump() for card in _cards(scenario, known)]
    replace_file(folder / FILE_NAME, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())


@singledispatch
def _cards(scenario: Any, known: dict[str, Card]) -> list[Card]:
    """Return the cards of the measured series or of the shipped file, by the scenario's `card`; none for one declared in code."""
    return [known[scenario.card]] if getattr(scenario, "card", None) in known else []


@_cards.register
def _(scenario: SendingScenario, known: dict[str, Card]) -> list[Card]:
    if scenario.name == MEASURED:
        return _set_cards()
    return [card for card in known.values() if scenario.name == "rate" and card.name == GENERATED]


@_cards.register
def _(scenario: ProtectedScenario, known: dict[str, Card]) -> list[Card]:
    return _cards(scenario.paths, known)


@_cards.register
def _(scenario: WholeScenario, known: dict[str, Card]) -> list[Card]:
    return [*_cards(scenario.paths, known), *_cards(scenario.uplink, known)]


@_cards.register
def _(scenario: Scenario, known: dict[str, Card]) -> list[Card]:
    if isinstance(scenario.recipe, Replay | Fitted):
        return scenario.recipe.cards()
    return [known[scenario.layout.card]] if scenario.layout.card in known else []


def _set_cards() -> list[Card]:
    """Return the cards of the files of the measured capacity traces."""
    names = {name for sets in SETS.values() for name in sets}
    found = (entry for entry in entries(data_root() / FOLDER) if entry.card is not None)
    return [entry.card for entry in found if entry.card and entry.name.partition(".")[0].partition("/")[0] in names]


def read_cards(folder: Path) -> list[tuple[str, str, list[Card]]]:
    """Return the (hash, scenarios, cards) of `cards.json`; empty without such a file.

    Raises:
        ValueError: the file was not written by `write_cards`.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return []
    try:
        found = _CARDS.validate_python(read_json(path, _MAX_BYTES))
    except (DataError, ValidationError) as error:
        fault = faults(error) if isinstance(error, ValidationError) else str(error).removeprefix(f"{path}: ")
        raise ValueError(one_line(f"{path} is not what a run writes: {fault}")) from error
    return [(key, ", ".join(one.scenarios), one.cards) for key, one in found.items()]
