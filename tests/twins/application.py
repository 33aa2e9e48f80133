"""The law of an application's rate over lists of reports, in s and kbit/s."""


class PlainApplication:
    """The slow twin of `Application`; fed one report after the other."""

    def __init__(self, p, start_kbps, min_kbps):
        self.p, self.min, self.rate, self.left = p, min_kbps, start_kbps, start_kbps
        self.told, self.every_delay, self.looked, self.rises_s, self.short_s = [], [], 0.0, 0.0, None

    def report(self, packets):
        """Take the packets of a report in; return the rate in kbit/s."""
        p, now = self.p, packets[0].known_us / 1e6
        self.told += packets
        delays = [(one.arrived_us - one.sent_us) / 1000 for one in packets if one.arrived_us >= 0]
        self.every_delay += delays
        if now - self.looked >= p.every_ms / 1000:
            self.look(now)
            self.told, self.looked = [], now
        if not len(p.layers_kbps):
            return self.rate
        return max((layer for layer in p.layers_kbps if layer <= self.rate), default=p.layers_kbps[0])

    def look(self, now):
        p, arrived = self.p, [one for one in self.told if one.arrived_us >= 0]
        lost = 1 - len(arrived) / len(self.told)
        queuing = min((one.arrived_us - one.sent_us) / 1000 for one in arrived) - min(self.every_delay) if arrived else 0.0
        acts = self.short_s is None or now - self.short_s > 2 * p.every_ms / 1000
        if acts and (lost > p.max_loss or queuing > p.max_queuing_ms):
            received = sum(one.size_bytes for one in arrived) * 8 / 1000 / (now - self.looked)
            self.left = max(self.min, p.yields_to * min(self.rate, received))
            self.short_s, self.rises_s = now, now + p.hold_s
        t = max(0.0, now - self.rises_s)
        probes = self.short_s is not None and now - self.short_s < p.settles_s
        ceiling = p.nominal_kbps * (p.peak if probes else 1.0)
        self.rate = min(self.left * (1 + p.growth) ** t + p.rises_kbps * t**p.power, ceiling)
