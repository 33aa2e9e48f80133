"""The tuned-rule gate of a senders' board: whoever the best tuned rule beats is said to be beaten, in words (as on the board of calls)."""

from collections.abc import Collection

import pyarrow as pa

from vcgym.leaderboard.evaluation.cost import TUNED
from vcgym.leaderboard.report.beaten_by_tuned_rule import Against, Gate, sentence
from vcgym.leaderboard.sending.board import ahead, ranks
from vcgym.leaderboard.sending.columns import METRIC
from vcgym.leaderboard.sending.suites import SendingSuite


def gate(suite: SendingSuite, results: pa.Table, oracles: Collection[str], agents: Collection[str]) -> Gate:
    """Everything that is ranked against the tuned rule with the best mean of the suite's primary metric, over the same runs."""
    order = [name for name in ranks(results, suite.primary, oracles) if name not in oracles]
    best = next((name for name in order if name.endswith(TUNED) and name not in agents), "")
    if not best:
        return Gate(suite.name, "", ())
    others = (
        Against(name, "agent" if name in agents else "rule", ahead(results, suite.primary, name, best)) for name in order if name != best
    )  # fmt: skip
    return Gate(suite.name, best, tuple(others))


def said(suite: SendingSuite, results: pa.Table, oracles: Collection[str], agents: Collection[str]) -> str:
    """The gate in words."""
    return sentence(gate(suite, results, oracles, agents), METRIC[suite.primary])
