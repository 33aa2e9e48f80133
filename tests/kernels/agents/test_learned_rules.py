"""Learned rules: they equal plain twins, reject invalid weights, and do not depend on the order of paths."""

import numpy as np
import pytest
import torch

from lab.learners.lag_learner import LagNet
from lab.learners.pair import hedged
from twins.learned import PlainGatedRouter, PlainHedge, PlainLag, PlainRouter
from vcgym.agents.controllers.gated_router import GatedRouter
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_order import LearnedOrder
from vcgym.agents.controllers.learned_rate import LearnedRate
from vcgym.agents.controllers.learned_router import NUMBERS, SCALE, START, LearnedRouter
from vcgym.baselines.records import MEDIA, PROBE, Record
from vcgym.baselines.rule import allocate, decide, start, update
from vcgym.network.kernels.slots import BLOCK_SLOTS
from vcgym.network.worlds.world import HISTORY_BLOCKS

PATHS = 3


def example_lag(hidden=8, seed=0):
    torch.manual_seed(seed)
    return LagNet(hidden).rule()


def example_hedge(seed=0, temperature=0.01):
    """Three networks of unequal widths; with this temperature the weights move within a few seconds."""
    return hedged([example_lag(8, seed), example_lag(4, seed + 1), example_lag(6, seed + 2)])._replace(temperature=temperature)


def example_history(seed=0):
    draws = np.random.default_rng(seed)
    history = np.stack([draws.integers(2, 1024, PATHS), draws.uniform(80.0, 160.0, PATHS), draws.uniform(1.0, 20.0, PATHS)], axis=1)
    history[PATHS - 1] = 0.0  # nothing is known of this one
    return history


def started(params, history, paths=PATHS):
    state = allocate(params, 1, paths)
    start(params, state, np.ones(1, np.bool_), history[None], np.zeros(1, np.uint64))
    return state


def media(path, sent_us, arrived_us):
    """A media packet that is known of when it arrives."""
    return Record(MEDIA, int(sent_us) // 10_000, int(path), int(sent_us), int(arrived_us), int(arrived_us), 0, 0)


def arrivals(packets=600, seed=0, wave_us=0):
    """Media in order of arrival, over changing paths, with losses, bursts and packets that are overtaken: path, sent_us, arrived_us.

    In the second half the delay has a slow wave, if `wave_us` is above 0.
    """
    draws = np.random.default_rng(seed)
    path = np.repeat(draws.integers(0, PATHS, packets // 60), 60)
    delay_us = np.array([150_000, 100_000, 220_000])[path] + draws.gamma(1.0, 5000.0, packets).astype(np.int64)
    delay_us[draws.random(packets) < 0.02] += 80_000
    delay_us[packets // 2 :] += (wave_us * (1.0 + np.sin(np.arange(packets - packets // 2) / 15.0))).astype(np.int64)
    sent_us = 10_000 * np.arange(packets)
    order = np.argsort(sent_us + delay_us, kind="stable")
    kept = order[draws.random(packets) > 0.03]
    return path[kept], sent_us[kept], (sent_us + delay_us)[kept]


@pytest.mark.parametrize(("example", "twin_of"), [(example_lag, PlainLag), (example_hedge, PlainHedge)])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_lag_equals_its_plain_twin(example, twin_of, seed):
    params, history = example(seed=seed), example_history(seed)
    state, twin = started(params, history), twin_of(params, history[:, 1:])
    for packet, (path, sent_us, arrived_us) in enumerate(zip(*arrivals(seed=seed), strict=True)):
        update(params, state, 0, media(path, sent_us, arrived_us))
        lag_ms = twin.arrive(int(path), sent_us / 1000.0, arrived_us / 1000.0)
        assert decide(params, state, 0, int(arrived_us)) / 1000.0 == pytest.approx(lag_ms, abs=0.01), packet
    if twin_of is PlainHedge:
        assert not np.allclose(state.expert["weight"][0], params.prior, atol=0.1)


def test_widened_networks_keep_their_outputs():
    """The experts aim as the lags of which they were made, to the order of float32 sums."""
    lags, history = [example_lag(8), example_lag(4, 1)], example_history()
    alone, together = [started(lag, history) for lag in lags], hedged(lags)
    state = started(together, history)
    for path, sent_us, arrived_us in zip(*arrivals(), strict=True):
        record = media(path, sent_us, arrived_us)
        for params, own in ((together, state), *zip(lags, alone, strict=True)):
            update(params, own, 0, record)
        assert [own.call.target_ms[0] for own in alone] == pytest.approx(state.expert["target_ms"][0, :2].tolist(), abs=1e-4)


def test_hedged_lag_ends_at_the_expert_that_plays_best():
    """On a path without jitter the networks wait 20 ms too long and the quantiles 7, all with the same prior."""
    params, history = hedged([example_lag(8), example_lag(8, 1)]), example_history()
    params = params._replace(prior=np.full(5, 0.2), temperature=0.01)
    state = started(params, history)
    for packet in range(3000):
        at_us = 10_000 * packet + 100_000
        update(params, state, 0, media(0, 10_000 * packet, at_us))
    assert state.expert["weight"][0, 2:].sum() > 0.99
    assert decide(params, state, 0, 0) == pytest.approx(7000, abs=400)


def test_lag_does_not_hear_probes():
    params, history = example_lag(), example_history()
    state = started(params, history)
    before = decide(params, state, 0, 0)
    update(params, state, 0, Record(PROBE, 0, 1, 0, 500_000, 500_000, 0, 0))
    assert decide(params, state, 0, 500_000) == before


def test_lag_awaits_what_a_faster_path_overtakes():
    """After a change to a path that is 100 ms faster the watermark stays behind packets that the player can still play."""
    params, history = example_lag(), example_history()
    state = started(params, history)
    for packet in range(200):
        update(params, state, 0, Record(MEDIA, packet, 0, 10_000 * packet, 10_000 * packet + 200_000, 0, 0, 0))
    lag_before_us = decide(params, state, 0, 0)
    at_us = 10_000 * 200 + 100_000
    update(params, state, 0, media(1, 10_000 * 200, at_us))
    assert decide(params, state, 0, at_us) >= lag_before_us + 90_000


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_router_equals_its_plain_twin(seed):
    draws, history = np.random.default_rng(seed), example_history(seed)
    params = LearnedRouter(START + 0.3 * SCALE * draws.standard_normal(NUMBERS))
    decide_alike(params, PlainRouter, history, arrivals(seed=seed), draws)


@pytest.mark.parametrize("seed", [0, 1])
def test_gated_router_equals_its_plain_twin(seed):
    draws, history = np.random.default_rng(seed), example_history(seed)
    params = GatedRouter(START + 0.3 * SCALE * draws.standard_normal((2, NUMBERS)))
    gates = decide_alike(params, PlainGatedRouter, history, arrivals(seed=seed, wave_us=60_000), draws).gates
    assert gates[0] == 1.0 and 0.0 in gates and any(0.0 < gate < 1.0 for gate in gates)


def decide_alike(params, twin_of, history, packets, draws):
    """Return the twin, after it has decided as the rule at each record."""
    state = started(params, history)
    mean_ms = history[:, 1].tolist()
    mean_ms[-1] = float(np.median(mean_ms[:-1]))
    twin = twin_of(params.prices, history[:, 0], mean_ms, history[:, 2].tolist(), HISTORY_BLOCKS * BLOCK_SLOTS)
    path, sent_us, arrived_us = packets
    for n in range(path.size):
        known_us = int(arrived_us[n]) + 50_000
        kind = PROBE if draws.random() < 0.1 else MEDIA
        record = Record(kind, int(sent_us[n]) // 10_000, int(path[n]), int(sent_us[n]), int(arrived_us[n]), known_us, 40_000, 0)
        update(params, state, 0, record)
        twin.hear(record)
        assert decide(params, state, 0, known_us) == twin.choose(known_us / 1000.0), n
    return twin


def test_router_leaves_a_path_that_falls_silent():
    history = np.array([[1024.0, 100.0, 2.0], [1024.0, 110.0, 2.0]])
    params = LearnedRouter(START)
    state = started(params, history, paths=2)
    for packet in range(100):
        at_us = 10_000 * packet + 100_000
        update(params, state, 0, media(0, 10_000 * packet, at_us))
        assert decide(params, state, 0, at_us) == 0
    chosen = [decide(params, state, 0, 1_100_000 + 10_000 * slot) for slot in range(400)]
    assert chosen[30] == 0 and chosen[-1] == 1


def test_router_serves_paths_in_any_order():
    history, order = example_history(), np.array([2, 0, 1])
    params = LearnedRouter(START)
    straight, turned = started(params, history), started(params, history[order])
    place = np.argsort(order)
    for path, sent_us, arrived_us in zip(*arrivals(), strict=True):
        for state, name in ((straight, int(path)), (turned, int(place[path]))):
            update(params, state, 0, media(name, sent_us, arrived_us))
        assert place[decide(params, straight, 0, int(arrived_us))] == decide(params, turned, 0, int(arrived_us))


def test_wrong_experts_are_refused():
    hedge = example_hedge()
    with pytest.raises(ValueError, match=r"lengths of first, second, last and prior are \(3, 3, 3, \(2,\)\)"):
        allocate(hedge._replace(prior=hedge.prior[:2]), 1, 2)
    with pytest.raises(ValueError, match=r"prior = .*allowed are numbers above 0"):
        allocate(hedge._replace(prior=-hedge.prior), 1, 2)
    with pytest.raises(ValueError, match="weights have shapes"):
        allocate(hedge._replace(second=hedge.first), 1, 2)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (LearnedRouter(np.zeros(3)), r"prices = .*allowed are 31 finite numbers"),
        (GatedRouter(START), r"prices have shape \(31,\): allowed is \(2, 31\)"),
        (LearnedOrder(np.zeros(8)), "weights = .*: allowed are 9 finite numbers"),
        (LearnedRate(np.full(16, np.nan)), "(?s)weights = .*: allowed are 16 finite numbers"),
    ],
)
def test_wrong_numbers_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        allocate(rule, 1, 2)


def test_wrong_networks_are_refused():
    lag = example_lag()
    with pytest.raises(ValueError, match="weights have shapes"):
        allocate(lag._replace(second=lag.first), 1, 2)
    with pytest.raises(ValueError, match="not finite"):
        allocate(LearnedLag(lag.first * np.float32("nan"), lag.second, lag.last), 1, 2)
