"""The report page: one self-contained HTML file from the stored results; the same files give the same bytes."""

import base64
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from vcgym.leaderboard.report.board import Board, Line, board_name, boards
from vcgym.leaderboard.report.figure import Stroke, delay_figure, pareto_figure, price_figure, profile_figure, strokes
from vcgym.leaderboard.report.ladder import ladder_tables
from vcgym.leaderboard.report.page import explorer, tables
from vcgym.leaderboard.report.page.data_cards import read_cards
from vcgym.leaderboard.report.page.picture import ROLES, picture
from vcgym.leaderboard.report.series import Picture, pictures_of_pages
from vcgym.leaderboard.report.table import markdown, render, without_markup
from vcgym.leaderboard.report.text_tables import details
from vcgym.leaderboard.report.words.names import STRATA, codes, own_agents
from vcgym.leaderboard.report.words.remarks import remarks
from vcgym.leaderboard.report.words.sentences import headline, of_tuned_rule, worth
from vcgym.leaderboard.results.cdf import Cdfs, by_method, of_board, read_cdfs
from vcgym.leaderboard.results.files import DELAY_CDF, TIMELINE, read, read_with_oracles
from vcgym.leaderboard.statistics.seeds import methods
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.plain_file import read_plain, replace_file

REPORT = "report.html"
_PNG, _MAX_PICTURE_BYTES = b"\x89PNG\r\n\x1a\n", 1 << 24
_PAGE = Path(__file__).parent / "page"


class Stored(NamedTuple):
    """Files of a finished run.

    Results, including any oracles; delay distributions, of a method over its trainings; timelines of sessions, of a method those of its
    first training; cards (hash, scenarios, cards) of the data; sentences
    on the user's own traces and on agents that were left out; and pictures over time (its words, system, PNG
    in base64).
    """

    results: pa.Table
    cdfs: Cdfs
    timelines: list[dict[str, Any]]
    cards: list[tuple[str, str, list[Card]]]
    remarks: list[str]
    pictures: list[tuple[Picture, str, str]]

    @classmethod
    def read(cls, folder: Path) -> "Stored":
        """Read the files in `folder`.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file was not written by a run.
        """
        results = read_with_oracles(folder)
        of_methods = methods(results["system"].unique().to_pylist())
        cdfs = by_method(read_cdfs(read(DELAY_CDF, folder / "cdf.parquet")), of_methods)
        first = {runs[0]: name for name, runs in of_methods.items()}
        rows = read(TIMELINE, folder / "timeline.parquet").to_pylist()
        timelines = [row | {"system": first.get(row["system"], row["system"])} for row in rows]
        drawn = ((one, path) for one in pictures_of_pages() for path in sorted(folder.glob(f"{one.prefix}*.png")))
        pictures = [(one, path.stem.removeprefix(one.prefix), _png(path)) for one, path in drawn]
        return cls(results, cdfs, timelines, read_cards(folder), remarks(folder), pictures)


def _png(path: Path) -> str:
    """Return a PNG file in base64. A page repeats it, so no link is followed: it could lead to anything of the user's.

    Raises:
        DataError: it is no plain PNG file.
    """
    content = read_plain(path, _MAX_PICTURE_BYTES, links=False)
    if not content.startswith(_PNG):
        raise DataError(path, "content", content[: len(_PNG)], f"that of a picture, which begins with {_PNG!r}")
    return base64.b64encode(content).decode()


def publish(folder: Path) -> list[Board]:
    """Write `report.html` and `leaderboard.md` from the files of a run, all in `folder`, and return the boards.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file was not written by a run, or a system has not played all worlds of a mode.
    """
    stored = Stored.read(folder)
    ranked = boards(stored.results)
    replace_file(folder / REPORT, board_page([(ranked, stored)]).encode())
    remarks = "".join(f"\n{line}\n" for line in stored.remarks)
    replace_file(folder / "leaderboard.md", without_markup(markdown(ranked) + remarks).encode())
    return ranked


def publish_together(folders: Sequence[Path], page: Path) -> None:
    """Write one page over the runs in `folders`, one suite each, with a filter by suite.

    Raises:
        FileNotFoundError, ValueError: there is no folder; see also `publish`.
    """
    if not folders:
        raise FileNotFoundError(f"no folder in {page.parent} has a results.parquet; a page needs a run, and results=FOLDER of its folder")
    stored = [Stored.read(folder) for folder in folders]
    replace_file(page, board_page([(boards(one.results), one) for one in stored]).encode())


def board_page(runs: Sequence[tuple[list[Board], Stored]]) -> str:
    """Return the page as text.

    Args:
        runs: boards of each run, one per mode, and the files they were made from.

    Raises:
        ValueError: a system has no delay distribution in a mode.
    """
    ranked = [board for of_run, _ in runs for board in of_run]
    first = {name for board in ranked for name in _first(board)}
    drawn = strokes({line.system: line.kind for board in ranked for line in board.lines}, first)
    shared = {name: value for name, value in ranked[0].conditions.items() if all(board.conditions.get(name) == value for board in ranked)}
    modes = [_mode(board, stored, drawn, shared) for of_run, stored in runs for board in of_run]
    return render(
        _PAGE / "page.html.j2",
        modes=modes,
        suites=sorted({mode["suite"] for mode in modes}),
        shared=shared,
        remarks=[line for _, stored in runs for line in stored.remarks],
        codes=codes(line.system for board in ranked for line in board.lines),
        strata={name: words for name, words in STRATA.items() if any(name in board.conditions["strata"].split(", ") for board in ranked)},
        roles=ROLES,
        difference_columns=tables.DIFFERENCES,
        value_columns=tables.VALUE,
        cost_columns=tables.COST_HEADINGS,
        footnotes=list(dict.fromkeys(board.columns.footnote for board in ranked)),
        across=_ranks_across_modes(ranked),
        cards={key: (scenarios, cards) for _, stored in runs for key, scenarios, cards in stored.cards},
        style=(_PAGE / "page.css").read_text(encoding="utf-8"),
        script=(_PAGE / "page.js").read_text(encoding="utf-8"),
        data=_data(modes, drawn),
    )


def _first(board: Board) -> list[str]:
    """Return the systems that the figures of a board show initially."""
    kinds = {line.system: line.kind for line in board.lines}
    return explorer.drawn_at_first(list(kinds), kinds, board.columns.drawn)


def _mode(board: Board, stored: Stored, drawn: dict[str, Stroke], shared: dict[str, str]) -> dict[str, Any]:
    systems, columns = [line.system for line in board.lines], board.columns
    cdfs = {accounting: of_board(stored.cdfs, board.mode, accounting) for accounting, _ in columns.curves}
    for accounting, by_system in cdfs.items():
        absent = sorted(set(systems) - set(by_system))
        if absent:
            raise ValueError(f"no {accounting} delay distribution in mode {board.mode!r} for systems {absent}")
    named = {system: drawn[system] for system in sorted(_first(board), key=list(drawn).index)}
    kinds = {line.system: line.kind for line in board.lines}
    timelines = [row for row in stored.timelines if board_name(row["mode"], row["stratum"]) == board.mode]
    return {
        "name": board.mode,
        "suite": board.conditions["suite"],
        "worlds": board.worlds,
        "conditions": {name: value for name, value in board.conditions.items() if name not in shared},
        "primary": columns.primary,
        "groups": columns.grouped,
        "bands": columns.bands,
        "pair_word": columns.pairs,
        "bodies": tables.bodies(board),
        "headline": headline(board),
        "worth": worth(board),
        "tuned_rule": of_tuned_rule(board),
        "own": {run for line in board.lines if line.system in own_agents(board) for run in (line.system, *line.runs)},
        "picture": picture(board),
        "price": price_figure(board.lines, columns) if columns.price else "",
        "notes": board.notes,
        "pairs": tables.pair_tables(stored.results, board),
        "figures": [
            *(delay_figure(cdfs[accounting], named, title) for accounting, title in columns.curves),
            profile_figure(columns.primary, columns.profile, board.profile_curves, named),
            *(pareto_figure(board.fronts[plane.name], kinds, named, plane) for plane in columns.fronts),
        ],
        "pictures": stored.pictures,
        "tables": [*details(board), *ladder_tables(columns.ladder, columns.primary.decimals)],
        "legend": list(named.items()),
        "systems": systems,
        "kinds": kinds,
        "explore": {
            "systems": systems,
            "drawn": _first(board),
            "scenarios": explorer.curves(stored.cdfs, board.mode, systems, columns.curves[0][0]),
            "sessions": explorer.sessions(timelines, systems),
        },
        "curve": columns.curves[0][1],
    }


def _data(modes: list[dict[str, Any]], drawn: dict[str, Stroke]) -> str:
    """Return the data of the script as JSON that is safe within a page."""
    data = {"strokes": drawn, "step_ms": explorer.STEP_MS, "modes": [mode["explore"] for mode in modes]}
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("&", "\\u0026")


def _ranks_across_modes(ranked: Sequence[Board]) -> list[tuple[str, str, list[str]]]:
    """Return (system, kind, rank in each mode), sorted by the best rank in any mode; empty for a single mode."""
    if len(ranked) < 2:
        return []
    by_system: dict[str, list[Line | None]] = {}
    for number, board in enumerate(ranked):
        for line in board.lines:
            by_system.setdefault(line.system, [None] * len(ranked))[number] = line
    found = {system: [line for line in lines if line] for system, lines in by_system.items()}
    order = sorted(by_system, key=lambda system: (sorted(line.standing.rank_high or math.inf for line in found[system]), system))
    return [(system, found[system][0].kind, [line.rank if line else "not run" for line in by_system[system]]) for system in order]
