"""The law of an application's rate over lists of reports, in us and kbit/s."""


class PlainApplication:
    """The slow twin of `Application`; fed one report after the other."""

    def __init__(self, p, start_kbps, min_kbps):
        self.p, self.min, self.rate, self.left = p, min_kbps, start_kbps, start_kbps
        self.told, self.every_delay, self.looked, self.rises, self.short = [], [], 0, 0, None

    def report(self, packets):
        """Take the packets of a report in; return the rate in kbit/s."""
        p, now = self.p, packets[0].known_us
        self.told += packets
        delays = [(one.arrived_us - one.sent_us) / 1000 for one in packets if one.arrived_us >= 0]
        self.every_delay += delays
        if now - self.looked >= 1000 * p.every_ms:
            self.look(now)
            self.told, self.looked = [], now
        if not len(p.layers_kbps):
            return self.rate
        return max((layer for layer in p.layers_kbps if layer <= self.rate), default=p.layers_kbps[0])

    def look(self, now):
        p, arrived = self.p, [one for one in self.told if one.arrived_us >= 0]
        told, received = (sum(one.size_bytes for one in of) for of in (self.told, arrived))
        queuing = min((one.arrived_us - one.sent_us) / 1000 for one in arrived) - min(self.every_delay) if arrived else 0.0
        acts = self.short is None or now - self.short > 2000 * p.every_ms
        if acts and (told - received > p.max_loss * told or queuing > p.max_queuing_ms):
            self.left = max(self.min, p.yields_to * min(self.rate, received * 8000 / (now - self.looked)))
            self.short, self.rises = now, now + 1e6 * p.hold_s
        t = max(0.0, now - self.rises) / 1e6
        probes = self.short is not None and now - self.short < 1e6 * p.settles_s
        ceiling = p.nominal_kbps * (p.peak if probes else 1.0)
        self.rate = min(self.left * (1 + p.growth) ** t + p.rises_kbps * t**p.power, ceiling)
