"""Functions that each rule of link rates defines: the cut that a session's rate depends on, and the steps of link rates."""

import functools
from typing import Any, NamedTuple

from vcgym.network.kernels.generic import generic


class Update(NamedTuple):
    """Knowledge of an overlay link's receiver about a session, at an update of the session's rate on the link.

    Attributes:
        worth: marginal utility of the link rate, s: `marginal` times the weight of the link in the session's cut.
        marginal: marginal utility of the session's rate, s.
        loss: share of packets lost on the link since the last update.
        queueing_s: mean queueing on the link since the last update.
        risen_s: `queueing_s` less that of the update before.
        usual_kbps: mean rate of all sessions.
        rate_kbps: rate of the session on the link.
        quick: True during the session's quick start.
        first: True if the link leaves the session's source.
        parties: number of parties.
    """

    worth: float
    marginal: float
    loss: float
    queueing_s: float
    risen_s: float
    usual_kbps: float
    rate_kbps: float
    quick: bool
    first: bool
    parties: int


@generic(abstract=True)
def weigh_cut(params, source, receives, rates_kbps, delay_ms, cut):
    """Return the min-cut of a session in kbps, and fill `cut` with the weight of each overlay link in it, 0 to 1.

    Args:
        params: rule.
        source: source party.
        receives: (P,) bool; only these parties receive and relay.
        rates_kbps: (P, P), rates of this session on overlay links.
        delay_ms: (P, P), infinite for a missing link.
        cut: (P, P) float64, overwritten.
    """


@generic(abstract=True)
def change_kbps(params, update):
    """Return the change in kbps of a session's rate on an overlay link, given an `Update`."""


@generic()
def recovery_share(params):
    """Return the share of unused link rates that carries coded packets, 0 to 1."""
    return 0.0


@functools.singledispatch
def own_ranges(params: Any) -> dict[str, tuple[float, float]]:
    """Return the allowed range of each parameter that Celerity does not have."""
    return {}
