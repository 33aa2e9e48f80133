"""The sentences of a board.

The first system, its lead and where it leads; how the user's agent did; and the first system by R of ITU-T G.107, if R leaves that in some
calls. Then the systems that a tuned rule beats: every ranked system is compared with the bar, the tuned rule that was best on validation
worlds (`vcgym.leaderboard.evaluation.bars`), and is beaten if the 95 % interval of the paired difference is below 0. For agents the same is
said kind by kind, as a lead over all worlds may be one of a few.
"""

import numpy as np

from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import ABOVE_PUBLISHED, ABOVE_TUNED, ATTAINED, START, Board, Line
from vcgym.leaderboard.report.notes import NO_PUBLISHED
from vcgym.leaderboard.report.scores import format_score
from vcgym.leaderboard.report.words.names import own_agents
from vcgym.leaderboard.report.words.systems import in_words, with_id
from vcgym.leaderboard.results.call_metrics import WHOLE_R
from vcgym.leaderboard.results.columns import interval_text
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.ranking import MIN_CALLS
from vcgym.leaderboard.statistics.resampling import NORMAL
from vcgym.network.playout.quality import REDUCED_RANGE_MS, mos


def headline(board: Board) -> tuple[str, ...]:
    """Return the sentences, with 95 % intervals."""
    return _first(board), _where(board), _own(board), *((_long(board),) if board.long_share else ())


def change(board: Board, found: Estimate) -> str:
    """Return a difference of the ranked metric with its interval as text: "+4.2 [3.9, 4.5]"; "0" for a system and itself."""
    text = _value(board, found)
    return "0" if not any(found) else text if text.startswith("-") else f"+{text}"


def _value(board: Board, found: Estimate) -> str:
    """Return a value of the ranked metric with one decimal less than the table has where a difference of 1 is small."""
    column = board.columns.primary
    return interval_text(found, max(1, column.decimals - (board.columns.min_step >= 1.0)), column.factor)


def _first(board: Board) -> str:
    first = board.lines[0]
    tied = first.standing.rank_high - 1
    ties = f" ({tied} of them {'is' if tied == 1 else 'are'} not told apart from it: rank {first.standing.ranks})" if tied else ""
    seeds = f", the mean of {len(first.seeds)} seeds," if first.seeds else ""
    standing = f"first of {len(board.lines)} systems over {board.worlds} worlds{ties}"
    if not first.standing.rank_low:
        few = f"its {board.worlds} calls of measured time count as {board.calls or 0}, a rank needs {MIN_CALLS}"
        standing = f"best of {len(board.lines)} systems, without a rank ({few})"
    share = f", {format_score(first.found[ATTAINED])} % of attainable" if board.has_scores else ""
    return f"{with_id(first.system)}{seeds} is {standing}: {_level(board, first)}. {_compared(board, first, share)}"


def worth(board: Board) -> str:
    """Return what 3 R more are worth to a listener, at the level of the best published system; "" if the board is ranked otherwise.

    Source: ITU-T G.107 Annex B, MOS and the share of listeners who call a connection good or better, the normal law at (R - 60) / 16.
    """
    primary = board.columns.primary
    if primary.name != "r" or "mos" not in board.columns.metric:
        return ""
    names = {line.system: line for line in board.lines}
    level = names.get(board.published, board.lines[0]).found[primary.name].value
    ends = level, level + 3.0
    opinions = [float(mos(np.array([end]))[0]) for end in ends]
    good = [100.0 * NORMAL.cdf((end - 60.0) / 16.0) for end in ends]
    return (
        f"At R {level:.0f}, 3 R more are {opinions[1] - opinions[0]:.2f} of MOS (1 to 4.5): {good[1]:.0f} in place of {good[0]:.0f} of 100 "
        "listeners call the call good or better (ITU-T G.107)."
    )


def _where(board: Board) -> str:
    name = board.lines[0].system
    if not board.strata:
        return "All these worlds are of one kind."
    if not board.published:
        return next(
            (note for note in board.notes if note.startswith(NO_PUBLISHED)),
            "No published system was played, so no kind of world shows a lead over one.",
        )
    if name == board.published:
        return "It is the published system over which leads in each kind of world are counted."
    leads = sorted(((one.name, one.found[name][ABOVE_PUBLISHED]) for one in board.strata), key=lambda lead: -lead[1].value)
    (most, best), (least, worst) = leads[0], leads[-1]
    ends = f"largest in {most}, {change(board, best)}, and smallest in {least}, {change(board, worst)}"
    text = f"Its lead over {in_words(board.published)} is {ends}"
    unsure = ", ".join(stratum for stratum, lead in leads if not (lead.low > 0.0 or lead.high < 0.0))
    behind = ", ".join(stratum for stratum, lead in leads if lead.high < 0.0)
    return text + (f"; in {unsure} its interval contains 0" if unsure else "") + (f"; it is behind in {behind}" if behind else "") + "."


def _own(board: Board) -> str:
    own = own_agents(board)
    if not own:
        suite = SUITES.get(board.conditions["suite"].replace(" ", "-"))
        if suite and not suite.kind.env_ids:
            return "No system of yours was played: agents.NAME=module:name adds one of rules."
        return "No agent of yours was played: agents.NAME=ppo.zip, agents.NAME=module:name or agents.NAME=FOLDER adds one."
    best = next(line for line in board.lines if line.system == own[0])
    others = f" (the best of your {len(own)})" if len(own) > 1 else ""
    seeds = f", the mean of {len(best.seeds)} seeds" if best.seeds else ""
    if best is board.lines[0]:
        return f"Your agent {best.system}{others} is that system."
    rank = f", rank {best.rank}" if best.rank else ""
    return f"Your agent {best.system}{others}{seeds}{rank}: {_level(board, best)}. {_compared(board, best)}"


def _long(board: Board) -> str:
    best = max(board.lines, key=lambda line: np.nan_to_num(line.found[WHOLE_R.name].value))
    name, value = best.system, best.found[WHOLE_R.name].value
    first = "still first" if best is board.lines[0] else "first"
    return (
        f"{max(0.1, 100.0 * board.long_share):.1f} % of these calls have more than {REDUCED_RANGE_MS:.0f} ms mouth to ear, where R is "
        f"below that of ITU-T G.107; by {WHOLE_R.label}, with its whole delay impairment, {in_words(name)} is {first} ({value:.1f})."
    )


def _level(board: Board, line: Line) -> str:
    column = board.columns.primary
    opinion = f", MOS {line.cell(board.columns.metric['mos'])}" if "mos" in board.columns.metric else ""
    return f"{column.label} {_value(board, line.found[column.name])}{opinion}"


def _compared(board: Board, line: Line, share: str = "") -> str:
    """Return sentences with the paired differences to the best published system, followed by `share`, and to the bar."""
    words = {ABOVE_PUBLISHED: ("published system of this board", share), ABOVE_TUNED: ("tuned rule", "")}
    sentences = []
    for name, statistic in board.references:
        what, after = words[statistic]
        against = f"Against {with_id(name)}, the best {what}: {change(board, line.found[statistic])}{after}."
        sentences.append(f"It is the best {what}." if name == line.system else against)
    return " ".join(sentences) or "Nothing that it could be compared with was played."


def beaten(board: Board) -> list[Line]:
    """Return the lines of the systems that the bar beats, best first; none without a bar."""
    return [line for line in board.lines if board.bar.system and line.found[ABOVE_TUNED].high < 0.0]


def of_tuned_rule(board: Board) -> str:
    """Return who is beaten by the tuned rule as a sentence, agents first and with their differences."""
    tuned, primary, lost = board.bar.system, board.columns.primary, beaten(board)
    if not tuned:
        return board.bar.about
    agents = [line for line in board.lines if line.kind in AGENT_KINDS]
    names = [f"agent {line.system} ({primary.interval(line.found[ABOVE_TUNED])})" for line in agents if line in lost]
    names += [line.system for line in lost if line not in agents]
    words = [f"Beaten by a tuned rule ({primary.label} against {tuned}): {', '.join(names)}." if lost else "It beats no other system."]
    if ahead := [f"agent {line.system}" for line in agents if line not in lost]:
        words.append(f"Not beaten by it: {', '.join(ahead)}.")
    return " ".join([board.bar.about, *words, *by_kind(board)])


def by_kind(board: Board) -> tuple[str, ...]:
    """Return a sentence for each agent, best first: the kinds of worlds in which it is ahead of the bar, behind it, or neither.

    Without a bar, or with one kind of world, there are none; an agent before its first update has none.
    """
    agents = [line.system for line in board.lines if line.kind in AGENT_KINDS and not line.system.endswith(START)]
    return tuple(_by_kind(board, name) for name in agents) if board.strata and board.bar.system else ()


def _by_kind(board: Board, name: str) -> str:
    found = sorted(((one.name, one.found[name][ABOVE_TUNED]) for one in board.strata), key=lambda kind: -kind[1].value)
    parts = []
    for word, kinds in (
        ("ahead in", [f"{kind} ({change(board, lead)})" for kind, lead in found if lead.low > 0.0]),
        ("behind in", [f"{kind} ({change(board, lead)})" for kind, lead in reversed(found) if lead.high < 0.0]),
        ("not told apart in", [kind for kind, lead in found if not (lead.low > 0.0 or lead.high < 0.0)]),
    ):
        parts += [f"{word} {', '.join(kinds)}"] if kinds else []
    return f"By kind, agent {in_words(name)} against {in_words(board.bar.system)} ({board.columns.primary.label}): {'; '.join(parts)}."
