"""The media sender in virtual time sends the packets of the simulated call; without root."""

import socket
import struct

import numpy as np
import pytest

from lab.studies.live_kernel.comparison import case
from lab.studies.live_kernel.media import HEADERS_BYTES, MediaSender
from vcgym.baselines.systems import load_system
from vcgym.envs.call.sender.batch import SendingBatch

SECONDS = 6.0


def simulated(system, link):
    batch = SendingBatch(1, system.rate, system.order, [link.trace], pacing=system.pacing, log_packets=1 << 14, seconds=SECONDS)
    batch.start(0, link)
    batch.play(np.arange(1))
    return batch.log(0)


def sent_outside(system, link, arrived_us):
    """The times and sizes of the packets that the sender gives a socket; it gets the reports of the simulator's receiver."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    found, reported, report_us, every_us = [], 0, 50_000, 50_000
    with here, there:
        there.setblocking(False)
        sender = MediaSender(here, system, link)
        while (now_us := min(sender.due_us, report_us + 40_000)) < SECONDS * 1e6:
            if now_us == report_us + 40_000:
                heard = [number for number in range(reported, len(found)) if 0 <= arrived_us[number] <= report_us]
                if heard:
                    there.send(np.array([(number, arrived_us[number]) for number in heard], np.int64).tobytes())
                    sender.read(now_us)
                    reported = heard[-1] + 1
                report_us += every_us
            else:
                sender.act(now_us)
            while True:
                try:
                    content = there.recv(2000)
                except BlockingIOError:
                    break
                number, sent_us, every_us = struct.unpack_from("!qqq", content)
                assert (number, sent_us) == (len(found), now_us)
                found.append((sent_us, len(content) + HEADERS_BYTES))
    return np.array(found)


@pytest.mark.long  # compiles a loop that no other quick test needs
@pytest.mark.parametrize("name", ["FIXED", "GCC-WEBRTC", "SBPN2"])
def test_a_sender_outside_sends_the_packets_of_the_simulated_call(name):
    system = load_system(name)
    link = case(system, 2e6, 50.0, (), SECONDS, 1.0).link
    log = simulated(system, link)
    outside = sent_outside(system, link, log["arrived_us"])
    assert len(log) == len(outside) > 200
    assert (log["size_bytes"] == outside[:, 1]).all()
    assert np.abs(log["sent_us"] - outside[:, 0]).max() <= 1
