"""The network of a conference in plain Python: one heap of events, a list per queue, a dict per packet."""

import heapq
from fractions import Fraction

import numpy as np

from vcgym.conference.network.network import CODED_BYTES, PACKET_BYTES
from vcgym.conference.network.repairs import WIDTH
from vcgym.conference.network.topology import NO_LINK
from vcgym.network.kernels import rng

LINK, SOURCE, FLOW = range(3)


class TwinLink:
    def __init__(self, rate_bps, propagation_us, limit):
        self.rate_bps, self.propagation_us, self.limit = rate_bps, propagation_us, limit
        self.free_us, self.leaves_us, self.down, self.dropped, self.cut, self.entered = Fraction(0), [], False, 0, 0, 0

    def offer(self, now_us, size_bytes):
        """Return the arrival time of the packet at the other end; None if it is lost."""
        if self.down:
            self.cut += 1
            return None
        self.leaves_us = [leaves_us for leaves_us in self.leaves_us if leaves_us > now_us]
        if len(self.leaves_us) >= self.limit:
            self.dropped += 1
            return None
        self.entered += 1
        self.free_us = max(self.free_us, Fraction(now_us)) + Fraction(size_bytes * 8_000_000, self.rate_bps)
        self.leaves_us.append(-(-self.free_us.numerator // self.free_us.denominator))
        return self.leaves_us[-1] + self.propagation_us


class TwinConference:
    """Same arguments as the kernels; `log` holds (session, receiver, number, created_us, arrived_us, tree).

    `coded`: coded packets per packet, by (session, tail, head); none: no recovery.
    """

    def __init__(self, overlay, flows, seed, coded=None):
        self.coded, self.credits, self.covered, self.owned, self.repaired = coded or {}, {}, {}, set(), 0
        self.links = [
            TwinLink(round(kbps * 1000), int(us), int(limit))
            for kbps, us, limit in zip(overlay.capacity_kbps, overlay.propagation_us, overlay.queue_packets, strict=True)
        ]
        self.paths = {
            (i, j): [int(link) for link in overlay.paths[i, j] if link != NO_LINK]
            for i in range(overlay.parties) for j in range(overlay.parties) if i != j
        }  # fmt: skip
        self.seed, self.log, self.events, self.order, self.present = seed, [], [], 0, set(range(overlay.parties))
        self.sources = [
            {"due": None, "rate": 0.0, "plan": [], "credits": [], "number": 0, "plans": 0, "copies": []} for _ in range(overlay.parties)
        ]
        for f, (link, flow) in enumerate(flows):
            gap_us = flow.size_bytes * 8e3 / flow.rate_kbps
            due = flow.starts_s * 1e6 + gap_us * rng.uniform(np.uint64(rng.stream_key(seed, f, rng.CROSS)), 0)
            self.push(int(due), (FLOW, f), {"link": link, "flow": flow, "gap": gap_us, "due": due})

    def push(self, at_us, stream, what):
        self.order += 1
        heapq.heappush(self.events, (at_us, stream, self.order, what))

    def set_plan(self, m, trees, weights, rate_kbps, now_us):
        source = self.sources[m]
        was_silent = not source["plan"]
        source["plans"] += 1
        source.update(plan=list(zip(trees, weights, strict=True)), credits=[0.0] * len(trees), rate=rate_kbps)
        if trees and was_silent:
            phase = rng.uniform(np.uint64(rng.stream_key(self.seed, m, rng.SOURCE)), source["plans"])
            source["due"] = now_us + phase * PACKET_BYTES * 8e3 / rate_kbps
            self.push(int(source["due"]), (SOURCE, m), m)

    def run(self, until_us):
        while self.events and self.events[0][0] <= until_us:
            now_us, (kind, number), _, what = heapq.heappop(self.events)
            if kind == FLOW:
                self.cross(now_us, number, what)
            elif kind == SOURCE:
                self.emit(now_us, number)
            else:
                self.arrive(now_us, what)

    def cross(self, now_us, f, what):
        flow = what["flow"]
        if now_us < round(flow.stops_s * 1e6):
            self.links[what["link"]].offer(now_us, flow.size_bytes)
            what["due"] += what["gap"]
            self.push(int(what["due"]), (FLOW, f), what)

    def emit(self, now_us, m):
        source = self.sources[m]
        if not source["copies"]:
            self.begin_packet(now_us, source, m)
        self.send(source["copies"].pop(0), m, now_us)
        source["due"] += PACKET_BYTES * 8e3 / (source["rate"] * source["children"])
        self.push(int(source["due"]), (SOURCE, m), m)

    def begin_packet(self, now_us, source, m):
        for k, (_, weight) in enumerate(source["plan"]):
            source["credits"][k] += weight
        best = int(np.argmax(source["credits"]))
        source["credits"][best] -= 1.0
        parents = source["plan"][best][0]
        packet = {"session": m, "number": source["number"], "created": now_us, "parents": parents, "tree": best}
        source["copies"] = self.copies(packet, m)
        source["children"] = len(source["copies"])
        source["number"] += 1

    def copies(self, packet, party):
        first = packet["number"] if party != packet["session"] else 0
        order = [(first + head) % len(packet["parents"]) for head in range(len(packet["parents"]))]
        heads = [head for head in order if packet["parents"][head] == party and head != packet["session"]]
        return [packet | {"head": head, "way": list(self.paths[party, head])} for head in heads]

    def send(self, packet, tail, now_us):
        """Send a copy, and after it the sum of the last ones of the session on the overlay link if one is due."""
        self.enter(packet, now_us)
        where = (packet["session"], tail, packet["head"])
        share = self.coded.get(where, 0.0)
        covered = self.covered.setdefault(where, [])
        covered.append(packet)
        self.credits[where] = min(self.credits.get(where, 0.0) + share, WIDTH)
        if self.credits[where] >= 1.0 and len(covered) >= WIDTH:
            self.credits[where] -= 1.0
            self.enter(packet | {"way": list(self.paths[where[1:]]), "sum": covered[-WIDTH:]}, now_us)

    def enter(self, packet, now_us):
        link = packet["way"].pop(0)
        arrives_us = self.links[link].offer(now_us, CODED_BYTES if "sum" in packet else PACKET_BYTES)
        if arrives_us is not None:
            self.push(arrives_us, (LINK, link), packet)

    def arrive(self, now_us, packet):
        if packet["way"]:
            self.enter(packet, now_us)
        elif packet["head"] in self.present:
            if "sum" in packet:
                missing = [one for one in packet["sum"] if (one["session"], one["number"], one["head"]) not in self.owned]
                if len(missing) != 1:
                    return
                packet = missing[0]
                self.repaired += 1
            self.owned.add((packet["session"], packet["number"], packet["head"]))
            entry = (packet["session"], packet["head"], packet["number"], packet["created"], now_us, packet["tree"])
            self.log.append(entry)
            for copy in self.copies(packet, packet["head"]):
                self.send(copy, packet["head"], now_us)
