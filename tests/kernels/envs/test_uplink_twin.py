"""A call behind an uplink equals the slow twin, packet by packet."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from twins import session
from twins.uplink import OneWorld, twin
from vcgym.baselines.controls.control import PATHS, controls_of
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.envs.call.batch import LOCATIONS, CallBatch
from vcgym.envs.call.sender.uplink import UplinkBatch
from vcgym.network.bottleneck.capacity.capacity import constant, steps
from vcgym.network.bottleneck.flow import Udp
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Timeline
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

pytestmark = pytest.mark.long  # each pair of rules is another loop with an uplink to compile

TIGHT = SharedLink("tight", 5, constant(0.6e6), queue_packets=12, loss=0.02, send_queue=20, rates_kbps=(300.0, 60.0, 2000.0))
STEPS = SharedLink(
    "steps", 6, steps("s", [(0.0, 1.5), (1.3, 0.2), (2.9, 1.0)], 4.0), queue_bytes=20_000, send_queue=8, expiry_ms=120.0,
    video=Timeline(), flows=(Udp(0.3e6, 700, starts_s=0.5), Udp(0.2e6, 300)), rates_kbps=(500.0, 60.0, 2000.0),
)  # fmt: skip
AUDIO_ALONE = SharedLink("audio", 7, constant(0.3e6), video=None, flows=(Udp(0.25e6, 1200),))
LINKS = [TIGHT, STEPS, AUDIO_ALONE]
RULES = [
    (RoundRobin(), WMJitter(), GccWebrtc(), Sbpn()),
    (Greedy(), WMJitter(), Tfrc(), Sbpn(keep_last=False)),
]
SETTINGS = [("central", 1.0, 0.0), ("sender", 7.0, 0.3)]
WORLDS = [("wonderproxy", "correlated"), ("table1", "paper")]


def slots_drawn(recipe, draw, packets):
    """Return delays for longer than the call (for draining), and the history."""
    return session.world_of(recipe, draw, packets + 1024)


def assert_same_sender(totals, row, sender):
    of_kind = {kind: [packet for packet in sender.sent if packet["kind"] == kind] for kind in (VIDEO, AUDIO)}
    for kind, packets in of_kind.items():
        there = [packet for packet in packets if packet["arrived_us"] is not None]
        expected = {
            "created": sender.created[kind], "rejected": sender.rejected[kind], "discarded": sender.discarded[kind], "sent": len(packets),
            "delivered": len(there), "lost": len(packets) - len(there), "bytes_delivered": sum(packet["size"] for packet in there),
            "on_time": sum(packet["arrived_us"] <= packet["expires_us"] for packet in there),
            "delay_us": sum(packet["arrived_us"] - packet["created_us"] for packet in there),
        }  # fmt: skip
        assert {name: getattr(totals, name)[row, kind] for name in expected} == expected


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("rules", RULES, ids=lambda rules: type(rules[2]).__name__)
def test_rules_inside(rules, link):
    packets = 440
    for (scenario, mode), (location, probe_rate, feedback_loss) in zip(WORLDS, SETTINGS, strict=True):
        recipe = Scenario(scenario, mode, packets)
        draw = recipe.draw("train", 40)
        uplink = UplinkBatch(1, recipe.paths, OneWorld(link), *rules[2:], keeps_order=mode == "correlated")
        at = {"location": location, "feedback_loss": feedback_loss, "probe_rate": probe_rate}
        batch = CallBatch(recipe, 1, *rules[:2], **at, log=True, uplink=uplink)
        uplink.draw(0, "train", 0)
        batch.start(0, draw)
        batch.play(np.array([0]))
        delays, history = slots_drawn(recipe, draw, packets)
        levers = [session.Inside(rule, history, batch.key(0, lever)) for rule, lever in zip(rules, controls_of(PATHS), strict=False)]
        levers += [session.Inside(rules[2], uplink.sending.history[0], uplink.sending.key(0)), rules[3]]
        probes = max(round(100 / probe_rate), recipe.paths)
        arguments = (packets, history, draw.seed, probes, LOCATIONS[location], feedback_loss, link, 2.5, levers)
        expected, sender = twin(delays, mode == "correlated", *arguments)
        session.assert_equal(batch.played(), 0, expected)
        assert_same_sender(uplink.sending.totals(), 0, sender)
        assert float(uplink.sending.senders["target_bps"][0]) == sender.target


HELD = {
    "all four": {},
    "rate and order": {"path": Greedy(), "playout": WMJitter()},
    "order": {"path": Greedy(), "playout": WMJitter(), "rate": GccWebrtc()},
    "path": {"playout": WMJitter(), "rate": GccWebrtc(), "order": Sbpn()},
}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("link", [TIGHT, STEPS], ids=lambda link: link.name)
def test_commands_of_an_agent(link, held):
    """Any controls by delayed commands, the others by rules."""
    packets, rules = 300, HELD[held]
    env = gymnasium.make_vec(
        "vcgym/Call-v1", num_envs=1, scenario="table1", packets=packets, uplink=OneWorld(link), action="exact", log=True, feedback_loss=0.1,
        interval=10, autoreset_mode=AutoresetMode.DISABLED, **rules,
    ).unwrapped  # fmt: skip
    env.reset(seed=50)
    draws = np.random.default_rng(0)
    paths = env.batch.scenario.paths
    columns = draws.integers(0, paths, 30), draws.choice([0, 15_000, 60_000, 400_000], 30), draws.integers(50_000, 2_500_000, 30)
    plan = np.stack([*columns, draws.integers(0, 3, 30)], axis=1)
    held_levers = [i for i, lever in enumerate(("path", "playout", "rate", "order")) if lever not in rules]
    for decided in plan[:, held_levers]:
        env.step(decided[None] if env.single_action_space.shape else decided)
    draw = env.batch.draws[0]
    delays, history = slots_drawn(env.batch.scenario, draw, packets)
    levers = [session.Inside(rules[lever], history, env.batch.key(0, lever)) if lever in rules else None for lever in controls_of(PATHS)]
    levers.append(session.Inside(rules["rate"], env.uplink.sending.history[0], env.uplink.sending.key(0)) if "rate" in rules else None)
    levers.append(rules.get("order"))
    arguments = (packets, history, draw.seed, 100, 0.5, 0.1, link, 2.5, levers, [tuple(map(int, decided)) for decided in plan])
    expected, sender = twin(delays, True, *arguments)
    session.assert_equal(env.played(), 0, expected)
    assert_same_sender(env.uplink.sending.totals(), 0, sender)


def test_a_given_draw_is_a_world():
    """Assumption of the twin: a world's delays do not depend on how far it is played."""
    recipe = Scenario("table1", "paper", 40)
    draw = recipe.draw("train", 1)
    assert isinstance(draw, WorldDraw)
    np.testing.assert_array_equal(session.world_of(recipe, draw, 40)[0], slots_drawn(recipe, draw, 40)[0][:, :512])
