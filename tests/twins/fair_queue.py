"""CoDel and FQ-CoDel in plain Python, from the pseudo-code of RFC 8289 (5.5) and the text of RFC 8290 (4.1, 4.2)."""

import math
from collections import deque
from fractions import Fraction
from typing import NamedTuple

MTU = 1500


class Arrival(NamedTuple):
    """A packet that comes."""

    at_us: int
    flow: int
    size: int
    capable: bool


class CodelQueue:
    """A queue of one flow."""

    def __init__(self, target, interval):
        self.target, self.interval = target, interval
        self.packets, self.credits, self.listed = deque(), 0, False
        self.first_above = self.drop_next = self.count = self.last_count = 0
        self.dropping = False

    def bytes(self):
        return sum(arrival.size for _, arrival in self.packets)

    def do_dequeue(self, now):
        if not self.packets:
            self.first_above = 0
            return None, False
        packet = self.packets.popleft()
        if now - packet[1].at_us < self.target or self.bytes() <= MTU:
            self.first_above = 0
        elif self.first_above == 0:
            self.first_above = now + self.interval
        elif now >= self.first_above:
            return packet, True
        return packet, False

    def control_law(self, t):
        return t + int(self.interval / math.sqrt(self.count))

    def dequeue(self, now, marked):
        packet, ok_to_drop = self.do_dequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                self.count += 1
                if packet[1].capable:
                    marked.add(packet[0])
                    self.drop_next = self.control_law(self.drop_next)
                    return packet
                packet, ok_to_drop = self.do_dequeue(now)
                if ok_to_drop:
                    self.drop_next = self.control_law(self.drop_next)
                else:
                    self.dropping = False
        elif ok_to_drop:
            if packet[1].capable:
                marked.add(packet[0])
            else:
                packet, _ = self.do_dequeue(now)
            self.dropping = True
            delta = self.count - self.last_count
            self.count = delta if delta > 1 and now - self.drop_next < 16 * self.interval else 1
            self.drop_next = self.control_law(now)
            self.last_count = self.count
        return packet


class Limits(NamedTuple):
    """Parameters of the queue."""

    target: int
    interval: int
    quantum: int
    packets: int
    bytes: int


def simulate(arrivals, flows, fair, limits, rate_bps):
    """Return when each packet has left the link (None: dropped), and the set of those marked."""
    queues = [CodelQueue(limits.target, limits.interval) for _ in range(flows)]
    new, old, marked, left = deque(), deque(), set(), [None] * len(arrivals)
    free = Fraction(0)  # when the link is free, in exact microseconds

    def choose(now):
        while new or old:
            line = new or old
            queue = line[0]
            if fair and queue.credits <= 0:
                queue.credits += limits.quantum
                old.append(line.popleft())
                continue
            packet = queue.dequeue(now, marked)
            if packet is not None:
                queue.credits -= packet[1].size
                return packet
            line.popleft()
            if line is new:
                old.append(queue)
            else:
                queue.listed = False
        return None

    def leave_until(until):
        nonlocal free
        while any(queue.packets for queue in queues):
            oldest = min(queue.packets[0][1].at_us for queue in queues if queue.packets)
            now = max(math.ceil(free), oldest)
            if now > until:
                return
            packet = choose(now)
            if packet is None:
                return
            begins = free if packet[1].at_us <= free else Fraction(packet[1].at_us)
            free = begins + Fraction(packet[1].size * 8_000_000, rate_bps)
            left[packet[0]] = math.ceil(free)

    for number, arrival in enumerate(arrivals):
        leave_until(arrival.at_us)
        queue = queues[arrival.flow if fair else 0]
        queue.packets.append((number, arrival))
        if not queue.listed:
            queue.listed, queue.credits = True, limits.quantum
            new.append(queue)
        while sum(len(q.packets) for q in queues) > limits.packets or sum(q.bytes() for q in queues) > limits.bytes:
            max(queues, key=lambda q: q.bytes()).packets.popleft()
    leave_until(math.inf)
    return left, marked
