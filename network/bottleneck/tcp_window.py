"""The congestion windows of TCP Reno (RFC 5681) and CUBIC (RFC 9438), in segments, as functions of acknowledgements and losses only.

Reno: slow start, cwnd += 1 per acknowledgement below ssthresh; avoidance, cwnd += 1 / cwnd. On loss: ssthresh = cwnd = max(flight / 2, 2).

CUBIC: the same slow start. On loss: W_max = cwnd, or cwnd (1 + beta) / 2 if cwnd is below the previous W_max (fast convergence, RFC 9438
4.7); ssthresh = cwnd = max(beta cwnd, 2). An epoch starts at the first acknowledgement in avoidance: W_est = cwnd, K = cbrt((W_max - cwnd)
/ C), origin = W_max; or K = 0 and origin = cwnd if cwnd exceeds W_max. At time t in the epoch,

    W(t) = C (t - K)^3 + origin                     RFC 9438 4.2
    step = clip((W(t + RTT) - cwnd) / cwnd, 0, 0.5)
    W_est += a / cwnd, a = 3 (1 - beta) / (1 + beta)   RFC 9438 4.3
    cwnd += step

The two variants differ if W_est is larger. `LINUX`, as in the Linux kernel: step closes the gap in about a round trip, and is at least 0.05
before the first loss. `STANDARD`, as in RFC 9438: if W(t) < W_est, cwnd = W_est at once, and a is 1 once W_est has reached cwnd_prior, the
window before the loss.

On timeout: as on loss, then cwnd = 1 and no W_max (RFC 5681 3.1; RFC 9438 4.8).

Left out: the Linux kernel's whole-number arithmetic and its HyStart, appropriate byte counting, explicit congestion notification.
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record

RENO, CUBIC_LINUX, CUBIC_STANDARD = 0, 1, 2
CONTROLS = {"reno": RENO, "cubic": CUBIC_LINUX, "cubic_standard": CUBIC_STANDARD}

C = 0.4  # RFC 9438 5
BETA = 0.7  # RFC 9438 4.6
FRIENDLY = 3.0 * (1.0 - BETA) / (1.0 + BETA)
_MIN_SSTHRESH = 2.0
_NO_LIMIT = 1e18


@record
class Window:
    """Congestion window of a connection."""

    control: int = RENO
    cwnd: float = 0.0
    ssthresh: float = _NO_LIMIT
    w_max: float = 0.0  # 0: none
    cwnd_prior: float = 0.0  # before the last loss; 0: none
    epoch_us: int = -1  # -1: no epoch
    k_s: float = 0.0
    origin: float = 0.0
    w_est: float = 0.0


@kernel
def start_window(window, control, initial):
    """Start a connection with a window of `initial` segments."""
    window.control, window.cwnd, window.ssthresh = control, initial, _NO_LIMIT
    window.w_max, window.cwnd_prior, window.epoch_us = 0.0, 0.0, -1


@kernel
def grow(window, now_us, rtt_us):
    """Grow the window for one acknowledged segment outside of recovery; `rtt_us`: the smoothed round-trip time."""
    if window.cwnd < window.ssthresh:
        window.cwnd += 1.0
    elif window.control == RENO:
        window.cwnd += 1.0 / window.cwnd
    else:
        _cubic(window, now_us, rtt_us)


@kernel
def cut(window, flight):
    """Cut the window after a loss, at most once per round trip, with `flight` segments in flight."""
    if window.control == RENO:
        window.ssthresh = max(flight / 2.0, _MIN_SSTHRESH)
    else:
        window.w_max = window.cwnd * (1.0 + BETA) / 2.0 if window.cwnd < window.w_max else window.cwnd
        window.ssthresh = max(BETA * window.cwnd, _MIN_SSTHRESH)
        window.cwnd_prior, window.epoch_us = window.cwnd, -1
    window.cwnd = window.ssthresh


@kernel
def time_out(window, flight):
    """Reset the window after a retransmission timeout."""
    cut(window, flight)
    window.cwnd, window.w_max = 1.0, 0.0


@kernel
def cubic_of(t_s, k_s, origin):
    """Return W(t) of CUBIC."""
    return C * (t_s - k_s) ** 3 + origin


@kernel
def _cubic(window, now_us, rtt_us):
    if window.epoch_us < 0:
        window.epoch_us = now_us
        window.w_est = window.cwnd
        climbs = window.w_max > window.cwnd
        window.k_s = ((window.w_max - window.cwnd) / C) ** (1.0 / 3.0) if climbs else 0.0
        window.origin = window.w_max if climbs else window.cwnd
    t_s = (now_us - window.epoch_us) * 1e-6
    step = max(cubic_of(t_s + rtt_us * 1e-6, window.k_s, window.origin) - window.cwnd, 0.0) / window.cwnd
    if window.control == CUBIC_LINUX:
        window.w_est += FRIENDLY / window.cwnd
        if window.w_est > window.cwnd:
            step = max(step, (window.w_est - window.cwnd) / window.cwnd)
        if window.w_max == 0.0:
            step = max(step, 0.05)
    else:
        window.w_est += (1.0 if window.w_est >= window.cwnd_prior > 0.0 else FRIENDLY) / window.cwnd
        if cubic_of(t_s, window.k_s, window.origin) < window.w_est and window.w_est > window.cwnd:
            window.cwnd = window.w_est
            return
    window.cwnd += min(step, 0.5)
