"""Slow twin of a call over paths: a heap of arrivals, lists for queue and feed, and the slow twin of the player."""

import heapq
from dataclasses import dataclass, field

import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from twins.player import Packet, Twin
from vcgym.baselines import rule
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, RateLimits, Record, path_history
from vcgym.baselines.rule import buffer_type
from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.playout.player import CONCEALED, FAST, PLAYED, SILENT, STRETCHED
from vcgym.network.playout.quality import CONCEALED_PRICE, LOSS_PRICE, R_DEFAULT, delay_impairment_reduced
from vcgym.network.playout.receiver import COUNT, DUPLICATE, FIRST, LATE, PUBLISHED, WATERMARK

SLOT = 10_000


class Inside:
    """Rule that sets a control of one session."""

    def __init__(self, params, history, key):
        self.params = params
        self.state = rule.allocate(params, 1, len(history))
        start = RateLimits(*history[0]) if rule.facts_of(type(params)).control is rule.Control.RATE else path_history(history)
        rule.init(params, self.state, 0, start, key)

    def learn(self, record):
        rule.update(self.params, self.state, 0, record)

    def decide(self, now_us):
        return int(rule.decide(self.params, self.state, 0, now_us))


@dataclass
class Commands:
    """Commands in flight: each applies from its instant on."""

    in_force: int
    delay_us: int
    sent: list = field(default_factory=list)

    def send(self, value, now_us):
        if not self.sent:
            self.sent.append((now_us, value))
        elif self.sent[-1][1] != value:
            self.sent.append((now_us + self.delay_us, value))

    def at(self, now_us):
        return next((value for since, value in reversed(self.sent) if since <= now_us), self.in_force)


class Receiver:
    """Algorithm 1 of the VCRoute paper, or a count buffer of either kind, on a list."""

    def __init__(self, mechanism, packet_us=SLOT):
        self.mechanism, self.packet_us = mechanism, packet_us
        self.queue, self.watermark_us, self.newest_out, self.level_us = [], None, -1, 80_000
        self.emitted, self.arrived = {}, set()

    def is_late(self, packet):
        if self.mechanism == COUNT:
            return packet < self.newest_out
        return self.mechanism == WATERMARK and self.watermark_us is not None and packet * self.packet_us < self.watermark_us

    def accept(self, packet, now_us):
        """Take a packet or a copy of it: FIRST, DUPLICATE, which changes nothing, or LATE."""
        if packet in self.arrived:
            return DUPLICATE
        self.arrived.add(packet)
        if self.is_late(packet):
            return LATE
        self._insert(packet, now_us)
        return FIRST

    def _insert(self, packet, now_us):
        while self.mechanism == PUBLISHED and len(self.queue) * self.packet_us > self.level_us:
            self._emit(min(self.queue), now_us)
        self.queue.append(packet)
        if self.mechanism == PUBLISHED:
            return
        if self.mechanism == COUNT:
            while len(self.queue) >= -(-self.level_us // self.packet_us) + 1:
                self._emit(min(self.queue), now_us)
            return
        moved_us = packet * self.packet_us - self.level_us
        self.watermark_us = moved_us if self.watermark_us is None else max(self.watermark_us, moved_us)
        for due in sorted(p for p in self.queue if p * self.packet_us <= self.watermark_us):
            self._emit(due, now_us)

    def _emit(self, packet, now_us):
        self.queue.remove(packet)
        if packet > self.newest_out:
            self.emitted[packet] = now_us
            self.newest_out = packet

    def lose_patience(self, newest, now_us):
        """Give up packets awaited for more than SLOTS sent packets."""
        for packet in sorted(self.queue):
            if packet <= newest - SLOTS:
                self._emit(packet, now_us)

    def left(self):
        """Return the packets that the flush at the end emits."""
        return {packet for packet in self.queue if packet > self.newest_out}


class Guard:
    """Protection of one call: bucket, packets as they were sent, sets of repair packets; `rule` has `learn`, `protect` and `in_band`."""

    def __init__(self, rule, budget, units=1):
        self.rule, self.frame, self.packet_us, self.bucket = rule, 80 * units, SLOT * units, 0
        self.income = round(1000 * (40 + self.frame) * budget)
        self.carried, self.coarse, self.sizes, self.set_of, self.repairs = {}, {}, {}, {}, {}
        self.extra_bytes = self.left_out = self.lost = self.coarse_taken = 0

    def pays(self, size):
        if self.bucket < 1000 * size:
            self.left_out += 1
            return False
        self.bucket -= 1000 * size
        self.extra_bytes += size
        return True

    def send(self, newest, path):
        """Return what goes with a packet: (kind, packet, path), in order."""
        self.bucket = min(self.bucket + self.income, 60_000_000 // self.packet_us * self.income)
        wanted = self.rule.protect(newest * self.packet_us, path)
        earlier, self.sizes[newest] = [], 40 + self.frame
        for packet in [newest - d for d in range(1, 63) if wanted.earlier >> d & 1 and d <= newest]:
            more = self.frame + (4 if earlier else 5)
            if not self.pays(more):
                break
            earlier.append(packet)
            self.sizes[newest] += more
        self.carried[newest] = earlier
        frames, size = self.rule.in_band(newest * self.packet_us)
        self.coarse[newest] = []
        if frames and self.pays(size):
            self.coarse[newest] = [newest - d for d in range(1, 63) if frames >> d & 1 and d <= newest]
            self.sizes[newest] += size
        others = []
        for further in (wanted.path, wanted.second):
            for packet in [newest - d for d in range(63) if further >= 0 and wanted.again >> d & 1 and d <= newest]:
                if not self.pays(self.sizes[packet] + (2 if packet < newest else 0)):
                    break
                others.append((COPY, packet, further))
        last = newest - wanted.behind
        if wanted.covers and last >= 0:
            members, _ = self.repairs.get(last, (list(range(max(last + 1 - wanted.covers, 0), last + 1)), 0))
            if self.pays((20 if len(members) <= 15 else 24 if len(members) <= 46 else 32) + max(self.sizes[p] for p in members)):
                self.repairs.setdefault(last, [members, 0])
                self.set_of.update(dict.fromkeys(members, last))
                others.append((REPAIR, last, path))
        return others

    def repaired(self, kind, packet, arrived):
        """Yield the packets that an arrival makes available; `arrived` grows meanwhile."""
        if kind == REPAIR:
            self.repairs[packet][1] += 1
        else:
            yield from (earlier for earlier in self.carried[packet] if earlier not in arrived)
            for earlier in self.coarse[packet]:
                if earlier not in arrived:
                    self.coarse_taken += 1
                    yield earlier
        last = packet if kind == REPAIR else self.set_of.get(packet)
        if last is not None:
            members, repairs = self.repairs[last]
            missing = [member for member in members if member not in arrived]
            yield from missing if len(missing) <= repairs else ()


def twin(delays, slots, history, seed, probes, location, feedback_loss, route, level, guard=None, units=1):
    """One call, step by step.

    Args:
        delays: (paths, slots), delay of each path and slot.
        slots: length of the call.
        history: (paths, 3).
        seed: seed of the world.
        probes: slots between probes of a path; 0 for none.
        location: 0 (sender) to 1 (receiver).
        feedback_loss: share of media records lost on the way to the location.
        route: a rule, or a list of (path, level or None), one per decision of 10 slots.
        level: a rule, or None if `route` contains the level.
        guard: protection, a Guard, or None.
        units: slots whose audio a packet carries; it leaves in each slot that is a multiple.
    """
    packets, packet_us = slots // units, units * SLOT
    control_us = round(history[0, 1] * 1000.0)
    to_sender = Commands(0, round(control_us * location))
    feedback_us = control_us - to_sender.delay_us
    to_receiver = Commands(80_000, feedback_us)
    receiver = Receiver(WATERMARK if level is None else buffer_type(level.params), packet_us)
    learns_from_copies = level is not None and rule.learns_from_copies(level.params)
    feed, wire, sent, used, arrivals = [], [], 0, {}, {}
    log = {"path": [], "probes_sent": 0}
    losses = {kind: np.uint64(rng.stream_key(np.uint64(seed), kind, rng.FEEDBACK)) for kind in (MEDIA, COPY, REPAIR)}
    last_media_us, slot, told, feed_of_guard = 0, 0, 0, 0

    def take(packet, path, at_us, kind=MEDIA):
        """Give an arrival to playout and queue; return its record at the receiver."""
        nonlocal last_media_us
        late = receiver.is_late(packet)
        seen = Record(kind if learns_from_copies else MEDIA, packet, path, packet * packet_us, at_us, at_us, receiver.level_us, int(late))
        if level is None:
            receiver.level_us = to_receiver.at(at_us)
        else:
            level.learn(seen)
            receiver.level_us = level.decide(slot * SLOT)
        assert receiver.accept(packet, at_us) == (LATE if late else FIRST)
        arrivals[packet] = (at_us, late, receiver.level_us, len(arrivals))
        last_media_us = at_us
        return seen

    while True:
        now_us = slot * SLOT
        while wire and wire[0][0] <= now_us:
            at_us, _, kind, packet, path, left_us = heapq.heappop(wire)
            known = packet in receiver.arrived
            told_level_us, late = receiver.level_us, 0
            if kind in (MEDIA, COPY) and not known:
                late = take(packet, path, at_us, kind).late
            elif kind in (MEDIA, COPY) and learns_from_copies:
                level.learn(Record(kind, packet, path, packet * packet_us, at_us, at_us, receiver.level_us, 0))
            if kind == PROBE or feedback_loss == 0.0 or rng.uniform(losses[kind], packet) >= feedback_loss:
                feed.append(Record(kind, packet, path, left_us, at_us, at_us + feedback_us, told_level_us, late))
            for repaired in guard.repaired(kind, packet, receiver.arrived) if guard and kind != PROBE else ():
                take(repaired, path, at_us)
        if slot >= slots and not wire:
            break
        if slot < slots and isinstance(route, list) and slot % 10 == 0:
            path, commanded_us = route[slot // 10]
            if commanded_us is not None:
                to_receiver.send(commanded_us, now_us)
            to_sender.send(path, now_us)
        if slot < slots and slot % units == 0:
            newest = slot // units
            if not isinstance(route, list):
                while told < len(feed) and feed[told].known_us <= now_us:
                    route.learn(feed[told])
                    told += 1
                to_sender.send(route.decide(slot * SLOT), now_us)
            path = to_sender.at(now_us)
            receiver.lose_patience(newest, now_us)
            used[path] = slot
            log["path"].append(path)
            guard_learns = guard and hasattr(guard.rule, "learn")
            while guard_learns and feed_of_guard < len(feed) and feed[feed_of_guard].known_us + to_sender.delay_us <= now_us:
                record = feed[feed_of_guard]
                guard.rule.learn(record._replace(known_us=record.known_us + to_sender.delay_us))
                feed_of_guard += 1
            for kind, packet, other in [(MEDIA, newest, path), *(guard.send(newest, path) if guard else ())]:
                if kind == COPY:
                    used[other] = slot
                if delays[other, slot] != LOST:
                    heapq.heappush(wire, (now_us + int(delays[other, slot]), sent, kind, packet, other, now_us))
                    sent += 1
                elif guard and kind == MEDIA:
                    guard.lost += 1
        for idle in range(len(delays)) if probes and slot < slots else ():
            if slot % probes == idle * probes // len(delays) and slot - used.get(idle, -(1 << 40)) >= probes:
                log["probes_sent"] += 1
                delay = int(delays[idle, slot])
                if delay != LOST:
                    heapq.heappush(wire, (now_us + delay, sent, PROBE, slot // units, idle, now_us))
                    sent += 1
        slot += 1
    left = receiver.left()
    log["arrived_us"] = [arrivals[packet][0] if packet in arrivals else -1 for packet in range(packets)]
    log["flushed"] = [packet in left for packet in range(packets)]
    log["emitted_us"] = [receiver.emitted.get(p, last_media_us if p in left else -1) for p in range(packets)]
    log["plans_sent"] = len(to_sender.sent) - 1
    log["path_changes"] = sum(a != b for a, b in zip(log["path"], log["path"][1:], strict=False))
    paid = [at_us - packet * packet_us for packet, at_us in receiver.emitted.items()]
    log["return_event"] = -sum(paid) / 100_000.0 - LOSS_PRICE * (packets - len(paid) - len(left))
    return log | heard(packets, arrivals, units)


def heard(packets, arrivals, units=1):
    """Return the heard audio from the packets in order of arrival; the audio of each ends with the slot in which it leaves."""
    stream, starts_us = [], [(packet * units - units + 1) * SLOT for packet in range(packets)]
    for packet in sorted(range(packets), key=lambda p: arrivals.get(p, (0, False, 0, packets + p))[3]):
        at_us, late, level_us, _ = arrivals.get(packet, (None, False, 0, 0))
        stream.append(Packet(starts_us[packet], units * SLOT, at_us, late, level_us))
    heard = Twin(stream, by_arrival=True, patience=SLOTS - 1).run()
    kinds = [kind for _, kind, _ in heard.ticks]
    sounding = [(kind, offset) for _, kind, offset in heard.ticks if kind != SILENT]
    runs = [len(run) for run in "".join("c" if kind == CONCEALED else " " for kind, _ in sounding).split()]
    impairment = sum(float(delay_impairment_reduced(offset / 1000.0)) for _, offset in sounding)
    windows = [
        [len(part), sum(kind == CONCEALED for kind, _ in part), sum(offset for _, offset in part)]
        for part in (sounding[first : first + 1000] for first in range(0, len(sounding), 1000))
    ]
    return {
        "played_us": [_first_played_us(heard.played, start_us, units) for start_us in starts_us],
        "ticks_played": kinds.count(PLAYED) + kinds.count(FAST), "ticks_stretched": kinds.count(STRETCHED),
        "ticks_concealed": kinds.count(CONCEALED), "ticks_silent": kinds.count(SILENT),
        "offset_us_sum": sum(offset for _, offset in sounding), "impairment_sum": impairment,
        "return_emodel": (R_DEFAULT * len(sounding) - impairment - CONCEALED_PRICE * kinds.count(CONCEALED)) / 100.0,
        "conceal_runs": len(runs), "conceal_longest_ticks": max(runs, default=0), "conceal_runs_long": sum(run > 6 for run in runs),
        "windows": windows,
    }  # fmt: skip


def _first_played_us(played, start_us, units):
    """Return the tick at which the first unit of a packet that is heard is played, -1 if none is."""
    return min((played[unit] for unit in range(start_us, start_us + units * SLOT, SLOT) if unit in played), default=-1)


def assert_equal(played, row, expected):
    for name in ("path", "arrived_us", "emitted_us", "flushed", "played_us"):
        assert getattr(played, name)[row].tolist() == expected[name], name
    for name, values in played.totals._asdict().items():
        if values.dtype.kind == "f":
            assert values[row] == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name
        else:
            assert values[row] == expected[name], name
    windows = played.windows[row]
    assert windows[: len(expected["windows"])].tolist() == expected["windows"]
    assert not windows[len(expected["windows"]) :].any()


def world_of(recipe, draw, packets):
    """Return all delays (paths, slots) and the history of a sampled world, without playing."""
    world = recipe.world(1)
    history = world.start(0, draw)
    parts = [world.delay_us[0].copy()]
    while len(parts) * BLOCK_SLOTS < packets:
        world.fill(np.array([0]))
        parts.append(world.delay_us[0].copy())
    return np.concatenate(parts, axis=1), history
