"""NADA, the aggregate congestion signal (RFC 8698 4.2): queuing delay, loss and marks in one number, in ms.

    (1)  d_tilde = d_queue                                        if d_queue < QTH, or no loss is recent
                 = QTH exp(-LAMBDA (d_queue - QTH) / QTH)         otherwise
    (2)  x_curr  = min(XMAX, d_tilde + DMARK (p_mark / PMRREF)^2 + DLOSS (p_loss / PLRREF)^2)

RFC 8698 prints no XMAX; the authors' program, ns3-rmcat, has 500 ms. Without it x_curr falls by thousands of ms per report after heavy
loss, and the gradual update, which follows the change of x_curr, raises the rate to RMAX while packets are still lost.

A loss is recent while the open loss interval is shorter than MULTILOSS mean loss intervals. Warping keeps a flow from starving beside a
loss-based flow in the same queue: beyond QTH a longer queue counts less.

Left out: the transition of ns3-rmcat from warped to plain delay over one more mean interval.
"""

import math

from vcgym.network.kernels.jit import kernel


@kernel
def warp(params, queuing_ms):
    """Return d_tilde (1) while a loss is recent."""
    if queuing_ms < params.warps_from_ms:
        return queuing_ms
    return params.warps_from_ms * math.exp(-params.warping * (queuing_ms - params.warps_from_ms) / params.warps_from_ms)


@kernel
def is_recent(params, open_interval, mean_interval):
    """Return True if a loss is recent; `mean_interval` 0: no loss so far."""
    return mean_interval > 0.0 and open_interval < params.loss_memory * mean_interval


@kernel
def aggregate(params, delay_ms, p_loss, p_mark):
    """Return x_curr (2) of the possibly warped delay, in ms, float64.

    Args:
        params: Nada.
        delay_ms: float64, d_queue or d_tilde, at least 0.
        p_loss: float64, smoothed share of lost packets, 0 to 1.
        p_mark: float64, smoothed share of marked packets, 0 to 1.
    """
    of_marks = params.mark_penalty_ms * (p_mark / params.mark_reference) ** 2
    of_loss = params.loss_penalty_ms * (p_loss / params.loss_reference) ** 2
    return min(params.max_signal_ms, delay_ms + of_marks + of_loss)
