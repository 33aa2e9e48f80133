"""A whole call equals a slow twin: a heap of arrivals, lists for queue and feed, and the slow twin of the player.

Rules are called from Python one packet at a time; other tests compare them with their papers.
"""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

import vcgym.envs  # noqa: F401  (registers the ids)
from twins.session import Inside, assert_equal, twin, world_of
from vcgym.baselines.controls.control import Control
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.linucb import LinUCB
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.path.vcroute.online import VCRouteOnline
from vcgym.baselines.path.vcroute.vcroute import RewardSource, VCRoute
from vcgym.baselines.playout.bf_published import PublishedBuffer
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.neteq.neteq import NetEQ
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rule import for_packets
from vcgym.envs.call.batch import FRAMES_MS, LOCATIONS, CallBatch
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.playout.slot_window import WINDOW_SLOTS
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import World, WorldDraw

SLOT = 10_000


WORLDS = [("wonderproxy", "correlated"), ("wonderproxy", "paper"), ("table1", "correlated"), ("table1", "paper")]
RULES = [
    (Direct(), FixedLag(60.0)),
    (Direct(), FixedLag(0.0)),
    (Direct(), CountTarget(60.0)),
    (RoundRobin(), WMJitter()),
]
BY_LONG = [(RoundRobin(), PublishedBuffer()), (VCRoute(), WMJitter())]  # loops that no other quick test needs
EVERY = [*RULES, *(pytest.param(*rules, marks=pytest.mark.long) for rules in BY_LONG)]
SETTINGS = [("central", 1.0, 0.0), ("sender", 7.0, 0.3), ("receiver", 0.0, 0.0)]


def play(recipe, draw, router, receiver, at, frame_ms=10, world=None):
    """Play a call by loop and by twin, with a world or one whose delays and history are given; both are equal."""
    packets, location, probe_rate, feedback_loss = recipe.packets, *at
    given = {} if world is None else {"world": Given(*world)}
    at = {"location": location, "probe_rate": probe_rate, "feedback_loss": feedback_loss}
    batch = CallBatch(recipe, 1, router, receiver, **at, **given, log=True, frame_ms=frame_ms)
    batch.start(0, draw)
    batch.play(np.array([0]))
    delays, history = world_of(recipe, draw, packets) if world is None else world
    rules = [for_packets(rule, float(frame_ms)) for rule in (router, receiver)]
    levers = [Inside(rule, history, batch.key(0, control)) for rule, control in zip(rules, (Control.PATH, Control.PLAYOUT), strict=True)]
    probes = max(round(100 / probe_rate), recipe.paths) if probe_rate else 0
    expected = twin(delays, packets, history, draw.seed, probes, LOCATIONS[location], feedback_loss, *levers, units=frame_ms // 10)
    played = batch.played()
    assert played.packet_us == 1000 * frame_ms and played.path.shape == (1, 10 * packets // frame_ms)
    assert_equal(played, 0, expected)


@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
@pytest.mark.parametrize(("router", "receiver"), EVERY, ids=lambda rule: type(rule).__name__)
def test_rules_inside(router, receiver, scenario, mode):
    recipe = Scenario(scenario, mode, 560)
    for number, at in enumerate(SETTINGS):
        stratum = "user-node" if mode == "correlated" and number == 0 else None
        play(recipe, recipe.draw("train", 40 + number, stratum=stratum), router, receiver, at)


BY_PACKET = [VCRoute(reward=RewardSource.DELAYED_ACTUAL, loss_reward_ms=500.0), VCRouteOnline(), LinUCB()]  # rules that number packets
OF_FRAMES = [
    *RULES,
    *(pytest.param(router, WMJitter(), marks=pytest.mark.long) for router in BY_PACKET),
    *(pytest.param(RoundRobin(), receiver, marks=pytest.mark.long) for receiver in (PublishedBuffer(), NetEQ())),
]


@pytest.mark.parametrize(("scenario", "mode"), [("wonderproxy", "correlated"), ("table1", "paper")])
@pytest.mark.parametrize("frame_ms", FRAMES_MS[1:])
@pytest.mark.parametrize(("router", "receiver"), OF_FRAMES, ids=lambda rule: type(rule).__name__)
def test_longer_frames(router, receiver, frame_ms, scenario, mode):
    """A packet carries the audio of several slots, leaves with the last, and takes the delay of that slot."""
    recipe = Scenario(scenario, mode, 560)
    play(recipe, recipe.draw("train", 43), router, receiver, ("central", 7.0, 0.1), frame_ms)


@pytest.mark.parametrize(("scenario", "mode"), WORLDS)
@pytest.mark.parametrize(("location", "probe_rate", "feedback_loss"), SETTINGS)
@pytest.mark.parametrize("frame_ms", [10, pytest.param(20, marks=pytest.mark.long)])
def test_commands_of_an_agent(scenario, mode, location, probe_rate, feedback_loss, frame_ms):
    """Both controls by delayed commands: the joint environment under random actions."""
    packets = 400
    env = gymnasium.make_vec(
        "vcgym/Call-v1", num_envs=2, scenario=scenario, mode=mode, packets=packets, location=location, probe_rate=probe_rate,
        feedback_loss=feedback_loss, frame_ms=frame_ms, action="exact", interval=10, log=True, autoreset_mode=AutoresetMode.DISABLED,
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
        of_call = history, draw.seed, probes, LOCATIONS[location], feedback_loss, plan, None
        assert_equal(env.played(), row, twin(delays, packets, *of_call, units=frame_ms // 10))


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


def play_given(delays, router, receiver, location="central", feedback_loss=0.0):
    recipe = Scenario("table1", "paper", delays.shape[1])
    play(recipe, WorldDraw("given", "given", 77, {}), router, receiver, (location, 3.0, feedback_loss), world=(delays, HISTORY))


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


@pytest.mark.parametrize("among", [RULES, pytest.param(BY_LONG, marks=pytest.mark.long)], ids=["quick", "long"])
@settings(max_examples=40)
@given(hostile_delays(), st.data(), st.sampled_from(["central", "sender", "receiver"]), st.sampled_from([0.0, 0.3]))
def test_hostile_worlds(among, delays, data, location, feedback_loss):
    play_given(delays, *data.draw(st.sampled_from(among)), location, feedback_loss)


@pytest.mark.parametrize(("router", "receiver"), EVERY, ids=lambda rule: type(rule).__name__)
def test_nothing_ever_arrives(router, receiver):
    play_given(np.full((SMALL.paths, 700), LOST, np.int64), router, receiver)


SILENCES = [
    (0, SLOTS + 300, FixedLag(60.0)),
    (100, SLOTS + 1, CountTarget(60.0)),
    (100, SLOTS - WINDOW_SLOTS, PublishedBuffer()),
    (300, SLOTS + 40, WMJitter()),
]


@pytest.mark.long
@pytest.mark.parametrize(("before", "silent", "receiver"), SILENCES, ids=["nothing ever", "count", "published", "watermark"])
def test_a_silence_longer_than_the_rings(before, silent, receiver):
    """As behind a relay that is dead for more than 41 s: what was held is let go, what never came is given up, and the call goes on."""
    delays = np.full((SMALL.paths, before + silent + 300), LOST, np.int64)
    delays[:, :before] = delays[:, before + silent :] = 50_000
    delays[:, before + silent :: 7] = 90_000
    play_given(delays, Direct(), receiver)


@pytest.mark.long
def test_rings_are_run_through_more_than_once():
    delays = np.random.default_rng(9).choice([LOST, 40_000, 41_000, 55_000, 90_000, 90_000, 2_400_000], (SMALL.paths, 9_000))
    play_given(delays.astype(np.int64), RoundRobin(), WMJitter())
