"""A whole call equals a slow twin: a heap of arrivals, lists for queue and feed, and the slow twin of the player.

Rules are called from Python one packet at a time; that they do what their papers say is shown beside them.
"""

import heapq
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines import rule
from vcgym.baselines.receivers.bf_published import PublishedBuffer
from vcgym.baselines.receivers.count_buffer import CountTarget
from vcgym.baselines.receivers.fixed_lag import FixedLag
from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, PROBE, Record, path_history
from vcgym.baselines.routers.direct import Direct
from vcgym.baselines.routers.round_robin import RoundRobin
from vcgym.baselines.routers.vcroute.vcroute import VCRoute
from vcgym.baselines.rule import buffer_type
from vcgym.envs.call.batch import PLACES, CallBatch
from vcgym.network.kernels import rng
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.playout.player import CONCEALED, FAST, PLAYED, SILENT, STRETCHED
from vcgym.network.playout.quality import CONCEALED_PRICE, LOSS_PRICE, R_DEFAULT, delay_impairment_reduced
from vcgym.network.playout.receiver import COUNT, PUBLISHED, WATERMARK
from vcgym.network.playout.slot_window import WINDOW_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World, WorldDraw

SLOT = 10_000


def _player_twin():
    spec = importlib.util.spec_from_file_location("player_twin", Path(__file__).with_name("test_player_twin.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAYER = _player_twin()


class Inside:
    """A rule that holds a lever, one row."""

    def __init__(self, params, history, key):
        self.params = params
        self.state = rule.allocate(params, 1, len(history))
        rule.init(params, self.state, 0, path_history(history), key)

    def learn(self, record):
        rule.update(self.params, self.state, 0, record)

    def decide(self, slot):
        return int(rule.decide(self.params, self.state, 0, slot * 10_000))


@dataclass
class Commands:
    """Commands on their way: each holds from its instant on."""

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

    def __init__(self, mechanism):
        self.mechanism = mechanism
        self.queue, self.watermark_us, self.newest_out, self.level_us = [], None, -1, 80_000
        self.emitted = {}

    def is_late(self, packet):
        if self.mechanism == COUNT:
            return packet < self.newest_out
        return self.mechanism == WATERMARK and self.watermark_us is not None and packet * SLOT < self.watermark_us

    def accept(self, packet, now_us):
        while self.mechanism == PUBLISHED and len(self.queue) * SLOT > self.level_us:
            self._emit(min(self.queue), now_us)
        self.queue.append(packet)
        if self.mechanism == PUBLISHED:
            return
        if self.mechanism == COUNT:
            while len(self.queue) >= -(-self.level_us // SLOT) + 1:
                self._emit(min(self.queue), now_us)
            return
        moved_us = packet * SLOT - self.level_us
        self.watermark_us = moved_us if self.watermark_us is None else max(self.watermark_us, moved_us)
        for due in sorted(p for p in self.queue if p * SLOT <= self.watermark_us):
            self._emit(due, now_us)

    def _emit(self, packet, now_us):
        self.queue.remove(packet)
        if packet > self.newest_out:
            self.emitted[packet] = now_us
            self.newest_out = packet

    def lose_patience(self, newest, now_us):
        """Let go what has been waited for while SLOTS packets were sent."""
        for packet in sorted(self.queue):
            if packet <= newest - SLOTS:
                self._emit(packet, now_us)

    def left(self):
        """What the flush at the end lets go."""
        return {packet for packet in self.queue if packet > self.newest_out}


def twin(delays, packets, history, seed, probes, place, feedback_loss, route, level):
    """One call, step by step.

    Args:
        delays: (paths, slots), what each path does to each slot.
        packets: length.
        history: (paths, 3).
        seed: of the world.
        probes: slots from probe to probe of a path; 0 for none.
        place: 0 sender to 1 receiver.
        feedback_loss: share of records of media that the place never gets.
        route: a rule, or a list of (path, level or None), one for each decision of 10 packets.
        level: a rule, or None if the level comes with `route`.
    """
    control_us = round(history[0, 1] * 1000.0)
    to_sender = Commands(0, round(control_us * place))
    feedback_us = control_us - to_sender.delay_us
    to_receiver = Commands(80_000, feedback_us)
    receiver = Receiver(WATERMARK if level is None else buffer_type(level.params))
    feed, wire, sent, used, arrivals = [], [], 0, {}, {}
    log = {"path": [], "arrived_us": [], "probes_sent": 0}
    losses = np.uint64(rng.stream_key(np.uint64(seed), 0, rng.FEEDBACK))
    last_media_us, slot = 0, 0
    while True:
        now_us = slot * SLOT
        while wire and wire[0][0] <= now_us:
            at_us, _, kind, packet, path = heapq.heappop(wire)
            if kind == PROBE:
                feed.append(Record(PROBE, packet, path, packet * SLOT, at_us, at_us + feedback_us, receiver.level_us, 0))
                continue
            late = receiver.is_late(packet)
            seen = Record(MEDIA, packet, path, packet * SLOT, at_us, at_us, receiver.level_us, int(late))
            if level is None:
                receiver.level_us = to_receiver.at(at_us)
            else:
                level.learn(seen)
                receiver.level_us = level.decide(slot)
            if not late:
                receiver.accept(packet, at_us)
            arrivals[packet] = (at_us, late, receiver.level_us, len(arrivals))
            last_media_us = at_us
            if feedback_loss == 0.0 or rng.uniform(losses, packet) >= feedback_loss:
                feed.append(seen._replace(known_us=at_us + feedback_us))
        if slot >= packets and not wire:
            break
        if slot < packets:
            if isinstance(route, list):
                if slot % 10 == 0:
                    path, commanded_us = route[slot // 10]
                    if commanded_us is not None:
                        to_receiver.send(commanded_us, now_us)
                    to_sender.send(path, now_us)
            else:
                while feed and feed[0].known_us <= now_us:
                    route.learn(feed.pop(0))
                to_sender.send(route.decide(slot), now_us)
            path = to_sender.at(now_us)
            receiver.lose_patience(slot, now_us)
            used[path] = slot
            delay = int(delays[path, slot])
            log["path"].append(path)
            log["arrived_us"].append(-1 if delay == LOST else now_us + delay)
            if delay != LOST:
                heapq.heappush(wire, (now_us + delay, sent, MEDIA, slot, path))
                sent += 1
            for idle in range(len(delays)) if probes else ():
                if slot % probes == idle * probes // len(delays) and slot - used.get(idle, -(1 << 40)) >= probes:
                    log["probes_sent"] += 1
                    delay = int(delays[idle, slot])
                    if delay != LOST:
                        heapq.heappush(wire, (now_us + delay, sent, PROBE, slot, idle))
                        sent += 1
        slot += 1
    left = receiver.left()
    log["flushed"] = [packet in left for packet in range(packets)]
    log["emitted_us"] = [receiver.emitted.get(p, last_media_us if p in left else -1) for p in range(packets)]
    log["plans_sent"] = len(to_sender.sent) - 1
    log["path_changes"] = sum(a != b for a, b in zip(log["path"], log["path"][1:], strict=False))
    paid = [at_us - packet * SLOT for packet, at_us in receiver.emitted.items()]
    log["return_event"] = -sum(paid) / 100_000.0 - LOSS_PRICE * (packets - len(paid) - len(left))
    return log | _heard(packets, arrivals)


def _heard(packets, arrivals):
    """What the ear hears, from the packets in order of arrival."""
    stream = []
    for packet in sorted(range(packets), key=lambda p: arrivals.get(p, (0, False, 0, packets + p))[3]):
        at_us, late, level_us, _ = arrivals.get(packet, (None, False, 0, 0))
        stream.append(PLAYER.Packet(packet * SLOT, SLOT, at_us, late, level_us))
    heard = PLAYER.Twin(stream, by_arrival=True, patience=SLOTS - 1).run()
    kinds = [kind for _, kind, _ in heard.ticks]
    sounding = [(kind, offset) for _, kind, offset in heard.ticks if kind != SILENT]
    runs = [len(run) for run in "".join("c" if kind == CONCEALED else " " for kind, _ in sounding).split()]
    impairment = sum(float(delay_impairment_reduced(offset / 1000.0)) for _, offset in sounding)
    windows = [
        [len(part), sum(kind == CONCEALED for kind, _ in part), sum(offset for _, offset in part)]
        for part in (sounding[first : first + 1000] for first in range(0, len(sounding), 1000))
    ]
    return {
        "played_us": [heard.played.get(packet * SLOT, -1) for packet in range(packets)],
        "ticks_played": kinds.count(PLAYED) + kinds.count(FAST), "ticks_stretched": kinds.count(STRETCHED),
        "ticks_concealed": kinds.count(CONCEALED), "ticks_silent": kinds.count(SILENT),
        "offset_us_sum": sum(offset for _, offset in sounding), "impairment_sum": impairment,
        "return_emodel": (R_DEFAULT * len(sounding) - impairment - CONCEALED_PRICE * kinds.count(CONCEALED)) / 100.0,
        "conceal_runs": len(runs), "conceal_longest_ticks": max(runs, default=0), "conceal_runs_long": sum(run > 6 for run in runs),
        "windows": windows,
    }  # fmt: skip


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
    """All delays (paths, slots) and the history of a drawn world, without playing."""
    world = recipe.world(1)
    history = world.start(0, draw)
    parts = [world.delay_us[0].copy()]
    while len(parts) * BLOCK_SLOTS < packets:
        world.fill(np.array([0]))
        parts.append(world.delay_us[0].copy())
    return np.concatenate(parts, axis=1), history


WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]
RULES = [
    (Direct(), FixedLag(60.0)),
    (Direct(), FixedLag(0.0)),
    (Direct(), CountTarget(60.0)),
    (RoundRobin(), PublishedBuffer()),
    (RoundRobin(), WMJitter()),
    (VCRoute(), WMJitter()),
]
SETTINGS = [("central", 1.0, 0.0), ("sender", 7.0, 0.3), ("receiver", 0.0, 0.0)]


@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
@pytest.mark.parametrize(("router", "receiver"), RULES, ids=lambda rule: type(rule).__name__)
def test_rules_inside(router, receiver, scenario, mode):
    packets = 560
    recipe = Scenario(scenario, mode, packets)
    for number, (place, probe_rate, feedback_loss) in enumerate(SETTINGS):
        draw = recipe.draw("train", 40 + number, stratum="user-node" if mode == "correlated" and number == 0 else None)
        batch = CallBatch(recipe, 1, router, receiver, place, feedback_loss, probe_rate, log=True)
        batch.start(0, draw)
        batch.play(np.array([0]))
        delays, history = world_of(recipe, draw, packets)
        levers = (Inside(router, history, batch.key(0, "router")), Inside(receiver, history, batch.key(0, "receiver")))
        probes = max(round(100 / probe_rate), recipe.paths) if probe_rate else 0
        expected = twin(delays, packets, history, draw.seed, probes, PLACES[place], feedback_loss, *levers)
        assert_equal(batch.played(), 0, expected)


@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
@pytest.mark.parametrize(("place", "probe_rate", "feedback_loss"), SETTINGS)
def test_commands_of_an_agent(scenario, mode, place, probe_rate, feedback_loss):
    """Both levers by commands that take their time: the joint environment under random actions."""
    packets = 400
    env = gymnasium.make_vec(
        "vcgym/Call-v0", num_envs=2, scenario=scenario, mode=mode, packets=packets, place=place, probe_rate=probe_rate,
        feedback_loss=feedback_loss, action="exact", log=True, autoreset_mode=AutoresetMode.DISABLED,
    ).unwrapped  # fmt: skip
    env.reset(seed=[50, 51])
    draws = np.random.default_rng(0)
    actions = np.stack([draws.integers(0, env.batch.scenario.paths, (40, 2)), draws.choice([0, 15_000, 60_000, 400_000], (40, 2))], axis=2)
    for action in actions:
        env.step(action)
    for row in range(2):
        draw = env.batch.draws[row]
        delays, history = world_of(env.batch.scenario, draw, packets)
        probes = max(round(100 / probe_rate), len(delays)) if probe_rate else 0
        plan = [tuple(map(int, action[row])) for action in actions]
        assert_equal(env.played(), row, twin(delays, packets, history, draw.seed, probes, PLACES[place], feedback_loss, plan, None))


class Given(World):
    """A world of delays written down, one session."""

    def __init__(self, delays, history):
        super().__init__(1, len(delays))
        self.history[0] = history
        self._slots = np.full((len(delays), -(-delays.shape[1] // BLOCK_SLOTS) * BLOCK_SLOTS), LOST, np.int32)
        self._slots[:, : delays.shape[1]] = delays

    def start(self, row, draw):
        self._begin(row, draw)
        self.fill(np.array([row]))
        return self.history[0]

    def _begin(self, row, draw):
        self._next = 0

    def fill(self, which):
        self.delay_us[0] = self._slots[:, self._next : self._next + BLOCK_SLOTS]
        self._next += BLOCK_SLOTS


HISTORY = np.array([[1024.0, 60.0, 20.0], [1024.0, 70.0, 20.0], [0.0, 0.0, 0.0], [1.0, 90.0, 0.0], [1024.0, 61.0, 0.0]])
ODD_DELAYS = [LOST, 1, 9_999, 10_000, 10_001, 50_000, 50_000, 60_000, 123_456, 300_000, 1_500_000]
SMALL = Scenario("table1", "paper", 1)  # five paths


def play_given(delays, router, receiver, place="central", feedback_loss=0.0):
    packets = delays.shape[1]
    draw = WorldDraw("given", "given", 77, {})
    recipe = Scenario("table1", "paper", packets)
    batch = CallBatch(recipe, 1, router, receiver, place, feedback_loss, 3.0, log=True, world=Given(delays, HISTORY))
    batch.start(0, draw)
    batch.play(np.array([0]))
    levers = (Inside(router, HISTORY, batch.key(0, "router")), Inside(receiver, HISTORY, batch.key(0, "receiver")))
    expected = twin(delays, packets, HISTORY, draw.seed, max(round(100 / 3.0), SMALL.paths), PLACES[place], feedback_loss, *levers)
    assert_equal(batch.played(), 0, expected)


@st.composite
def hostile_delays(draw):
    """Runs of one delay, of alternating ones, of losses, and of packets held and released together; many ties, deep reordering."""
    rows = []
    for _ in range(SMALL.paths):
        row = []
        for _ in range(draw(st.integers(1, 6))):
            length = draw(st.integers(1, 60))
            kind = draw(st.sampled_from(["same", "mixed", "held", "lost"]))
            if kind == "mixed":
                values = draw(st.lists(st.sampled_from(ODD_DELAYS), min_size=1, max_size=7))
                row += [values[i % len(values)] for i in range(length)]
            elif kind == "held":
                row += [(length - i) * SLOT + 30_000 for i in range(length)]
            else:
                row += [LOST if kind == "lost" else draw(st.sampled_from(ODD_DELAYS))] * length
        rows.append(row)
    slots = max(map(len, rows))
    return np.array([np.resize(row, slots) for row in rows], np.int64)


@settings(max_examples=60)
@given(hostile_delays(), st.sampled_from(RULES), st.sampled_from(["central", "sender", "receiver"]), st.sampled_from([0.0, 0.3]))
def test_hostile_worlds(delays, rules, place, feedback_loss):
    play_given(delays, *rules, place, feedback_loss)


@pytest.mark.parametrize(("router", "receiver"), RULES, ids=lambda rule: type(rule).__name__)
def test_nothing_ever_arrives(router, receiver):
    play_given(np.full((SMALL.paths, 700), LOST, np.int64), router, receiver)


SILENCES = [
    (0, SLOTS + 300, FixedLag(60.0)),
    (100, SLOTS + 1, CountTarget(60.0)),
    (100, SLOTS - WINDOW_SLOTS, PublishedBuffer()),
    (300, SLOTS + 40, WMJitter()),
]


@pytest.mark.parametrize(("before", "silent", "receiver"), SILENCES, ids=["nothing ever", "count", "published", "watermark"])
def test_a_silence_longer_than_the_rings(before, silent, receiver):
    """As behind a relay that is dead for more than 41 s: what was held is let go, what never came is given up, and the call goes on."""
    delays = np.full((SMALL.paths, before + silent + 300), LOST, np.int64)
    delays[:, :before] = delays[:, before + silent :] = 50_000
    delays[:, before + silent :: 7] = 90_000
    play_given(delays, Direct(), receiver)


def test_rings_are_run_through_more_than_once():
    delays = np.random.default_rng(9).choice([LOST, 40_000, 41_000, 55_000, 90_000, 90_000, 2_400_000], (SMALL.paths, 9_000))
    play_given(delays.astype(np.int64), RoundRobin(), WMJitter())
