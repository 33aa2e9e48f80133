"""Slow twin of the repair of video frames: linear equations with random coefficients modulo a prime, solved anew after each packet."""

import numpy as np

PRIME = 2**31 - 1
PACKET, REPAIR, AGAIN = "packet", "repair", "again"


class PlainRepairs:
    """Frames of one call; `take` the packets in order of sending, with arrivals that do not decrease."""

    def __init__(self, seed=0):
        self.draws = np.random.default_rng(seed)
        self.before, self.packets, self.sent, self.missing, self.equations = {}, {}, {}, {}, []
        self.expires_us, self.on_time = {}, {}

    def begin(self, frame, packets, expires_us, before=0):
        """Begin a frame whose repair packets cover so many frames before it."""
        self.before[frame], self.packets[frame], self.expires_us[frame] = before, packets, expires_us
        self.sent[frame], self.on_time[frame] = 0, 0
        self.missing[frame] = {(frame, i) for i in range(packets)}

    def take(self, frame, what, arrived_us):
        """Take the outcome of the frame's next PACKET, of a REPAIR packet, or of one sent AGAIN; `arrived_us` None if it is lost."""
        if what == PACKET:
            packet = (frame, self.sent[frame])
            self.sent[frame] += 1
            if arrived_us is None:
                return
            if packet not in self.missing[frame]:  # repaired before
                return
            self.missing[frame].remove(packet)
            self.on_time[frame] += arrived_us <= self.expires_us[frame]
        elif arrived_us is not None:
            before = self.before[frame] if what == REPAIR else 0
            covered = [(number, i) for number in range(max(frame - before, 0), frame + 1) for i in range(self.packets.get(number, 0))]
            self.equations.append({packet: int(self.draws.integers(1, PRIME)) for packet in covered})
        if arrived_us is not None:
            for packet in self.solved():
                self.missing[packet[0]].remove(packet)
                self.on_time[packet[0]] += arrived_us <= self.expires_us[packet[0]]

    def solved(self):
        """Return the missing packets that the equations determine: Gauss-Jordan elimination, then rows with one unknown."""
        unknown = sorted(packet for missing in self.missing.values() for packet in missing)
        rows = [[equation.get(packet, 0) for packet in unknown] for equation in self.equations]
        rank = 0
        for column in range(len(unknown)):
            pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
            if pivot is None:
                continue
            rows[rank], rows[pivot] = rows[pivot], rows[rank]
            inverse = pow(rows[rank][column], -1, PRIME)
            rows[rank] = [value * inverse % PRIME for value in rows[rank]]
            for i in range(len(rows)):
                if i != rank and rows[i][column]:
                    factor = rows[i][column]
                    rows[i] = [(a - factor * b) % PRIME for a, b in zip(rows[i], rows[rank], strict=True)]
            rank += 1
        return [unknown[next(i for i, a in enumerate(row) if a)] for row in rows[:rank] if sum(map(bool, row)) == 1]
