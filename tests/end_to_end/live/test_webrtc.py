"""An unmodified WebRTC stack calls through the emulator and a relay; its own figures agree with those of the tunnel."""

import asyncio
import threading
from contextlib import ExitStack, suppress

import aioice.ice
import numpy as np
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack

from vcgym.live.call.tunnel import Tunnel, candidate_of, redirected
from vcgym.live.forwarding.emulator import EmulatedWorld, Emulator
from vcgym.live.forwarding.relay import Relay
from vcgym.live.protocol.nodes import open_socket, serve, unix_us
from vcgym.live.protocol.session import Session, hop_of
from vcgym.live.protocol.wire import DatagramKind, new_key, session_key
from vcgym.network.kernels.slots import LOST

SECONDS, SLOTS = 4.0, 6000


@pytest.fixture
def tunnel(monkeypatch):
    """Two tunnel ends over an emulator that delays by 30 ms and loses two slots of ten after the first 3 s, and a relay."""
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    secret = new_key()
    delay_us = np.full((1, SLOTS), 30_000, np.int32)
    delay_us[0, 300::10] = delay_us[0, 301::10] = LOST
    with ExitStack() as opened:
        emulator, relay, caller, callee = (opened.enter_context(open_socket()) for _ in range(4))
        hops = [hop_of(one.getsockname()) for one in (emulator, relay, callee)]
        back = [*hops[:2], hop_of(caller.getsockname())]
        session = Session(
            number=1, key=session_key(secret, 1).hex(), packets=SLOTS, seed=0, media=[hops], feedback=back, commands=back, setup=hops,
            levels=hops, history=[[0.0, 0.0, 0.0]],
        )  # fmt: skip
        ends = Tunnel(session, DatagramKind.MEDIA), Tunnel(session, DatagramKind.FEEDBACK)
        world = EmulatedWorld(delay_us, np.zeros((1, 3)), 30_000, 30_000)
        parts = [(emulator, Emulator(secret, world, unix_us())), (relay, Relay(secret, unix_us())), (caller, ends[0]), (callee, ends[1])]
        stop = threading.Event()
        network = threading.Thread(target=serve, args=(parts, stop.is_set))
        network.start()
        try:
            yield ends, (caller.getsockname(), callee.getsockname())
        finally:
            stop.set()
            network.join()


async def _called(ends, addresses):
    """Return what the callee's stack reports of the caller's audio after some seconds."""
    configuration = RTCConfiguration(iceServers=[])
    caller, callee = RTCPeerConnection(configuration), RTCPeerConnection(configuration)
    caller.addTrack(AudioStreamTrack())
    heard = asyncio.get_running_loop().create_future()
    callee.on("track", heard.set_result)
    await caller.setLocalDescription(await caller.createOffer())
    ends[0].peer = candidate_of(caller.localDescription.sdp)
    await callee.setRemoteDescription(RTCSessionDescription(redirected(caller.localDescription.sdp, addresses[1]), "offer"))
    await callee.setLocalDescription(await callee.createAnswer())
    ends[1].peer = candidate_of(callee.localDescription.sdp)
    await caller.setRemoteDescription(RTCSessionDescription(redirected(callee.localDescription.sdp, addresses[0]), "answer"))
    track = await asyncio.wait_for(heard, 30.0)
    await asyncio.wait_for(track.recv(), 30.0)
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while True:
                await track.recv()
    reports = (await callee.getStats()).values()
    await asyncio.gather(caller.close(), callee.close())
    return next(report for report in reports if report.type == "inbound-rtp")


@pytest.mark.realtime
def test_an_unmodified_stack_calls_through_the_relays(tunnel):
    ends, addresses = tunnel
    report = asyncio.run(_called(ends, addresses))
    delay_ms = np.array(list(ends[1].delay_us.values())) / 1000.0
    assert report.packetsReceived > 100
    assert delay_ms.min() >= 30.0 and len(ends[1].delay_us) < ends[0].sent
    assert 0 < report.packetsLost <= ends[0].sent - len(ends[1].delay_us)
