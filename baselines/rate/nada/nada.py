"""Network-Assisted Dynamic Adaptation: NADA (RFC 8698).

    packets of a report -> delay, loss, marks and rate of the last LOGWIN (packet_log.py, 5.1)
      -> aggregate congestion signal (congestion_signal.py, 4.2) -> reference rate (reference_rate.py, 4.3)
      -> encoder and sending rates, by the length of the rate-shaping buffer (5.2)

Each report causes one update, in this order: smooth loss and marks by ALPHA; compute x_curr (2); choose the mode: accelerated ramp-up if no
packet of the log is lost and none had a queuing delay above QEPS, else gradual.

RMIN and RMAX are the minimum and maximum rate of the call; r_ref starts at the call's start rate (RFC 8698: RMIN).

    5.2.1  diff_v = min(0.05 r_ref, BETA_V 8 L FPS), diff_s = min(0.05 r_ref, BETA_S 8 L FPS), L: bytes in the send queue
    5.2.2  encoder max(RMIN, r_ref - diff_v), sending min(RMAX, r_ref + diff_s)

Left out: the whole milliseconds of ns3-rmcat and its update in the middle of a report; its own detection of missing reports.
"""

import math
from typing import NamedTuple

import numpy as np

from vcgym.baselines.rate.nada.congestion_signal import aggregate, is_recent, warp
from vcgym.baselines.rate.nada.packet_log import (
    LOG,
    add_packet,
    clear_log,
    has_enough,
    longest_queue_us,
    lost,
    mean_loss_interval,
    queuing_us,
    received_bps,
    round_trip_us,
    span,
)
from vcgym.baselines.rate.nada.reference_rate import accelerated, gradual
from vcgym.baselines.rule import Control, allocate, decide, init, pacing, reads_marks, report_every_us, rule, see_sender, update
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import require_within

_MAX_SHAPED = 0.05  # RFC 8698 5.2.1


@rule(Control.RATE)
class Nada(NamedTuple):
    """Parameters of RFC 8698, figure 3, with their symbols there, and one of the authors' program.

    Attributes:
        priority: PRIO, weight of the flow.
        x_reference_ms: XREF, equilibrium signal of a flow of weight 1 at RMAX.
        kappa: KAPPA, gain of the gradual update.
        eta: ETA, weight of the signal's change in it.
        tau_ms: TAU, maximum round trip for which the gains are designed.
        report_ms: DELTA, report interval.
        log_ms: LOGWIN, length of the log.
        no_queue_ms: QEPS, maximum queuing delay for accelerated ramp-up.
        filter_ms: DFILT, delay of the filters.
        max_ramp_up: GAMMA_MAX, maximum step of accelerated ramp-up, a share.
        ramp_up_queuing_ms: QBOUND, queuing delay that ramp-up may cause.
        loss_memory: MULTILOSS, number of mean loss intervals for which a loss is recent.
        warps_from_ms: QTH, queuing delay above which it is warped while a loss is recent.
        warping: LAMBDA, strength of warping.
        loss_reference: PLRREF, loss that costs `loss_penalty_ms`.
        mark_reference: PMRREF, share of marks that costs `mark_penalty_ms`.
        loss_penalty_ms: DLOSS.
        mark_penalty_ms: DMARK.
        max_signal_ms: XMAX of ns3-rmcat (500 there), maximum of x_curr; inf: none, as RFC 8698 prints it.
        smoothing: ALPHA, weight of the newest shares of loss and marks.
        frames_per_s: FPS, for the rate-shaping buffer.
        encoder_yields: BETA_V, reduction of the encoder's rate by the buffer; 0: none.
        sending_rises: BETA_S, increase of the sending rate by the buffer.
    """

    priority: float = 1.0
    x_reference_ms: float = 10.0
    kappa: float = 0.5
    eta: float = 2.0
    tau_ms: float = 500.0
    report_ms: float = 100.0
    log_ms: float = 500.0
    no_queue_ms: float = 10.0
    filter_ms: float = 120.0
    max_ramp_up: float = 0.5
    ramp_up_queuing_ms: float = 50.0
    loss_memory: float = 7.0
    warps_from_ms: float = 50.0
    warping: float = 0.5
    loss_reference: float = 0.01
    mark_reference: float = 0.01
    loss_penalty_ms: float = 10.0
    mark_penalty_ms: float = 2.0
    max_signal_ms: float = math.inf
    smoothing: float = 0.1
    frames_per_s: float = 30.0
    encoder_yields: float = 0.1
    sending_rises: float = 0.1


_MS = (1.0, 1e4)
_SHARE = (0.0, 1.0)
_RANGES = {
    "priority": (0.01, 100.0), "x_reference_ms": _MS, "kappa": (0.0, 10.0), "eta": (0.0, 100.0), "tau_ms": _MS, "report_ms": _MS,
    "log_ms": _MS, "no_queue_ms": (0.0, 1e4), "filter_ms": (0.0, 1e4), "max_ramp_up": _SHARE, "ramp_up_queuing_ms": (0.0, 1e4),
    "loss_memory": (0.0, 1e4), "warps_from_ms": _MS, "warping": (0.0, 100.0), "loss_reference": (1e-6, 1.0), "mark_reference": (1e-6, 1.0),
    "loss_penalty_ms": (0.0, 1e4), "mark_penalty_ms": (0.0, 1e4), "max_signal_ms": (1.0, math.inf), "smoothing": _SHARE,
    "frames_per_s": (1.0, 1000.0), "encoder_yields": _SHARE, "sending_rises": _SHARE,
}  # fmt: skip

STATE = np.dtype(
    (
        np.record,
        [
            ("log", LOG),
            ("r_ref_bps", "f8"),
            ("received_bps", "f8"),  # r_recv
            ("x_ms", "f8"),  # x_curr of the newest update
            ("p_loss", "f8"),
            ("p_mark", "f8"),
            ("lost", "i8"),  # lost packets in the log
            ("known_us", "i8"),  # arrival of the newest report
            ("updated_us", "i8"),  # last update; before the first, the first send time; -1: unknown
            ("waiting_bytes", "i8"),  # L
            ("min_bps", "f8"),
            ("max_bps", "f8"),
        ],
    )
)


class NadaState(NamedTuple):
    """State; first axis: session."""

    nada: np.recarray  # (sessions,) of STATE


@allocate.register(Nada)
def _allocate(params, sessions, paths):
    require_within(params, **_RANGES)
    return NadaState(np.zeros(sessions, STATE).view(np.recarray))


@init.register(Nada)
def _init(params, state, s, start, key):
    nada = state.nada[s]
    clear_log(nada.log)
    nada.r_ref_bps, nada.min_bps, nada.max_bps = start.start_bps, start.min_bps, start.max_bps
    nada.received_bps = nada.x_ms = nada.p_loss = nada.p_mark = 0.0
    nada.lost = nada.waiting_bytes = 0
    nada.known_us = nada.updated_us = -1


@update.register(Nada)
def _update(params, state, s, record):
    nada = state.nada[s]
    nada.known_us = record.known_us
    if nada.updated_us < 0:
        nada.updated_us = record.sent_us
    if record.arrived_us >= 0:
        window_us = np.int64(params.log_ms * 1000.0)
        add_packet(
            nada.log, window_us, record.packet, record.size_bytes, record.sent_us, record.arrived_us, record.known_us, record.marked
        )


@see_sender.register(Nada)
def _see_sender(params, state, s, status):
    state.nada[s].waiting_bytes = status.waiting_bytes


@decide.register(Nada)
def _decide(params, state, s, now_us):
    nada = state.nada[s]
    if nada.known_us > nada.updated_us and nada.log.after > nada.log.first:
        _on_report(params, nada)
    return np.int64(max(nada.min_bps, nada.r_ref_bps - _shaped_bps(params, nada, params.encoder_yields)))


@pacing.register(Nada)
def _pacing(params, state, s, default):
    nada = state.nada[s]
    encoder_bps = max(nada.min_bps, nada.r_ref_bps - _shaped_bps(params, nada, params.encoder_yields))
    return default * min(nada.max_bps, nada.r_ref_bps + _shaped_bps(params, nada, params.sending_rises)) / encoder_bps


@report_every_us.register(Nada)
def _report_every_us(params, state, s, default_us):
    return np.int64(params.report_ms * 1000.0)


@reads_marks.register(Nada)
def _reads_marks(params, state, s):
    return True


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
