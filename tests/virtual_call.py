"""A live call in virtual time: the nodes of a call, and an event queue in place of sockets and clock."""

import heapq
import itertools

from vcgym.envs.call.batch import LOCATIONS
from vcgym.live.call.audio import tones
from vcgym.live.call.parties import Addresses, parties_of, session_over
from vcgym.live.emulator import Emulator, emulated
from vcgym.live.protocol.nodes import NEVER_US
from vcgym.live.relay import Relay

SECRET = b"a secret of the test"
EMULATOR, SENDER, CONTROLLER, RECEIVER = (("127.0.0.1", port) for port in range(1, 5))
RELAYS = [("127.0.0.1", port) for port in range(10, 15)]
START_US = 1_000_000


class Virtual:
    """Nodes in virtual time: a datagram arrives one microsecond after it was sent, and nodes wake when they asked to."""

    def __init__(self, nodes):
        self.nodes, self.now_us, self.order, self.waiting = nodes, 0, itertools.count(), []
        self.also = lambda datagram: []  # what an attacker sends in addition

    def post(self, source, sent):
        for datagram, address in sent:
            for one in (datagram, *self.also(datagram)):
                heapq.heappush(self.waiting, (self.now_us + 1, next(self.order), address, one, source))

    def run(self, until_us):
        while self.now_us < until_us:
            due_us = min(node.due_us for node in self.nodes.values())
            arrival_us = self.waiting[0][0] if self.waiting else NEVER_US
            self.now_us = max(min(due_us, arrival_us), self.now_us)
            if self.now_us >= NEVER_US:
                return
            if arrival_us <= due_us:
                _, _, address, datagram, source = heapq.heappop(self.waiting)
                if address in self.nodes:
                    self.post(address, self.nodes[address].receive(datagram, source, self.now_us))
            else:
                for address, node in self.nodes.items():
                    if node.due_us <= self.now_us:
                        self.post(address, node.wake(self.now_us))


def network_of(policy, scenario, draw, location="central"):
    """Return the virtual network of a call, and its parties."""
    world = emulated(scenario, draw, LOCATIONS[location])
    session = session_over(scenario, draw, world, SECRET, Addresses(EMULATOR, RELAYS, SENDER, CONTROLLER, RECEIVER))
    parties = parties_of(session, policy, world, tones(1.0), START_US)
    nodes = {EMULATOR: Emulator(SECRET, world, 0), **{relay: Relay(SECRET, 0) for relay in RELAYS}}
    nodes |= dict(zip((SENDER, CONTROLLER, RECEIVER), parties.nodes, strict=True))
    return Virtual(nodes), parties
