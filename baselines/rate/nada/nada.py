"""Network-Assisted Dynamic Adaptation: NADA (RFC 8698).

    packets of a report -> delay, loss, marks and rate of the last LOGWIN (packet_log.py, 5.1)
      -> aggregate congestion signal (4.2) -> reference rate (4.3)
      -> encoder and sending rates, by the length of the rate-shaping buffer (5.2)

Each report causes one update, in this order: smooth loss and marks by ALPHA; compute x_curr (2); choose the mode: accelerated ramp-up if no
packet of the log is lost and none had a queuing delay above QEPS, else gradual.

    (1)  d_tilde  = d_queue                                        if d_queue < QTH, or no loss is recent
                  = QTH exp(-LAMBDA (d_queue - QTH) / QTH)         otherwise
    (2)  x_curr   = min(XMAX, d_tilde + DMARK (p_mark / PMRREF)^2 + DLOSS (p_loss / PLRREF)^2)
    (3)  gamma    = min(GAMMA_MAX, QBOUND / (rtt + DELTA + DFILT))
    (4)  r_ref    = max(r_ref, (1 + gamma) r_recv)                 accelerated
    (5)  x_offset = x_curr - PRIO XREF RMAX / r_ref
    (6)  x_diff   = x_curr - x_prev
    (7)  r_ref    = r_ref - KAPPA delta / TAU x_offset / TAU r_ref - KAPPA ETA x_diff / TAU r_ref         gradual
    5.2.1  diff_v = min(0.05 r_ref, BETA_V 8 L FPS), diff_s = min(0.05 r_ref, BETA_S 8 L FPS), L: bytes in the send queue
    5.2.2  encoder max(RMIN, r_ref - diff_v), sending min(RMAX, r_ref + diff_s)

RMIN and RMAX are the minimum and maximum rate of the call; r_ref starts at the call's start rate (RFC 8698: RMIN). RFC 8698 prints no XMAX;
the authors' program, ns3-rmcat, has 500 ms. Without it x_curr falls by thousands of ms per report after heavy loss, and the gradual update,
which follows the change of x_curr, raises the rate to RMAX while packets are still lost.

A loss is recent while the open loss interval is shorter than MULTILOSS mean loss intervals. Warping keeps a flow from starving beside a
loss-based flow in the same queue: beyond QTH a longer queue counts less. The gradual update is in equilibrium at x_curr = PRIO XREF RMAX /
r_ref, so flows with equal x_curr share in proportion to PRIO RMAX.

Left out: the whole milliseconds of ns3-rmcat and its update in the middle of a report; its own detection of missing reports; its
transition from warped to plain delay over one more mean interval.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.rate.nada.packet_log import (
    Log,
    add_packet,
    has_enough,
    longest_queue_us,
    lost,
    mean_loss_interval,
    queuing_us,
    received_bps,
    round_trip_us,
    span,
)
from vcgym.baselines.rule import Control, record, rule
from vcgym.network.kernels.jit import kernel

_MAX_SHAPED = 0.05  # RFC 8698 5.2.1


@record
class State:
    """State of a session."""

    log: Log = Log()
    r_ref_bps: float = 0.0
    received_bps: float = 0.0  # r_recv
    x_ms: float = 0.0  # x_curr of the newest update
    p_loss: float = 0.0
    p_mark: float = 0.0
    lost: int = 0  # lost packets in the log
    known_us: int = -1  # arrival of the newest report
    updated_us: int = -1  # last update; before the first, the first send time; -1: unknown
    waiting_bytes: int = 0  # L
    min_bps: float = 0.0
    max_bps: float = 0.0


@rule(Control.RATE, nada=State)
class Nada(NamedTuple):
    """Parameters of RFC 8698, figure 3, with their symbols there, and one of the authors' program."""

    priority: Annotated[float, (0.01, 100.0)] = 1.0  # PRIO, weight of the flow
    x_reference_ms: Annotated[float, (1.0, 1e4)] = 10.0  # XREF, equilibrium signal of a flow of weight 1 at RMAX
    kappa: Annotated[float, (0.0, 10.0)] = 0.5  # KAPPA, gain of the gradual update
    eta: Annotated[float, (0.0, 100.0)] = 2.0  # ETA, weight of the signal's change in it
    tau_ms: Annotated[float, (1.0, 1e4)] = 500.0  # TAU, maximum round trip for which the gains are designed
    report_ms: Annotated[float, (1.0, 1e4)] = 100.0  # DELTA, report interval
    log_ms: Annotated[float, (1.0, 1e4)] = 500.0  # LOGWIN, length of the log
    no_queue_ms: Annotated[float, (0.0, 1e4)] = 10.0  # QEPS, maximum queuing delay for accelerated ramp-up
    filter_ms: Annotated[float, (0.0, 1e4)] = 120.0  # DFILT, delay of the filters
    max_ramp_up: Annotated[float, (0.0, 1.0)] = 0.5  # GAMMA_MAX, maximum step of accelerated ramp-up, a share
    ramp_up_queuing_ms: Annotated[float, (0.0, 1e4)] = 50.0  # QBOUND, queuing delay that ramp-up may cause
    loss_memory: Annotated[float, (0.0, 1e4)] = 7.0  # MULTILOSS, number of mean loss intervals for which a loss is recent
    warps_from_ms: Annotated[float, (1.0, 1e4)] = 50.0  # QTH, queuing delay above which it is warped while a loss is recent
    warping: Annotated[float, (0.0, 100.0)] = 0.5  # LAMBDA, strength of warping
    loss_reference: Annotated[float, (1e-6, 1.0)] = 0.01  # PLRREF, loss that costs `loss_penalty_ms`
    mark_reference: Annotated[float, (1e-6, 1.0)] = 0.01  # PMRREF, share of marks that costs `mark_penalty_ms`
    loss_penalty_ms: Annotated[float, (0.0, 1e4)] = 10.0  # DLOSS
    mark_penalty_ms: Annotated[float, (0.0, 1e4)] = 2.0  # DMARK
    max_signal_ms: Annotated[float, (1.0, math.inf)] = math.inf  # XMAX of ns3-rmcat (500 there), maximum of x_curr; inf: none
    smoothing: Annotated[float, (0.0, 1.0)] = 0.1  # ALPHA, weight of the newest shares of loss and marks
    frames_per_s: Annotated[float, (1.0, 1000.0)] = 30.0  # FPS, for the rate-shaping buffer
    encoder_yields: Annotated[float, (0.0, 1.0)] = 0.1  # BETA_V, reduction of the encoder's rate by the buffer; 0: none
    sending_rises: Annotated[float, (0.0, 1.0)] = 0.1  # BETA_S, increase of the sending rate by the buffer

    def init(self, nada, start, key):
        nada.r_ref_bps, nada.min_bps, nada.max_bps = start.start_bps, start.min_bps, start.max_bps

    def update(self, nada, record):
        nada.known_us = record.known_us
        if nada.updated_us < 0:
            nada.updated_us = record.sent_us
        if record.arrived_us >= 0:
            add_packet(nada.log, np.int64(self.log_ms * 1000.0), record)

    def see_sender(self, nada, status):
        nada.waiting_bytes = status.waiting_bytes

    def decide(self, nada, now_us):
        if nada.known_us > nada.updated_us and nada.log.after > nada.log.first:
            _on_report(self, nada)
        return np.int64(_encoder_bps(self, nada))

    def pacing(self, nada, default):
        sending_bps = min(nada.max_bps, nada.r_ref_bps + _shaped_bps(self, nada, self.sending_rises))
        return default * sending_bps / _encoder_bps(self, nada)

    def report_every_us(self, nada, default_us):
        return np.int64(self.report_ms * 1000.0)

    def reads_marks(self, nada):
        return True


@kernel
def _encoder_bps(params, nada):
    return max(nada.min_bps, nada.r_ref_bps - _shaped_bps(params, nada, params.encoder_yields))


@kernel
def _shaped_bps(params, nada, beta):
    """Return diff_v or diff_s (RFC 8698 5.2.1)."""
    return min(_MAX_SHAPED * nada.r_ref_bps, beta * 8.0 * nada.waiting_bytes * params.frames_per_s)


@kernel
def _on_report(params, nada):
    log = nada.log
    if has_enough(log):
        nada.lost = lost(log)
        nada.p_loss += params.smoothing * (nada.lost / span(log) - nada.p_loss)
        nada.p_mark += params.smoothing * (log.marked / (log.after - log.first) - nada.p_mark)
        received = received_bps(log)
        nada.received_bps = received if received >= 0.0 else nada.received_bps
    queuing_ms = queuing_us(log) / 1000.0
    if is_recent(params, log.open, mean_loss_interval(log)):
        queuing_ms = warp(params, queuing_ms)
    x_before_ms, nada.x_ms = nada.x_ms, aggregate(params, queuing_ms, nada.p_loss, nada.p_mark)
    if nada.lost == 0 and longest_queue_us(log) <= params.no_queue_ms * 1000.0:
        r_ref_bps = accelerated(params, nada.r_ref_bps, nada.received_bps, round_trip_us(log) / 1000.0)
    else:
        delta_ms = (nada.known_us - nada.updated_us) / 1000.0
        r_ref_bps = gradual(params, nada.r_ref_bps, nada.max_bps, nada.x_ms, x_before_ms, delta_ms)
    nada.r_ref_bps = min(max(r_ref_bps, nada.min_bps), nada.max_bps)
    nada.updated_us = nada.known_us


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
    """Return x_curr (2) in ms, float64; `delay_ms`, at least 0, is d_queue or d_tilde, `p_loss` and `p_mark` 0 to 1."""
    of_marks = params.mark_penalty_ms * (p_mark / params.mark_reference) ** 2
    of_loss = params.loss_penalty_ms * (p_loss / params.loss_reference) ** 2
    return min(params.max_signal_ms, delay_ms + of_marks + of_loss)


@kernel
def gamma(params, rtt_ms):
    """Return the share by which accelerated ramp-up exceeds the received rate (3)."""
    return min(params.max_ramp_up, params.ramp_up_queuing_ms / (rtt_ms + params.report_ms + params.filter_ms))


@kernel
def accelerated(params, r_ref_bps, received_bps, rtt_ms):
    """Return r_ref after accelerated ramp-up (4), in bit/s, float64, never below `r_ref_bps`, the one before."""
    return max(r_ref_bps, (1.0 + gamma(params, rtt_ms)) * received_bps)


@kernel
def gradual(params, r_ref_bps, max_bps, x_ms, x_before_ms, delta_ms):
    """Return r_ref after a gradual update (7), in bit/s, float64; the caller clips it.

    `r_ref_bps`, above 0, is the one before, `max_bps` RMAX; `x_ms` is x_curr, `x_before_ms` that of the previous update, `delta_ms` ago.
    """
    offset_ms = x_ms - params.priority * params.x_reference_ms * max_bps / r_ref_bps
    of_offset = params.kappa * (delta_ms / params.tau_ms) * (offset_ms / params.tau_ms)
    return r_ref_bps * (1.0 - of_offset - params.kappa * params.eta * (x_ms - x_before_ms) / params.tau_ms)
