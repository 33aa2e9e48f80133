"""The sender's queue against a list."""

from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO, SendQueue, item_at, put, take_out
from vcgym.network.kernels.record import records

STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 1_000_000)), max_size=60)


@given(STEPS, st.integers(1, 12), st.integers(0, 1023))
def test_same_as_a_list(steps, limit, first):
    queue, twin = records(SendQueue, 1)[0], []
    queue.limit = limit
    queue.first = first  # anywhere in the ring
    for number, (comes, value) in enumerate(steps):
        if comes and len(twin) < limit:
            packet = (number, number + value, 1 + value % 1500, AUDIO if value % 2 else VIDEO, number)
            put(queue, *packet)
            twin.append(packet)
        elif twin:
            place = value % len(twin)
            take_out(queue, place)
            del twin[place]
        assert (queue.waiting, queue.bytes) == (len(twin), sum(packet[2] for packet in twin))
        waiting = [item_at(queue, i) for i in range(queue.waiting)]
        assert [(item.created_us, item.expires_us, item.size_bytes, item.kind, item.frame) for item in waiting] == twin
