"""The corrected VCRoute: the sender computes the emissions of the receiver; corrections follow their formula."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from untrained import random_network

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute import emissions
from vcgym.baselines.path.vcroute.emissions import Emissions, add_arrival, expect_emission, next_emitted, settle_last
from vcgym.baselines.path.vcroute.online import VCRouteOnline, Weights, correct, correction
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, Record
from vcgym.baselines.rule import records
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

FIVE = VCRoute(topk=TopK(choice=Choice.BEST_FIVE), predictor=random_network(0))
PACKETS = 900


def relay(packets=PACKETS, **arguments):
    return gymnasium.make_vec(
        "vcgym/Relay-v1", num_envs=1, packets=packets, interval=1, observation="records", action="exact", log=True, location="sender",
        autoreset_mode=AutoresetMode.DISABLED, **arguments,
    ).unwrapped  # fmt: skip


def worked_out(env, paths, seed=3):
    """Emission of each packet as the sender works it out, while packets take `paths`."""
    mine, found = records(Emissions, 1)[0], {}
    mine.packet_us = 10_000
    observation, _ = env.reset(seed=seed)
    for slot, path in enumerate(paths):
        for row in observation["records"][0][: observation["count"][0]]:
            record = Record(*map(int, row))
            if record.kind != MEDIA:
                continue
            settle_last(mine, record.lag_us)
            while (place := next_emitted(mine)) >= 0:
                found[int(mine.expected[place].packet)] = int(mine.last_arrived_us)
            add_arrival(mine, record)
        expect_emission(mine, slot, path, 1.0, 1.0, 1.0)
        observation = env.step(np.array([path]))[0]
    return found


@pytest.mark.parametrize("mode", ["paper", "correlated"])
@pytest.mark.parametrize("lossy", [False, True])
def test_emissions_are_those_of_the_receiver(mode, lossy):
    """To the microsecond, under disorder and loss and changes of path; only the last ones, not fed back in time, are missing."""
    env = relay(scenario="table1" if lossy else "wonderproxy", mode=mode)
    paths = np.random.default_rng(0).integers(5, size=PACKETS // 20).repeat(20)
    found = worked_out(env, paths)
    played = env.played()
    true = {n: int(at_us) for n, at_us in enumerate(played.emitted_us[0]) if at_us >= 0 and not played.flushed[0, n]}
    assert found == {n: true[n] for n in found}
    missing = true.keys() - found.keys()
    assert len(found) > 0.6 * PACKETS and min(missing, default=PACKETS) > PACKETS - 200
    assert mode == "correlated" or len(true) < PACKETS - 20  # late ones were told apart


def test_a_lost_record_costs_its_packet_and_no_error_beyond_its_neighbours():
    env = relay(scenario="wonderproxy", mode="correlated", feedback_loss=0.1)
    found = worked_out(env, np.zeros(PACKETS, int))
    emitted_us = env.played().emitted_us[0]
    exact = sum(emitted_us[n] == at_us for n, at_us in found.items())
    assert 0.7 * PACKETS < len(found) < 0.95 * PACKETS
    assert exact > 0.6 * len(found)
    assert all(abs(emitted_us[n] - at_us) < 1_000_000 for n, at_us in found.items())


def test_what_nobody_expected_is_not_told_of():
    mine = records(Emissions, 1)[0]
    mine.packet_us = 10_000
    expect_emission(mine, 0, 2, 1.0, 1.0, 1.0)
    for packet, path in ((0, 3), (700, 2), (1400, 2)):  # another path; never expected; never expected
        settle_last(mine, 0)
        assert next_emitted(mine) == -1
        add_arrival(mine, Record(MEDIA, packet, path, packet * 10_000, packet * 10_000 + 5, 0, 0, 0))
    assert emissions.AWAITED & (emissions.AWAITED - 1) == 0


def test_a_correction_is_the_formula():
    w = records(Weights, 1)[0]
    row = records(emissions.Expected, 1)[0]
    row.transmit_ms, row.jitter_ms, row.forecast_ms = 150.0, 50.0, 210.0
    features, plain = np.array([1.0, 1.5, 0.5]), np.zeros(3)
    for e2e_ms in (250.0, 240.0, 260.0):
        plain += 0.1 * (e2e_ms - 210.0 - plain @ features) * features / (features @ features)
        correct(w, row, e2e_ms, 0.1)
        np.testing.assert_allclose([w.bias_ms, w.transmit_ms, w.jitter_ms], plain, rtol=1e-12)
    assert correction(w, 100.0, 200.0) == pytest.approx(plain @ [1.0, 1.0, 2.0])


def calls(router):
    recipe = Scenario("wonderproxy", "correlated", PACKETS)
    batch = CallBatch(recipe, 3, router, WMJitter(), log=True)
    for row in range(3):
        batch.start(row, recipe.draw("train", row))
    batch.play(np.arange(3))
    return batch


def test_without_a_step_it_is_vcroute_and_with_one_it_is_not():
    plain, corrected = calls(FIVE), calls(VCRouteOnline(0.05, FIVE))
    np.testing.assert_array_equal(calls(VCRouteOnline(0.0, FIVE)).played().path, plain.played().path)
    assert not np.array_equal(corrected.played().path, plain.played().path)
    assert (corrected.path_state.weights["bias_ms"] != 0.0).any()
