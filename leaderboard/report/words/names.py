"""Names of systems: the family of a system, and the meaning of each code in its name, as conf/systems.yaml says them."""

import functools
import re
from collections.abc import Collection, Iterable, Sequence
from pkgutil import resolve_name

from vcgym.baselines.controls.control import added_stages
from vcgym.baselines.system_files import system_names, words_of_systems
from vcgym.leaderboard.evaluation.bars import of_any_kind
from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.report.board import START, Board, Line
from vcgym.leaderboard.statistics.seeds import SEED

MAX_ROWS = 12
"""Rows of a short table: the best system of each family."""

STRATA = {
    "quiet": "no link is in a bad hour", "best-link": "a link of the fastest path is in a bad hour",
    "many-links": "the fastest path and three links in ten are in a bad hour", "relay-node": "the best relay and the direct path are bad",
    "user-node": "the receiver's access is in a bad hour, which no route avoids", "transition": "bad hours begin or end during the call",
    "natural": "bad hours come as often as measured", "one-second-bursts": "bursts that end before they are known of",
    "independent": "each packet's delay is drawn by itself", "measured": "measured series",
}  # fmt: skip
"""Strata in words: of calls over paths (`vcgym.network.scenarios.paths.linked`), and those of added stages."""
for _stage in added_stages():
    STRATA |= resolve_name(_stage.strata)


def family(name: str) -> str:
    """Return the family of a shipped system; any other system is its own family, with its trainings and its start (before an update)."""
    if name not in _shipped():
        return name.removesuffix(START).partition(SEED)[0]
    return max((code for code in words_of_systems("families") if name.startswith(code)), key=len, default=name)


def codes(names: Iterable[str]) -> dict[str, str]:
    """Return the meaning of each code in the names of shipped systems, families first."""
    found = {code for name in names if name in _shipped() for code in (family(name), *re.split(r"[-+]", name))}
    return {code: words for table in ("families", "codes") for code, words in words_of_systems(table).items() if code in found}


def meaning(name: str) -> str:
    """Return the meaning of a name, code by code; "" for a system that is not shipped."""
    return "; ".join(words for code, words in codes([name]).items() if code in (name, *re.split(r"[-+]", name)))


def representatives(board: Board, order: Sequence[str]) -> list[str]:
    """Return the representative systems in `order`, best first: the best of each family, the references, and the user's agents."""
    best_of_families = {family(name): name for name in reversed(order)}.values()
    wanted = {*best_of_families, board.published, board.bar.system, *own_agents(board)}
    return [name for name in order if name in wanted]


def few(board: Board, requested: Collection[str] = ()) -> list[Line]:
    """Return a few lines, best first: the first system, references, the rule for unknown paths, the user's agents, those `requested`.

    Where nothing is requested, the others are the best of each family, so that there are at most `MAX_ROWS` lines.
    """
    order = [line.system for line in board.lines]
    always = [order[0], board.published, board.bar.system, of_any_kind(), *own_agents(board)]
    best = dict.fromkeys(name for name in [*always, *representatives(board, order)] if name in order)
    listed = {*always, *requested} if requested else set(list(best)[:MAX_ROWS])
    return [line for line in board.lines if line.system in listed]


def own_agents(board: Board) -> list[str]:
    """Return the agents that are not shipped, best first."""
    return [line.system for line in board.lines if is_own(line.system, line.kind)]


def is_own(name: str, kind: str) -> bool:
    """Return True for an agent or local system that is not shipped, and is not the start of one."""
    return kind in AGENT_KINDS and name not in _shipped() and not name.endswith(START)


@functools.cache
def _shipped() -> frozenset[str]:
    return frozenset(system_names())
