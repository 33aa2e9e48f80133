"""Bytes of the packets of a call: G.711, in frames of 10 ms unless the call has longer ones, with their headers.

IPv4, UDP and RTP take 20 + 8 + 12 bytes. A packet that carries earlier frames (RED, RFC 2198) has one byte for its own frame and four for
each earlier one. A packet that goes again later is a retransmission (RFC 4588) with two bytes more. A repair packet has the header of
FlexFEC as libwebrtc sends it (draft-ietf-payload-flexible-fec-scheme-03): 20, 24 or 32 bytes for up to 15, 46 or 109 packets; its payload
is as long as the longest packet that it covers, without the RTP header. Encryption is not counted.
"""

from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.slots import SLOT_US

HEADERS = 40
FRAME = 80
PLAIN = HEADERS + FRAME  # a packet without protection
PROBE_BYTES = HEADERS  # a probe has headers alone
AGAIN = 2
_RED, _EARLIER = 1, 4
_FLEX = ((15, 20), (46, 24), (109, 32))


@kernel
def plain_bytes(packet_us):
    """Return the bytes of a packet without protection whose frame lasts `packet_us`, int64."""
    return HEADERS + FRAME * packet_us // SLOT_US


@kernel
def earlier_bytes(so_far, frame=FRAME):
    """Return the bytes of one more earlier frame, of `frame` bytes, in a packet that carries `so_far` of them, int64."""
    return _EARLIER + frame + (_RED if so_far == 0 else 0)


@kernel
def repair_bytes(covered, longest):
    """Return the bytes of a repair packet for `covered` packets, 1 to 109, of which the longest has `longest` bytes, int64."""
    for most, header in _FLEX:
        if covered <= most:
            return header + longest
    return -1
