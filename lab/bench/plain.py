"""DRT-WM in plain Python, a literal implementation as reference for the compiled loop: one path, WMJitter's lag, watermark, player.

Algorithms 1 and 2: arXiv 2310.05054; histogram: NetEQ's, in its integers; player: `vcgym.network.playout.player`. A test asserts that it
equals the loop. Left out: feedback, commands and probes, which the direct path does not use.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

SLOT_US = 10_000
WINDOW_US = 2_000_000
BUCKETS = 100
ONE = 1 << 30
NEVER = -1


class PlainOutcome(NamedTuple):
    """Outcome of each packet (times in microseconds or NEVER), and counts of ticks."""

    emitted_us: list[int]
    played_us: list[int]
    sounding_ticks: int
    concealed_ticks: int
    offset_us_sum: int


class Lag:
    """Algorithm 2: a lag (us) that follows the accumulated jitter."""

    def __init__(self) -> None:
        self.lag_us = self._base_us = 80_000
        self._differences: deque[tuple[int, int]] = deque()  # sent time, change of the delay
        self._last_delay_us: int | None = None
        self._newest_us = self._newest_difference_us = -1
        self._shares = [(16386 >> min(i + 1, 15)) << 16 for i in range(BUCKETS)]
        self._factor = self._samples = 0

    def learn(self, sent_us: int, arrived_us: int) -> None:
        """Update with an arrival that is not late."""
        delay_us, last_us = arrived_us - sent_us, self._last_delay_us
        in_order = sent_us > self._newest_us
        self._newest_us = max(self._newest_us, sent_us)
        self._last_delay_us = delay_us
        if last_us is None:
            return
        self._count(self._accumulated_us(sent_us, delay_us - last_us) // SLOT_US)
        if in_order:
            self.lag_us = self._base_us = (1 + self._quantile()) * SLOT_US
        else:
            self.lag_us = max(self._base_us, (1 + self._cheapest()) * SLOT_US)

    def _accumulated_us(self, sent_us: int, difference_us: int) -> int:
        self._differences.append((sent_us, difference_us))
        self._newest_difference_us = max(self._newest_difference_us, sent_us)
        while self._newest_difference_us - self._differences[0][0] > WINDOW_US:
            self._differences.popleft()
        total_us = 0
        for _, change_us in self._differences:
            total_us = max(0, total_us + change_us)
        return total_us

    def _count(self, bucket: int) -> None:
        if bucket >= BUCKETS:
            return
        shares = self._shares = [(share * self._factor) >> 15 for share in self._shares]
        shares[bucket] += ((1 << 15) - self._factor) << 15
        excess = sum(shares) - ONE
        for i, share in enumerate(shares):
            if excess == 0:
                break
            change = max(-excess, -(share >> 4)) if excess > 0 else min(-excess, share >> 4)
            shares[i] += change
            excess += change
        self._samples += 1
        rising = (1 << 15) * (self._samples - 1) // (self._samples + 1)
        self._factor = min(rising, int(0.983 * (1 << 15)))

    def _quantile(self) -> int:
        reached, wanted = 0, int(0.95 * ONE)
        for i, share in enumerate(self._shares):
            reached += share
            if reached >= wanted:
                return i
        return BUCKETS - 1

    def _cheapest(self) -> int:
        beyond, costs = ONE, []
        for i, share in enumerate(self._shares):
            beyond -= share
            costs.append((max(0, i * SLOT_US - self._base_us) << 30) + 100 * SLOT_US * beyond)
            if beyond == 0:
                break
        return costs.index(min(costs))


class PlainPlayer:
    """Player with constant pace: plays a unit per 10-ms tick, conceals, stretches, jumps."""

    def __init__(self, units: int) -> None:
        self.tick_us: int | None = None
        self.played_us = [NEVER] * units
        self.sounding = self.concealed = self.offset_us_sum = 0
        self._there = [False] * units
        self._delays: deque[tuple[int, int]] = deque()  # sent time, delay
        self._newest_us = self._newest_unit = self._next = -1
        self._underrun = self._target_us = 0
        self._operation_us, self._first_us = -WINDOW_US, NEVER

    def arrive(self, unit: int, arrived_us: int, late: bool, lag_us: int) -> None:
        """Process one packet, late or not, and the lag after it."""
        sent_us = unit * SLOT_US
        self._newest_us = max(self._newest_us, sent_us)
        self._delays.append((sent_us, arrived_us - sent_us))
        oldest_us = self._newest_us - WINDOW_US
        while self._delays[0][0] < oldest_us:
            self._delays.popleft()
        self._target_us = min(delay for sent, delay in self._delays if sent >= oldest_us) + lag_us
        if not late:
            self._there[unit] = True
            self._newest_unit = max(self._newest_unit, unit)
            self._first_us = arrived_us if self._first_us == NEVER else self._first_us
        if arrived_us == self._first_us:
            self.tick_us = -(-(arrived_us + lag_us) // SLOT_US) * SLOT_US

    def tick(self) -> bool:
        """Play the next tick; return False at the end of the stream."""
        assert self.tick_us is not None
        now_us = self.tick_us
        self._next = self._there.index(True) if self._next < 0 else self._next
        if self._next + self._underrun >= len(self._there):
            return False
        self.tick_us += SLOT_US
        step = self._sound(now_us)
        self.sounding += 1
        self.offset_us_sum += now_us - self._next * SLOT_US
        self._next += step
        return True

    def _sound(self, now_us: int) -> int:
        """Return the number of units by which the player advances after this tick."""
        there = next((unit for unit in range(self._next, self._newest_unit + 1) if self._there[unit]), None)
        if there is None:
            self.concealed += 1
            self._underrun += 1
            return 0
        resumed, self._next = self._underrun > 0, self._next + min(self._underrun, there - self._next)
        self._underrun = 0
        if self._next < there:
            self.concealed += 1
            return 1
        if now_us - self._next * SLOT_US > self._target_us + 1_000_000:
            latest = min((now_us - self._target_us) // SLOT_US, self._newest_unit)
            self._next = next(unit for unit in range(latest, -1, -1) if self._there[unit])
        unit, offset_us = self._next, now_us - self._next * SLOT_US
        if not resumed and now_us - self._operation_us >= 100_000:
            if offset_us < self._target_us:
                self._operation_us = now_us
                return 0
            if offset_us >= self._target_us + SLOT_US and unit < self._newest_unit and self._there[unit + 1]:
                self._operation_us = now_us
                self.played_us[unit] = self.played_us[unit + 1] = now_us
                return 2
        self.played_us[unit] = now_us
        return 1


def forward(delays_us: Sequence[int]) -> PlainOutcome:
    """Play one call with one packet per 10 ms on one path; `delays_us[k]` is the delay of packet k, negative for a loss."""
    packets = len(delays_us)
    arrivals = sorted((k * SLOT_US + delay_us, k) for k, delay_us in enumerate(delays_us) if delay_us >= 0)
    lag, player, emitted_us = Lag(), PlainPlayer(packets), [NEVER] * packets
    watermark_us, queue = -(1 << 60), list[int]()
    for arrived_us, packet in arrivals:
        while player.tick_us is not None and player.tick_us < arrived_us and player.tick():
            pass
        late = packet * SLOT_US < watermark_us
        if not late:
            lag.learn(packet * SLOT_US, arrived_us)
            watermark_us = max(watermark_us, packet * SLOT_US - lag.lag_us)
            queue.append(packet)
            for due in sorted(held for held in queue if held * SLOT_US <= watermark_us):
                emitted_us[due] = arrived_us
                queue.remove(due)
        player.arrive(packet, arrived_us, late, lag.lag_us)
    while player.tick_us is not None and player.tick():
        pass
    return PlainOutcome(emitted_us, player.played_us, player.sounding, player.concealed, player.offset_us_sum)
