"""Stages of the calls of a suite: each adds controls and columns, and together they decide how calls are played.

    SENDER       send queue, pacer and a shared bottleneck: rate and order
    PATHS        paths and a receiver: path and playout
    PROTECTED    the same, with or without protection within a budget of bytes
    LINKED       protected calls behind a link that calls alike share
    CONFERENCE   several calls whose media share links: trees

ORDERED and CASES are the sender as other suites rank and measure it; AFTER_SENDER are paths behind a sender.
"""

from typing import NamedTuple

from vcgym.baselines.controls import control
from vcgym.baselines.controls.control import Control, controls_of
from vcgym.leaderboard.evaluation.plays.bottleneck import BottleneckPlay, CasesPlay
from vcgym.leaderboard.evaluation.plays.conferences import ConferencePlay
from vcgym.leaderboard.evaluation.plays.linked import LinkedPlay
from vcgym.leaderboard.evaluation.plays.paths import PathsPlay
from vcgym.leaderboard.evaluation.plays.play import Play
from vcgym.leaderboard.evaluation.plays.protected import ProtectedPlay
from vcgym.leaderboard.evaluation.plays.whole import WholePlay
from vcgym.leaderboard.evaluation.published import AGENT_ENV, ORDER_ENV, PATHS_ENVS, RATE_ENV
from vcgym.leaderboard.results.call_columns import CALL
from vcgym.leaderboard.results.columns import Columns
from vcgym.leaderboard.results.conference_columns import CONFERENCE as CONFERENCE_COLUMNS
from vcgym.leaderboard.results.protected_columns import LINKED as LINKED_COLUMNS
from vcgym.leaderboard.results.protected_columns import PROTECTED as PROTECTED_COLUMNS
from vcgym.leaderboard.results.sender_columns import ORDER, RATE, RMCAT
from vcgym.leaderboard.results.whole_columns import AFTER_SENDER as AFTER_SENDER_COLUMNS


class SuiteStage(NamedTuple):
    """Stage of the calls of a suite.

    Attributes:
        name: name of the stage, unique.
        controls: controls that it has.
        columns: columns of its rows, and their display.
        envs: ids of the environments whose agents play it, with the stages before it, that of a user's own policy first.
        tuned_apart: True if a rule tuned on another scenario is no reference.
    """

    name: str
    controls: tuple[Control, ...]
    columns: Columns
    envs: tuple[str, ...] = ()
    tuned_apart: bool = False


PATHS = SuiteStage("paths", controls_of(control.PATHS), CALL, PATHS_ENVS)
PROTECTED = SuiteStage("protected paths", (*controls_of(control.PATHS), *controls_of(control.PROTECTED)), PROTECTED_COLUMNS)
LINKED = PROTECTED._replace(name="protected paths behind a link", columns=LINKED_COLUMNS)
SENDER = SuiteStage("sender", controls_of(control.BOTTLENECK), RATE, (RATE_ENV, ORDER_ENV), tuned_apart=True)
ORDERED = SENDER._replace(name="ordered", columns=ORDER, envs=(ORDER_ENV, RATE_ENV))
CASES = SENDER._replace(name="cases", columns=RMCAT, envs=())
AFTER_SENDER = PATHS._replace(name="paths after a sender", columns=AFTER_SENDER_COLUMNS, envs=(AGENT_ENV,))
CONFERENCE = SuiteStage("conference", controls_of(control.CONFERENCE), CONFERENCE_COLUMNS)

PLAYS: dict[tuple[str, ...], Play] = {
    (PATHS.name,): PathsPlay(),
    (PROTECTED.name,): ProtectedPlay(),
    (LINKED.name,): LinkedPlay(),
    (SENDER.name,): BottleneckPlay(),
    (ORDERED.name,): BottleneckPlay(),
    (CASES.name,): CasesPlay(),
    (CONFERENCE.name,): ConferencePlay(),
    (SENDER.name, AFTER_SENDER.name): WholePlay(),
}
"""Names of stages -> play of calls that have them."""
