"""Slow twin of the player: lists of packets, one tick after the other."""

from dataclasses import dataclass

from vcgym.network.playout.player import CONCEALED, FAST, PLAYED, SILENT, STRETCHED

UNIT = 10_000


WINDOW = 2_000_000


@dataclass
class Packet:
    """One sent packet, times in microseconds; `came` is None if it never reached the player's input."""

    ts: int
    media: int
    came: int | None
    discarded: bool
    level: int


class Twin:
    """Literal implementation of the definition. Units are indexed by media time, and everything known by t is recomputed at t.

    An underrun's unit is at most `patience` units behind the newest sent one.
    """

    def __init__(self, packets: list[Packet], by_arrival: bool, patience: int = 1 << 40) -> None:
        self.packets, self.by_arrival, self.patience = packets, by_arrival, patience
        self.origin = min(p.ts for p in packets)
        self.end = max(p.ts + p.media for p in packets)
        self.units = list(range(self.origin, self.end, UNIT))
        self.last = self.units[-1]
        self.touching = {u: [p for p in packets if p.ts < u + UNIT and p.ts + p.media > u] for u in self.units}
        self.played: dict[int, int] = {}
        self.ticks: list[tuple[int, int, int]] = []

    def available_from(self, unit: int) -> int | None:
        touching = self.touching.get(unit, [])
        if not touching or any(p.came is None or p.discarded for p in touching):
            return None
        return max(p.came for p in touching if p.came is not None)

    def available(self, unit: int, t: int) -> bool:
        since = self.available_from(unit)
        return since is not None and since <= t

    def silent(self, unit: int) -> bool:
        return unit <= self.last and not self.touching[unit]

    def level(self, t: int) -> int:
        arrived = [(p.came, index) for index, p in enumerate(self.packets) if p.came is not None and p.came <= t]
        return self.packets[max(arrived)[1]].level

    def target(self, t: int) -> int:
        came = [p for p in self.packets if p.came is not None and p.came <= t]
        newest = max(p.ts for p in came)
        delays = [p.came - p.ts for p in came if p.came is not None and p.ts >= newest - WINDOW]
        return min(delays) + self.level(t) if self.by_arrival else max(delays)

    def run(self) -> "Twin":
        since = [a for a in map(self.available_from, self.units) if a is not None]
        if not since:
            return self
        start = min(since) + (self.level(min(since)) if self.by_arrival else 0)
        t = -(-start // UNIT) * UNIT
        m, c, operation = next(u for u in self.units if self.available(u, t)), 0, None
        while m + c * UNIT <= self.last:
            target = self.target(t)
            given_up = max(min(t - UNIT, self.last) // UNIT - m // UNIT - self.patience, 0) if c > 0 else 0
            m, c = m + given_up * UNIT, c - given_up
            if self.silent(m + c * UNIT):
                m, c = m + c * UNIT, 0
                while self.silent(m) and t - m >= target + UNIT:
                    m += UNIT
                if self.silent(m):
                    self.ticks.append((t, SILENT, t - m))
                    m += 0 if t - m < target else UNIT
                    t += UNIT
                    continue
            n = next((u for u in self.units if u >= m and self.available(u, t)), None)
            if n is None:
                self.ticks.append((t, CONCEALED, t - m))
                c, t = c + 1, t + UNIT
                continue
            resumed = c > 0
            m, c = m + min(c * UNIT, n - m), 0
            if m < n:
                self.ticks.append((t, CONCEALED, t - m))
                m, t = m + UNIT, t + UNIT
                continue
            if t - m > target + 1_000_000:
                m = max(u for u in self.units if self.available(u, t) and t - u >= target)
            may_stretch = not resumed and (operation is None or t - operation >= 100_000)
            offset = t - m
            if may_stretch and offset < target:
                kind, operation = STRETCHED, t
            elif may_stretch and offset >= target + UNIT and self.available(m + UNIT, t):
                kind, operation = FAST, t
                self.played[m] = self.played[m + UNIT] = t
                m += 2 * UNIT
            else:
                kind = PLAYED
                self.played[m] = t
                m += UNIT
            self.ticks.append((t, kind, offset))
            t += UNIT
        return self

    def packet(self, p: Packet) -> tuple[int, int, bool]:
        """Time played, end-to-end delay (-1: never) and whether it is late."""
        unit = next((u for u in self.units if p in self.touching[u] and u in self.played), None)
        if unit is None:
            return -1, -1, p.came is not None and not p.discarded
        return self.played[unit], self.played[unit] - unit, False
