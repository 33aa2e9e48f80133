"""SCReAM, both versions, written as in RFC 8298 and the draft that obsoletes it: whole histories, bytes, microseconds."""

import math
from itertools import pairwise
from statistics import fmean, pvariance


class PlainAcks:
    """Acknowledgements, queuing delay and its target, for both versions."""

    def __init__(self, p):
        self.p, self.acked, self.sent, self.s_rtt, self.minima = p, 0, 0, 0.0, {}
        self.qdelay_target, self.norms, self.loss_event_rate, self.counted = p.target_low_ms * 1000, [0.0] * 200, 0.0, 0

    def acknowledge(self, packets, news, now):
        self.sent = news.sent_bytes
        self.before = self.sent - self.acked
        self.newly_acked = sum(one.size_bytes for one in packets)
        self.acked += self.newly_acked
        self.in_flight = self.sent - self.acked
        arrived = [one for one in packets if one.arrived_us >= 0]
        self.lost, self.marked = len(packets) - len(arrived), [one for one in arrived if one.marked]
        self.delivered = len(arrived)
        delay, trip = arrived[-1].arrived_us - arrived[-1].sent_us, now - arrived[-1].sent_us
        self.s_rtt = trip if self.s_rtt == 0 else 7 / 8 * self.s_rtt + 1 / 8 * trip
        minute = now // 60_000_000
        self.minima[minute] = min(self.minima.get(minute, delay), delay)
        self.qdelay = delay - min(self.minima[minute] for minute in sorted(self.minima)[-10:])

    def count(self, loss_event, now):
        if loss_event:
            self.loss_event_rate, self.counted = 0.99 * self.loss_event_rate + 0.01, now
        elif now - self.counted > self.s_rtt:
            self.loss_event_rate, self.counted = 0.99 * self.loss_event_rate, now

    def adjust_target(self):
        low, high = self.p.target_low_ms * 1000, self.p.target_high_ms * 1000
        self.norms = [*self.norms[1:], self.qdelay / low]
        variance = pvariance(self.norms)
        new = (sum(self.norms[-50:]) / 50 + math.sqrt(variance)) * low
        if self.loss_event_rate > 0.002:
            self.qdelay_target = 1.5 * new
        elif variance < 0.2:
            self.qdelay_target = new
        elif new < low:
            self.qdelay_target = max(self.qdelay_target * 0.5, new)
        else:
            self.qdelay_target *= 0.9
        self.qdelay_target = max(min(high, self.qdelay_target), low)


class PlainScreamV1(PlainAcks):
    """RFC 8298 4.1."""

    def __init__(self, p, start, least, most):
        super().__init__(p)
        self.rate, self.least, self.most, self.last_max = start, least, most, None
        self.cwnd, self.fast, self.event_at, self.trouble = p.min_window_bytes, True, -math.inf, 0.0
        self.trend = self.trend_mem = self.average = self.trend_at = 0
        self.fractions, self.flights, self.adjusted, self.pending = [0.0] * 20, [], 0.0, None
        self.at_adjust, self.media = (0, 0, 0), []

    def report(self, packets, news):
        p, now = self.p, packets[0].known_us
        self.acknowledge(packets, news, now)
        self.flights = [(at, size) for at, size in self.flights if now - at < 5_000_000] + [(now, self.before)]
        self.follow_trend(now)
        was_fast, event = self.fast, None
        if (self.lost or self.marked) and now - self.event_at >= self.s_rtt:
            event = "loss" if self.lost else "mark"
            self.event_at = self.trouble = now
            self.fast = False
            self.cwnd = max(p.min_window_bytes, (p.beta_loss if self.lost else p.beta_mark) * self.cwnd)
        self.count(event == "loss", now)
        if event is None:
            self.update_cwnd()
        if was_fast and not self.fast:
            self.last_max = self.rate
        if p.competes:
            self.adjust_target()
        if self.trend >= p.resumes_below_trend:
            self.trouble = now
        elif now - self.trouble >= p.resumes_after_s * 1e6:
            self.fast = True
        self.pending = event if self.pending != "loss" and event else self.pending
        if now - self.adjusted >= p.adjust_ms * 1000:
            self.adjust_rate(news, now)
        window = self.cwnd + (p.mss_bytes if self.qdelay <= self.qdelay_target else 0)
        return self.rate, window, max(p.min_pacing_bps, 8e6 * self.cwnd / self.s_rtt) / self.rate

    def follow_trend(self, now):
        if now - self.trend_at < min(50_000, self.s_rtt):
            return
        fraction = self.qdelay / self.qdelay_target
        self.trend_at, self.fractions = now, [*self.fractions[1:], fraction]
        self.average = (1 - self.p.trend_weight) * self.average + self.p.trend_weight * fraction
        off = [one - fmean(self.fractions) for one in self.fractions]
        r0, r1 = sum(one * one for one in off), sum(a * b for a, b in pairwise(off))
        self.trend = min(max(r1 / r0 * self.average if r0 > 0 else 0.0, 0.0), 1.0)
        self.trend_mem = max(0.99 * self.trend_mem, self.trend)

    def update_cwnd(self):
        p = self.p
        if self.fast:
            if self.trend < p.fast_below_trend:
                if 1.5 * self.in_flight + self.newly_acked > self.cwnd:
                    self.cwnd += self.newly_acked
                return
            self.fast = False
        off = (self.qdelay_target - self.qdelay) / self.qdelay_target
        if not (off > 0 and 1.25 * self.in_flight + self.newly_acked <= self.cwnd):
            self.cwnd += p.gain * off * self.newly_acked * p.mss_bytes / self.cwnd
        self.cwnd = max(min(self.cwnd, p.head_room * max(size for _, size in self.flights)), p.min_window_bytes)

    def adjust_rate(self, news, now):
        p, took = self.p, now - self.adjusted
        counters = (news.sent_bytes, self.acked, news.captured_bytes)
        sent, acked, media = (8e6 * (new - old) / took for new, old in zip(counters, self.at_adjust, strict=True))
        self.adjusted, self.at_adjust, self.media = now, counters, [*self.media, media][-50:]
        if self.pending:
            self.last_max = self.rate
            self.rate *= p.beta_rate if self.pending == "loss" else p.beta_mark
            self.pending = None
        else:
            current, queue = max(sent, acked), 8 * max(0, news.waiting_bytes - news.frame_bytes)
            step = min(p.ramp_up_bps_per_s, self.rate / 2) * p.adjust_ms / 1000
            scale = 1.0 if self.last_max is None else max(0.2, min(1.0, (4 * (self.rate - self.last_max) / self.last_max) ** 2))
            if self.fast:
                self.rate += step * scale
            else:
                change = current * (1 - p.congestion_guard * self.trend) - p.queue_factor * queue - self.rate
                self.rate += min(change * scale, step) if change > 0 else change
                if queue * 1000 > p.queue_ms * current:
                    self.rate *= p.queue_scale
            self.rate = min(self.rate, max(current, media, sorted(self.media)[len(self.media) // 2]) * (2 - self.trend_mem))
        self.rate = min(max(self.rate, self.least), self.most)


class PlainScreamV2(PlainAcks):
    """The draft's 4."""

    def __init__(self, p, start, least, most):
        super().__init__(p)
        self.rate, self.least, self.most = start, least, most
        self.ref_wnd, self.ref_wnd_i, self.inflected, self.congested = p.min_window_bytes, 1.0, 0.0, 0.0
        self.qdelay_avg = self.averaged = self.alpha = self.alpha_at = 0.0
        self.counts, self.max_flight, self.flight_prev, self.trip_began = [0, 0], 0, 0, 0.0
        self.frames, self.ratios = 0, []

    def report(self, packets, news):
        p, now = self.p, packets[0].known_us
        if news.frames != self.frames:
            self.frames = news.frames
            relative = news.frame_bytes / (self.rate * news.frame_us / 8e6)
            self.ratios = [*self.ratios, *([relative] if relative > 1 else [])][-32:]
        self.acknowledge(packets, news, now)
        ratio = self.before / self.ref_wnd
        self.averages(now)
        active = p.l4s and self.alpha >= 2 / self.rate * p.mss_bytes * 8e6 / self.s_rtt
        loss_event = self.back_off(active, now)
        self.increase(active, now)
        self.count(loss_event, now)
        if p.competes:
            self.adjust_target()
        part = 1.0
        if not active and ratio > p.under_way_limit:
            part /= min(p.max_lowered, ratio / p.under_way_limit)
        part *= 1 - min(0.8, max(0.0, p.mss_bytes / self.ref_wnd - 0.1))
        self.rate = min(self.most, max(self.least, part * 8e6 * self.ref_wnd / self.s_rtt))
        high = sorted(self.ratios)[math.ceil(0.75 * len(self.ratios)) - 1] if self.ratios else 1.0
        return self.rate, p.overhead * high * self.ref_wnd, p.pacing_head_room * max(p.min_pacing_bps, self.rate) / self.rate

    def averages(self, now):
        self.counts = [self.counts[0] + self.delivered, self.counts[1] + len(self.marked)]
        if now - self.alpha_at >= min(10_000, self.s_rtt):
            self.alpha = self.p.alpha_gain * self.counts[1] / self.counts[0] + (1 - self.p.alpha_gain) * self.alpha
            self.counts, self.alpha_at = [0, 0], now
        if now - self.averaged >= self.s_rtt:
            smoothed = self.p.delay_gain * self.qdelay + (1 - self.p.delay_gain) * self.qdelay_avg
            self.qdelay_avg, self.averaged = self.qdelay if self.qdelay < self.qdelay_avg else smoothed, now
        if now - self.trip_began >= self.s_rtt:
            self.flight_prev, self.max_flight, self.trip_began = self.max_flight, 0, now
        self.max_flight = max(self.max_flight, self.before)

    def back_off(self, active, now):
        p = self.p
        if now - self.congested < min(p.virtual_rtt_ms * 1000, self.s_rtt):
            return False
        virtual = self.qdelay > self.qdelay_target / 2 and not active
        if not (self.lost or self.marked or virtual):
            return False
        if now - self.inflected > 250_000:
            self.inflected, self.ref_wnd_i = now, self.ref_wnd
        if self.lost:
            self.ref_wnd *= p.beta_loss
        if self.marked and p.l4s:
            back_off = self.alpha / 2 * max(0.8, 1 - p.mss_bytes / self.ref_wnd * 2)
            if now - self.congested > 5_000_000:
                self.ref_wnd = min(self.ref_wnd, self.flight_prev)
                back_off, self.alpha = max(back_off, 0.25), 0.25
            self.ref_wnd *= 1 - back_off
        elif self.marked:
            self.ref_wnd *= p.beta_mark
        if virtual:
            half = self.qdelay_target / 2
            self.ref_wnd *= 1 - min(1.0, max(0.0, (self.qdelay_avg - half) / half)) / 2
        self.ref_wnd, self.congested = max(p.min_window_bytes, self.ref_wnd), now
        return self.lost > 0

    def increase(self, active, now):
        p, segments = self.p, self.ref_wnd / self.p.mss_bytes
        acked = self.newly_acked - sum(one.size_bytes for one in self.marked)
        scale = (4 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i) ** 2
        scale = max(max(0.1, min(1.0, 0.02 * segments)) if active else 0.1, min(1.0, scale))
        step = acked * min(1.0, 1 / segments) * min(1.0, self.s_rtt / (p.virtual_rtt_ms * 1000)) ** 2 * scale
        step *= 1 + p.growth * segments * min(1.0, (now - self.congested) / 1e6 / p.post_congestion_s) * scale
        allowed = p.mss_bytes + max(self.max_flight, self.flight_prev) * p.head_room
        if self.ref_wnd + step <= allowed and self.rate < self.most:
            self.ref_wnd += step
