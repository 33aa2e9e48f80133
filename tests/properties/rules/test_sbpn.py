"""SBPN against its facts and a slow twin that sorts, and the queue of the sender against a list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Discard, Overflow, Sbpn
from vcgym.baselines.order.scheduler import REJECT, choose, choose_victim, drop
from vcgym.baselines.rule import Control, require_rule
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO, SendQueue, item_at, put, take_out
from vcgym.network.kernels.record import records

SBPN1, SBPN2 = Sbpn(keep_last=False), Sbpn()
LIFE_US = 200_000


def queue_of(packets):
    """A queue that holds (kind, expires_us) of each packet."""
    queue = records(SendQueue, 1)[0]
    queue.limit = 64
    for number, (kind, expires_us) in enumerate(packets):
        put(queue, expires_us - LIFE_US, expires_us, 100, kind, number)
    return queue


def leaves(rule, queue, now_us, rtt_us):
    """Numbers of the packet that leaves, None if none does, and of those thrown away before."""
    dropped = []
    while queue.waiting:
        answer = choose(rule, queue, now_us, rtt_us)
        place = answer if answer >= 0 else -1 - answer
        number = int(item_at(queue, place).frame)
        take_out(queue, place)
        if answer >= 0:
            return number, dropped
        dropped.append(number)
    return None, dropped


@pytest.mark.parametrize(("rtt_ms", "age_ms"), [(30, 185), (80, 160), (150, 125)])
@pytest.mark.parametrize("rule", [SBPN1, SBPN2])
def test_latest_age_that_is_sent(rule, rtt_ms, age_ms):
    """S-7: an age of 185, 160 and 125 ms at round trips of 30, 80 and 150."""
    packets = [(VIDEO, LIFE_US), (VIDEO, LIFE_US + 10_000_000)]
    assert leaves(rule, queue_of(packets), age_ms * 1000, rtt_ms * 1000) == (0, [])
    assert leaves(rule, queue_of(packets), age_ms * 1000 + 1, rtt_ms * 1000) == (1, [0])


@pytest.mark.parametrize("rule", [SBPN1, SBPN2])
def test_order_of_four(rule):
    """S-8: V200, A210, V190, A195 leave in the order A195, A210, V190, V200."""
    queue = queue_of([(VIDEO, 200_000), (AUDIO, 210_000), (VIDEO, 190_000), (AUDIO, 195_000)])
    assert [leaves(rule, queue, 0, 0)[0] for _ in range(4)] == [3, 1, 2, 0]


def test_expired_alone():
    """S-9: SBPN1 sends no expired packet, SBPN2 the last one waiting."""
    for kind in (VIDEO, AUDIO):
        assert leaves(SBPN1, queue_of([(kind, 0)]), 1, 0) == (None, [0])
        assert leaves(SBPN2, queue_of([(kind, 0)]), 1, 0) == (0, [])
    two = [(VIDEO, 0), (VIDEO, 5)]
    assert leaves(SBPN1, queue_of(two), 100, 0) == (None, [0, 1])
    assert leaves(SBPN2, queue_of(two), 100, 0) == (1, [0])


def sorted_twin(rule, packets, now_us, rtt_us):
    """What leaves and what is thrown away, by sorting."""

    def key(number):
        kind, expires_us = packets[number]
        if rule.weight > 0:
            return -(rule.weight * kind - (expires_us - now_us) / LIFE_US), number
        return (-kind, expires_us, number)

    waiting, dropped = sorted(range(len(packets)), key=key), []
    while waiting:
        expired = packets[waiting[0]][1] < now_us + rtt_us / 2
        if rule.discard == Discard.WHEN_FULL or not expired or (rule.keep_last and len(waiting) == 1):
            return waiting[0], dropped
        dropped.append(waiting.pop(0))
    return None, dropped


PACKETS = st.lists(st.tuples(st.sampled_from([VIDEO, AUDIO]), st.integers(0, 400_000)), min_size=1, max_size=12)
RULES = st.sampled_from(
    [SBPN1, SBPN2, Sbpn(discard=Discard.WHEN_FULL), Sbpn(weight=0.5), Sbpn(False, weight=2.0), Sbpn(overflow=Overflow.EVICTS)]
)


@given(RULES, PACKETS, st.integers(0, 500_000), st.integers(0, 300_000))
def test_same_as_sorting(rule, packets, now_us, rtt_us):
    assert leaves(rule, queue_of(packets), now_us, rtt_us) == sorted_twin(rule, packets, now_us, rtt_us)


@given(PACKETS, st.tuples(st.sampled_from([VIDEO, AUDIO]), st.integers(0, 400_000)), st.integers(0, 500_000))
def test_who_gives_way(packets, comes, now_us):
    queue = queue_of(packets)
    assert choose_victim(Sbpn(overflow=Overflow.REJECTS), queue, *comes, now_us, 0) == REJECT
    everyone = [*packets, comes]
    worst = max(range(len(everyone)), key=lambda number: (-everyone[number][0], everyone[number][1], number))
    place = choose_victim(Sbpn(overflow=Overflow.EVICTS), queue, *comes, now_us, 0)
    assert place == (worst if worst < len(packets) else REJECT)
    expired = [number for number, (_, expires_us) in enumerate(packets) if expires_us < now_us]
    assert choose_victim(Sbpn(discard=Discard.WHEN_FULL), queue, *comes, now_us, 0) == (expired[0] if expired else REJECT)


@given(PACKETS)
def test_first_in_first_out(packets):
    queue = queue_of(packets)
    assert choose(Fifo(), queue, 10**9, 0) == 0
    assert choose_victim(Fifo(), queue, AUDIO, 0, 10**9, 0) == REJECT
    assert drop(3) == -4


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"allowed are .*Fifo.*Sbpn"):
        require_rule("order", "fifo", Control.ORDER)


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 1_000_000)), max_size=60)


@given(STEPS, st.integers(1, 12), st.integers(0, 1023))
def test_the_queue_is_a_list(steps, limit, first):
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
