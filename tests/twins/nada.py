"""NADA written as in RFC 8698, and with the limit of ns3-rmcat, with lists of packets instead of counters."""

import math

WEIGHTS = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]


class PlainNada:
    """The slow twin of `Nada`, in ms and bit/s; fed as (report, news) one after the other."""

    def __init__(self, p, start, least, most):
        self.p, self.r, self.minimum, self.maximum = p, start, least, most
        self.log, self.base, self.intervals, self.r_recv, self.lost = [], None, [], 0.0, 0
        self.p_loss = self.p_mark = self.x = 0.0
        self.before = None

    def take(self, one):
        sent, arrived, known = one.sent_us / 1000, one.arrived_us / 1000, one.known_us / 1000
        if self.log and sent - self.log[-1]["sent"] > 500:
            self.log = []
        delay = arrived - sent
        if not self.log:
            self.base, self.intervals = delay, [1]
        elif one.packet == self.log[-1]["packet"] + 1:
            self.intervals[0] += 1
        else:
            self.intervals = [1, *self.intervals][:9]
        self.base = min(self.base, delay)
        self.log.append(
            {"packet": one.packet, "size": one.size_bytes, "sent": sent, "arrived": arrived, "delay": delay, "rtt": known - sent,
             "marked": one.marked}
        )  # fmt: skip
        self.log = [old for old in self.log if sent - old["sent"] < self.p.log_ms]

    def mean_interval(self):
        n = len(self.intervals) - 1
        with_open = sum(i * w for i, w in zip(self.intervals[:n], WEIGHTS, strict=False))
        without = sum(i * w for i, w in zip(self.intervals[1:], WEIGHTS, strict=False))
        return max(with_open, without) / sum(WEIGHTS[:n])

    def report(self, packets, news):
        for one in packets:
            if self.before is None:
                self.before = one.sent_us / 1000
            if one.arrived_us >= 0:
                self.take(one)
        p, log = self.p, self.log
        now = packets[0].known_us / 1000
        newest = log[-15:]
        queuing, rtt = min(one["delay"] for one in newest) - self.base, min(one["rtt"] for one in newest)
        if len(log) >= 5:
            span = log[-1]["packet"] - log[0]["packet"] + 1
            self.lost = span - len(log)
            self.p_loss = p.smoothing * self.lost / span + (1 - p.smoothing) * self.p_loss
            self.p_mark = p.smoothing * sum(one["marked"] for one in log) / len(log) + (1 - p.smoothing) * self.p_mark
            if log[-1]["arrived"] > log[0]["arrived"]:
                self.r_recv = sum(one["size"] for one in log[1:]) * 8000 / (log[-1]["arrived"] - log[0]["arrived"])
        recent = len(self.intervals) > 1 and self.intervals[0] < p.loss_memory * self.mean_interval()
        if recent and queuing >= p.warps_from_ms:
            queuing = p.warps_from_ms * math.exp(-p.warping * (queuing - p.warps_from_ms) / p.warps_from_ms)
        x = queuing + p.mark_penalty_ms * (self.p_mark / p.mark_reference) ** 2 + p.loss_penalty_ms * (self.p_loss / p.loss_reference) ** 2
        x = x if x < p.max_signal_ms else p.max_signal_ms
        if self.lost == 0 and all(one["delay"] - self.base <= p.no_queue_ms for one in log):
            self.r = max(self.r, (1 + min(p.max_ramp_up, p.ramp_up_queuing_ms / (rtt + p.report_ms + p.filter_ms))) * self.r_recv)
        else:
            offset = x - p.priority * p.x_reference_ms * self.maximum / self.r
            step = p.kappa * (now - self.before) / p.tau_ms * offset / p.tau_ms * self.r
            self.r = self.r - step - p.kappa * p.eta * (x - self.x) / p.tau_ms * self.r
        self.r, self.x, self.before = min(max(self.r, self.minimum), self.maximum), x, now
        shaped = 8 * news.waiting_bytes * p.frames_per_s
        encoder = max(self.minimum, self.r - min(0.05 * self.r, p.encoder_yields * shaped))
        return encoder, min(self.maximum, self.r + min(0.05 * self.r, p.sending_rises * shaped)) / encoder
