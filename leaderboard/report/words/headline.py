"""The sentences of a board.

The first system, its lead and where it leads; how the user's agent did; and the first system by R of ITU-T G.107, if
R leaves that in some calls.
"""

import numpy as np

from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import Board, Line
from vcgym.leaderboard.report.long_calls import WHOLE
from vcgym.leaderboard.report.notes import NO_PUBLISHED
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.names import mine
from vcgym.leaderboard.report.words.systems import in_words, with_id
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.laws import NORMAL
from vcgym.leaderboard.statistics.ranking import MIN_CALLS
from vcgym.network.playout.quality import REDUCED_RANGE_MS, mos


def headline(board: Board) -> tuple[str, ...]:
    """Return the sentences, with 95 % intervals."""
    return _first(board), _where(board), _mine(board), *((_long(board),) if board.long_share else ())


def change(board: Board, found: Estimate) -> str:
    """Return a difference of the ranked metric with its interval as text: "+4.2 [3.9, 4.5]"; "0" for a system and itself."""
    if not any(found):
        return "0"
    column = board.columns.primary
    value = f"{column.factor * found.value:.{_decimals(board)}f}"
    return f"{'' if value.startswith('-') else '+'}{value}{_ends(board, found)}"


def _ends(board: Board, found: Estimate) -> str:
    """Return the interval of a value of the ranked metric as text; "" if there are too few worlds for one."""
    low, high = (f"{board.columns.primary.factor * end:.{_decimals(board)}f}" for end in (found.low, found.high))
    return f" [{low}, {high}]" if np.isfinite(found.low) else ""


def _first(board: Board) -> str:
    first = board.lines[0]
    tied = first.standing.rank_high - 1
    told = f" ({tied} of them {'is' if tied == 1 else 'are'} not told apart from it: rank {first.standing.ranks})" if tied else ""
    seeds = f", the mean of {len(first.seeds)} seeds," if first.seeds else ""
    standing = f"first of {len(board.lines)} systems over {board.worlds} worlds{told}"
    if not first.standing.rank_low:
        few = f"its {board.worlds} calls of measured time count as {board.calls or 0}, a rank needs {MIN_CALLS}"
        standing = f"best of {len(board.lines)} systems, without a rank ({few})"
    share = ""
    if board.axis is not None and board.axis.has_room:
        share = f", {format_score(first.value.score or board.axis.room)} % of attainable"
    return f"{with_id(first.standing.system)}{seeds} is {standing}: {_level(board, first)}. {_beside(board, first, share)}"


def worth(board: Board) -> str:
    """Return what 3 R more are worth to a listener, at the level of the best published system; "" if the board is ranked otherwise.

    Source: ITU-T G.107 Annex B, MOS and the share of listeners who call a connection good or better, the normal law at (R - 60) / 16.
    """
    primary = board.columns.primary
    if primary.name != "r" or "mos" not in board.columns.metric:
        return ""
    names = {line.standing.system: line for line in board.lines}
    level = names.get(board.published, board.lines[0]).estimate(primary).value
    ends = level, level + 3.0
    opinions = [float(mos(np.array([end]))[0]) for end in ends]
    good = [100.0 * NORMAL.cdf((end - 60.0) / 16.0) for end in ends]
    return (
        f"At R {level:.0f}, 3 R more are {opinions[1] - opinions[0]:.2f} of MOS (1 to 4.5): {good[1]:.0f} in place of {good[0]:.0f} of 100 "
        "listeners call the call good or better (ITU-T G.107)."
    )


def _where(board: Board) -> str:
    name = board.lines[0].standing.system
    if not board.strata:
        return "All these worlds are of one kind."
    if not board.published:
        return next(
            (note for note in board.notes if note.startswith(NO_PUBLISHED)),
            "No published system was played, so no kind of world shows a lead over one.",
        )
    if name == board.published:
        return "It is the published system over which leads in each kind of world are counted."
    leads = sorted(((one.name, one.to_published[name]) for one in board.strata), key=lambda lead: -lead[1].value)
    (most, best), (least, worst) = leads[0], leads[-1]
    ends = f"largest in {most}, {change(board, best)}, and smallest in {least}, {change(board, worst)}"
    text = f"Its lead over {in_words(board.published)} is {ends}"
    unsure = ", ".join(stratum for stratum, lead in leads if not (lead.low > 0.0 or lead.high < 0.0))
    behind = ", ".join(stratum for stratum, lead in leads if lead.high < 0.0)
    return text + (f"; in {unsure} its interval contains 0" if unsure else "") + (f"; it is behind in {behind}" if behind else "") + "."


def _mine(board: Board) -> str:
    own = mine(board)
    if not own:
        suite = SUITES.get(board.conditions["suite"].replace(" ", "-"))
        if suite and not suite.kind.env_ids:
            return "No system of yours was played: agents.NAME=module:name adds one of rules."
        return "No agent of yours was played: agents.NAME=ppo.zip, agents.NAME=module:name or agents.NAME=FOLDER adds one."
    best = next(line for line in board.lines if line.standing.system == own[0])
    others = f" (the best of your {len(own)})" if len(own) > 1 else ""
    seeds = f", the mean of {len(best.seeds)} seeds" if best.seeds else ""
    if best is board.lines[0]:
        return f"Your agent {best.standing.system}{others} is that system."
    rank = f", rank {best.rank}" if best.rank else ""
    return f"Your agent {best.standing.system}{others}{seeds}{rank}: {_level(board, best)}. {_beside(board, best)}"


def _long(board: Board) -> str:
    best = max(board.lines, key=lambda line: np.nan_to_num(line.estimate(WHOLE).value))
    name, value = best.standing.system, best.estimate(WHOLE).value
    first = "still first" if best is board.lines[0] else "first"
    return (
        f"{max(0.1, 100.0 * board.long_share):.1f} % of these calls have more than {REDUCED_RANGE_MS:.0f} ms mouth to ear, where R is "
        f"below that of ITU-T G.107; by {WHOLE.label}, with its whole delay impairment, {in_words(name)} is {first} ({value:.1f})."
    )


def _level(board: Board, line: Line) -> str:
    column = board.columns.primary
    found = line.estimate(column)
    value = f"{column.factor * found.value:.{_decimals(board)}f}"
    opinion = f", MOS {line.cell(board.columns.metric['mos'])}" if "mos" in board.columns.metric else ""
    return f"{column.label} {value}{_ends(board, found)}{opinion}"


def _decimals(board: Board) -> int:
    """Return one decimal less than the table has where a difference of 1 is small."""
    return max(1, board.columns.primary.decimals - (board.columns.min_step >= 1.0))


def _beside(board: Board, line: Line, share: str = "") -> str:
    """Return sentences with the paired differences to the best published system, followed by `share`, and to the bar."""
    value, sentences = line.value, []
    for difference, name, what, after in (
        (value.to_published, board.published, "published system of this board", share),
        (value.to_bar, board.bar.system, "tuned rule", ""),
    ):
        if difference is not None:
            own = name == line.standing.system
            against = f"Against {with_id(name)}, the best {what}: {change(board, difference)}{after}."
            sentences.append(f"It is the best {what}." if own else against)
    return " ".join(sentences) or "Nothing that it could be compared with was played."
