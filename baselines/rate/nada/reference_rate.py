"""NADA, the reference rate at each report (RFC 8698 4.3): accelerated ramp-up without congestion, else gradual update.

    (3)  gamma = min(GAMMA_MAX, QBOUND / (rtt + DELTA + DFILT))
    (4)  r_ref = max(r_ref, (1 + gamma) r_recv)
    (5)  x_offset = x_curr - PRIO XREF RMAX / r_ref
    (6)  x_diff   = x_curr - x_prev
    (7)  r_ref = r_ref - KAPPA delta / TAU x_offset / TAU r_ref - KAPPA ETA x_diff / TAU r_ref

The gradual update is in equilibrium at x_curr = PRIO XREF RMAX / r_ref, so flows with equal x_curr share in proportion to PRIO RMAX.
"""

from vcgym.network.kernels.jit import kernel


@kernel
def gamma(params, rtt_ms):
    """Return the share by which accelerated ramp-up exceeds the received rate (3)."""
    return min(params.max_ramp_up, params.ramp_up_queuing_ms / (rtt_ms + params.report_ms + params.filter_ms))


@kernel
def accelerated(params, r_ref_bps, received_bps, rtt_ms):
    """Return r_ref after accelerated ramp-up (4), in bit/s, float64.

    Args:
        params: Nada.
        r_ref_bps: float64, r_ref before, in bit/s; it does not fall.
        received_bps: float64, r_recv in bit/s, at least 0.
        rtt_ms: float64, round trip, at least 0.
    """
    return max(r_ref_bps, (1.0 + gamma(params, rtt_ms)) * received_bps)


@kernel
def gradual(params, r_ref_bps, max_bps, x_ms, x_before_ms, delta_ms):
    """Return r_ref after a gradual update (7), in bit/s, float64; the caller clips it.

    Args:
        params: Nada.
        r_ref_bps: float64, r_ref before, in bit/s, above 0.
        max_bps: float64, RMAX in bit/s.
        x_ms: float64, x_curr.
        x_before_ms: float64, x_curr of the previous update.
        delta_ms: float64, time since the previous update, above 0.
    """
    offset_ms = x_ms - params.priority * params.x_reference_ms * max_bps / r_ref_bps
    of_offset = params.kappa * (delta_ms / params.tau_ms) * (offset_ms / params.tau_ms)
    return r_ref_bps * (1.0 - of_offset - params.kappa * params.eta * (x_ms - x_before_ms) / params.tau_ms)
