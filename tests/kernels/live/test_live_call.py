"""A live call in virtual time: the same nodes, an event queue in place of sockets and clock, and the simulator as the reference."""

from collections import deque

import numpy as np
import pytest
from untrained import publish_random_agent
from virtual_call import CONTROLLER, RECEIVER, RELAYS, START_US, network_of

from vcgym.agents.config.training import TrainConfig
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.records import Record
from vcgym.baselines.systems import load_system
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.envs.call.paths.feed import RECORDS
from vcgym.live.call.audio import RATE_HZ, rendered
from vcgym.live.call.controller import Deciding
from vcgym.live.call.parties import finished
from vcgym.live.call.policies import live_policy, of_system
from vcgym.live.call.receiver import Receiver
from vcgym.live.protocol.nodes import NEVER_US
from vcgym.live.protocol.session import address_of, hop_of
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario


def call(system, packets=1000, seed=1, location="central"):
    """Return the virtual network of a call, its parties and its simulation, with the rules inside the loop."""
    scenario = Scenario("wonderproxy", "correlated", packets)
    draw = scenario.draw("validation", seed)
    network, parties = network_of(of_system(system), scenario, draw, location)
    batch = CallBatch(scenario, 1, system.path, system.playout, location=location, log=True)
    batch.start(0, draw)
    batch.play(np.arange(1))
    return network, parties, batch


def agent_in(folder, env, key=3):
    """Return the policy of a published agent with random weights."""
    config = TrainConfig(env=env)
    publish_random_agent(folder / "seed-0" / "agent", config.env.id, 16, "relu", 2.0, key, **config.env.options)
    (folder / "config.json").write_text(config.model_dump_json())
    return live_policy(str(folder / "seed-0"))


def commands_in(ring):
    """Return time and value of each command of a simulated call, as decided."""
    sent = [(int(ring["effective_us"][i]) - int(ring["delay_us"]) * (i > 0), int(ring["value"][i])) for i in range(ring["written"])]
    assert len(sent) < len(ring["value"])
    return sent


def simulated(policy, scenario, seed):
    """Return the batch of a simulated call of an agent, and the rows of all records that reached the router's location."""
    acting = policy.at_receiver or policy.at_path
    envs, rows = acting.environment(scenario), []
    envs.split = "validation"
    observation, _ = envs.reset(seed=seed)
    done = False
    while not done:
        actions, _ = acting.policy.predict(observation)
        observation, _, _, (done,), _ = envs.step(actions)
        feed = envs.batch.calls[0]["feed"]
        rows += feed["rows"][np.arange(len(rows), feed["written"]) % RECORDS].tolist()
    return envs.batch, rows


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("GRD-WM", "sender"),
        pytest.param("VCR-WM", "central", marks=pytest.mark.long),
        pytest.param("learned", "receiver", marks=pytest.mark.long),
    ],
)
def test_a_call_equals_its_simulation(name, location):
    network, parties, batch = call(load_system(name), location=location)
    network.run(NEVER_US)
    live, simulated = finished(parties), batch.played()
    assert ratings_of(live.played.totals) == pytest.approx(ratings_of(simulated.totals), abs=0.1)
    assert np.mean(live.played.path == simulated.path) > 0.99
    same = live.played.path == simulated.path
    assert np.array_equal((live.played.arrived_us != LOST)[same], (simulated.arrived_us != LOST)[same])
    assert np.abs(live.played.arrived_us - simulated.arrived_us)[same].max() <= 10
    assert live.played.totals.probes_sent == simulated.totals.probes_sent
    assert len(rendered(live.played.played_us[0], live.media)) / RATE_HZ == pytest.approx(10.0, abs=0.5)


AGENTS = [
    {"id": "vcgym/Call-v1", "options": {"action": "relative", "interval": 50}},
    {"id": "vcgym/Call-v1", "options": {"action": "discrete", "path": Greedy(), "interval": 20}},
    {"id": "vcgym/Relay-v1", "options": {"action": "discrete", "interval": 10}},
]


@pytest.mark.parametrize("env", AGENTS, ids=["both", "lag", "path"])
def test_an_agent_decides_as_in_the_simulator(tmp_path, env):
    policy, scenario, seed = agent_in(tmp_path, env), Scenario("wonderproxy", "correlated", 600), 2
    batch, rows = simulated(policy, scenario, seed)
    draw = scenario.draw("validation", seed)
    _, parties = network_of(policy, scenario, draw)
    deciding, found, records = Deciding(parties.session, policy.at_path), ([], []), deque(Record(*row) for row in rows)
    for slot in range(scenario.packets):
        while records and records[0].known_us <= slot * SLOT_US:
            deciding.learn(records.popleft())
        for value, sent in zip(deciding.decide(), found, strict=True):
            if value is not None and (not sent or sent[-1][1] != value):
                sent.append((slot * SLOT_US, value))
    call = batch.calls[0]
    assert found[0] == commands_in(call["to_sender"]) and len(found[0]) + len(found[1]) > 3
    assert found[1] == (commands_in(call["to_receiver"]) if env["id"] == "vcgym/Call-v1" else [])


@pytest.mark.parametrize(
    ("env", "key"),
    [(AGENTS[0], 3), ({"id": "vcgym/Playout-v1", "options": {"action": "discrete", "interval": 1}}, 6), ({"id": "vcgym/Playout-v1"}, 6)],
    ids=["at the router", "at the receiver", "at the receiver, held"],
)
def test_a_call_of_an_agent_is_as_its_simulation(tmp_path, env, key):
    policy, scenario, seed = agent_in(tmp_path, env, key), Scenario("wonderproxy", "correlated", 1000), 2
    batch, _ = simulated(policy, scenario, seed)
    network, parties = network_of(policy, scenario, scenario.draw("validation", seed))
    network.run(NEVER_US)
    live = finished(parties).played.totals
    # Feedback leaves once per slot, so a record may come a slot later, and a decision that hangs on it may differ.
    assert ratings_of(live) == pytest.approx(ratings_of(batch.totals()), abs=0.5)
    assert live.path_changes == pytest.approx(batch.totals().path_changes, abs=1)


@pytest.mark.long
def test_a_learned_router_leaves_a_relay_that_died():
    network, parties, _ = call(load_system("learned"), packets=1500, seed=0)
    network.run(START_US + 500 * SLOT_US)
    routes, path = parties.session.media, parties.sender.paths[-1]
    dead = routes[path][2]
    assert dead in map(hop_of, RELAYS[1:]), "the call crosses a relay that others can replace"
    network.nodes.pop(address_of(dead))
    network.run(NEVER_US)
    after = [slot for slot in range(500, 1500) if dead not in routes[parties.sender.paths[slot]]]
    assert after[0] < 500 + 150
    assert np.mean(finished(parties).played.played_us[0, after[0] + 20 :] >= 0) > 0.95


def test_a_restarted_receiver_goes_on_and_its_feedback_is_not_taken_for_a_replay():
    network, parties, _ = call(load_system("GRD-WM"), packets=1500)
    network.run(START_US + 500 * SLOT_US)
    again = Receiver(parties.session, live_policy("GRD-WM"))
    network.nodes[RECEIVER] = again
    network.run(NEVER_US)
    played = finished(parties._replace(receiver=again)).played
    assert again.is_done and np.mean(played.played_us[0, 520:] >= 0) > 0.95
    assert parties.controller.inbox.refused == 0 and parties.controller.learned > 1400


def test_without_an_answer_the_sender_gives_up():
    network, _, _ = call(load_system("GRD-WM"), packets=200)
    network.nodes.pop(CONTROLLER)
    with pytest.raises(TimeoutError, match="no command reached the sender"):
        network.run(NEVER_US)
