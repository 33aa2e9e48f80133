"""The three sentences of a board: the first system and its lead, the worlds of the lead, and the result of the user's agent."""

from vcgym.leaderboard.report.board import Board, Line
from vcgym.leaderboard.report.scores.anchored import format_score
from vcgym.leaderboard.report.words.names import mine
from vcgym.leaderboard.statistics import Estimate


def headline(board: Board) -> tuple[str, str, str]:
    """Return the sentences, with 95 % intervals."""
    return _first(board), _where(board), _mine(board)


def change(board: Board, found: Estimate) -> str:
    """Return a difference of the ranked metric with its interval as text: "+4.2 [3.9, 4.5]"; "0" for a system and itself."""
    if not any(found):
        return "0"
    column = board.columns.primary
    value, low, high = (f"{column.factor * end:.{max(1, column.decimals - 1)}f}" for end in found)
    return f"{'' if value.startswith('-') else '+'}{value} [{low}, {high}]"


def _first(board: Board) -> str:
    first, label = board.lines[0], board.columns.primary.label
    tied = sum(line.standing.rank_low == 1 for line in board.lines[1:])
    standing = f"is ahead, tied for first with {tied} of {len(board.lines) - 1} others," if tied else "is first,"
    sentences = [f"{first.standing.system} {standing} with {_level(board, first)} over {board.worlds} worlds: {_beside(board, first)}"]
    if board.axis is not None and board.axis.has_room and first.standing.system != board.published:
        sentences.append(f"That is {format_score(first.value.score or board.axis.room)} % of the {label} that hindsight could have gained.")
    return " ".join(sentences)


def _where(board: Board) -> str:
    name = board.lines[0].standing.system
    if not board.published:
        return "No published system was played, so no lead over one is told by stratum."
    if name == board.published:
        return "Leads are told by stratum over the best published system, which is this one."
    leads = sorted(((one.name, one.to_published[name]) for one in board.strata), key=lambda lead: -lead[1].value)
    if not leads:
        return "All these worlds are of one stratum."
    (most, best), (least, worst) = leads[0], leads[-1]
    unsure = [stratum for stratum, lead in leads if not lead.low > 0.0]
    text = f"Its lead over {board.published} is largest in {most}, {change(board, best)}, and smallest in {least}, {change(board, worst)}"
    return f"{text}; it is not told from 0 in {', '.join(unsure)}." if unsure else f"{text}."


def _mine(board: Board) -> str:
    own = mine(board)
    if not own:
        return "No agent of yours was played: vcgym-leaderboard +agents.NAME=FOLDER adds one."
    best = next(line for line in board.lines if line.standing.system == own[0])
    others = f" (the best of your {len(own)})" if len(own) > 1 else ""
    if best is board.lines[0]:
        return f"Your agent {best.standing.system}{others} is that system."
    return f"Your agent {best.standing.system}{others}, rank {best.rank}, has {_level(board, best)}: {_beside(board, best)}"


def _level(board: Board, line: Line) -> str:
    column = board.columns.primary
    value, low, high = (f"{column.factor * end:.{max(1, column.decimals - 1)}f}" for end in line.estimate(column))
    return f"{column.label} {value} [{low}, {high}]"


def _beside(board: Board, line: Line) -> str:
    """Return the paired differences to the best published system and to the bar as the end of a sentence."""
    value, sentences = line.value, []
    for difference, name, what in (
        (value.to_published, board.published, "published system"),
        (value.to_bar, board.bar.system, "tuned rule"),
    ):
        if difference is not None:
            own = name == line.standing.system
            sentences.append(f"it is the best {what}" if own else f"{change(board, difference)} against {name}, the best {what}")
    return f"{', and '.join(sentences) or 'nothing that it could be compared with was played'}."
