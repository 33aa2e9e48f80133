"""Our values beside S1 and S4: weighted sums of metrics over paired runs."""

from collections.abc import Mapping

import numpy as np

from lab.papers.senders.statements import SendingStatement, Term
from vcgym.baselines.rate.gcc.loss import HIGH, LOW
from vcgym.leaderboard.statistics import Estimate
from vcgym.leaderboard.statistics.student import interval
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.scenarios.bottleneck.sending_scenarios import order_link

ENCODER_KBPS = 2500.0  # S4

Played = Mapping[tuple[str, str, str], list[dict[str, float]]]
"""Setting's label, kind and sender to the metrics of its runs."""


def measured(statement: SendingStatement, played: Played, label: str) -> Estimate:
    """Return our value in one setting."""
    if statement.constant:
        expiry_ms = order_link("", 0, constant(1e6)).expiry_ms
        value = {"expiry_ms": expiry_ms, "loss_low": LOW, "loss_high": HIGH, "encoder_kbps": ENCODER_KBPS}[statement.constant]
        return Estimate(*[float(value)] * 3)
    if not statement.terms:
        return Estimate(*[float("nan")] * 3)
    total = np.sum([term.weight * _values(term, played, label) for term in statement.terms], axis=0)
    if statement.share_of is not None:
        reference = _values(statement.share_of, played, label).mean()
        total = total / reference if reference > 0.0 else np.full(len(total), np.nan)
    return interval([total])


def _values(term: Term, played: Played, label: str) -> np.ndarray:
    return np.array([run[term.metric] for run in played[label, term.kind, term.sender]])
