"""A learned allocator: its cut and steps against plain twins and Celerity, and its training."""

import numpy as np
import pytest

from lab.learners.allocator_search import AllocatorConfig, best_rating, train_allocator
from vcgym.baselines.systems import learned_system
from vcgym.baselines.zoo import LEARNED
from vcgym.conference.env.listening import CALL_SLOTS
from vcgym.conference.network.topology import random_topology
from vcgym.conference.network.world import ConferenceWorld
from vcgym.conference.rules.celerity import Celerity
from vcgym.conference.rules.learned_allocator import LearnedAllocator
from vcgym.conference.rules.link_rates import Update, change_kbps, weigh_cut
from vcgym.conference.rules.play import play
from vcgym.network.kernels.slots import LOST
from vcgym.network.playout.quality import rating

COMMON = {name: value for name, value in Celerity()._asdict().items() if name in LearnedAllocator._fields}
PLAIN = LearnedAllocator(damp=0.0, first_climb=0.0, other_climb=0.0, receivers_power=0.0, **COMMON)
BOUND_MS = 200.0


def drawn(seed):
    random = np.random.default_rng(seed)
    parties = 3 + seed % 5
    rates, delay_ms = random.uniform(1.0, 200.0, (2, parties, parties))
    receives = random.random(parties) < 0.9
    receives[seed % parties] = True
    return seed % parties, receives, rates, delay_ms


def cut_of(params, source, receives, rates, delay_ms):
    cut = np.full(rates.shape, 9.0)
    return weigh_cut(params, source, receives, rates, delay_ms, cut), cut


def twin(params, source, receives, rates, delay_ms):
    """The smooth cut by its definition: shares of receivers times shares of the sides of each path."""
    others = [j for j in np.flatnonzero(receives) if j != source]
    paths = {j: [i for i in others if i != j and delay_ms[source, i] + delay_ms[i, j] <= BOUND_MS] for j in others}
    direct = {j: delay_ms[source, j] <= BOUND_MS for j in others}
    cuts = {j: rates[source, j] * direct[j] + sum(min(rates[source, i], rates[i, j]) for i in paths[j]) for j in others}
    found = np.zeros(rates.shape)
    if not others:
        return 0.0, found
    width = params.softness * (min(cuts.values()) + params.delta_kbps)
    shares = np.exp((min(cuts.values()) - np.array([cuts[j] for j in others])) / width)
    for j, share in zip(others, shares / shares.sum(), strict=True):
        found[source, j] += share * direct[j]
        for i in paths[j]:
            first = 1.0 / (1.0 + np.exp(np.clip(4.0 * (rates[source, i] - rates[i, j]) / width, -30.0, 30.0)))
            found[source, i] += share * first
            found[i, j] += share * (1.0 - first)
    return min(cuts.values()), found


@pytest.mark.parametrize("seed", range(12))
def test_the_smooth_cut_equals_its_definition(seed):
    one = drawn(seed)
    for softness in (0.02, 0.5):
        rate, cut = cut_of(PLAIN._replace(softness=softness), *one)
        expected_rate, expected = twin(PLAIN._replace(softness=softness), *one)
        assert rate == pytest.approx(expected_rate)
        np.testing.assert_allclose(cut, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_sharp_cut_is_the_critical_one(seed):
    one = drawn(seed)
    sharp, published = cut_of(PLAIN._replace(softness=1e-6), *one), cut_of(Celerity(), *one)
    assert sharp[0] == published[0]
    np.testing.assert_allclose(sharp[1], published[1], atol=1e-6)


def updates():
    random = np.random.default_rng(0)
    for _ in range(50):
        marginal, queueing, risen = random.uniform(0.0, 0.1, 3)
        worth = float(random.choice([0.0, marginal]))
        loss = float(random.choice([0.0, 0.02]))
        quick, first = (bool(drawn < 0.4) for drawn in random.random(2))
        yield Update(worth, marginal, loss, queueing, risen - 0.05, 240.0, 100.0, quick, first, 12)


def test_without_its_own_terms_a_step_is_celeritys():
    for update in updates():
        assert change_kbps(PLAIN, update) == pytest.approx(change_kbps(Celerity(), update))


def test_each_term_moves_a_rate_where_it_should():
    update = Update(0.05, 0.05, 0.0, 0.02, 0.01, 240.0, 100.0, False, True, 12)
    plain = change_kbps(PLAIN, update)
    assert change_kbps(PLAIN._replace(damp=3.0), update) == pytest.approx(plain + 100.0 * (np.exp(-0.03) - 1.0))
    assert change_kbps(PLAIN._replace(first_climb=0.1), update) == pytest.approx(plain + 0.1 * 100.0 * 0.6)
    assert change_kbps(PLAIN._replace(other_climb=0.1), update) == pytest.approx(plain)
    assert change_kbps(PLAIN._replace(other_climb=0.1), update._replace(first=False)) == pytest.approx(plain + 0.1 * 240.0 * 0.6)
    assert change_kbps(PLAIN._replace(first_climb=0.1), update._replace(queueing_s=0.06)) < 0.0
    assert change_kbps(PLAIN._replace(receivers_power=1.0), update) == pytest.approx(plain * 3.0 / 11.0)
    falling = update._replace(queueing_s=0.08, loss=0.01)
    assert change_kbps(PLAIN._replace(fall=2.0), falling) == pytest.approx(2.0 * change_kbps(PLAIN, falling))
    assert change_kbps(PLAIN._replace(loss_price=3.0), falling) < change_kbps(PLAIN, falling) < 0.0


def test_a_streams_rating_is_that_of_the_best_constant_lag():
    delays = np.full(2 * CALL_SLOTS, 100_000)
    delays[CALL_SLOTS::60] = LOST
    assert best_rating(delays) == pytest.approx(rating(100.0, 0.02))
    assert best_rating(np.full(2 * CALL_SLOTS, 150_000)) == pytest.approx(rating(150.0, 0.01))


@pytest.mark.long  # compiles the loop of a conference with rules that no other quick test needs
def test_it_trains_resumes_and_plays_with_any_number_of_parties(tmp_path):
    config = AllocatorConfig(
        kinds=["four-sites"], worlds=1, validation_worlds=1, chunks=1, trials=8, population=4, search_step=0.2, folder=tmp_path
    )  # fmt: skip
    notes = []
    found = train_allocator(config, lambda done, note: notes.append(done))
    assert notes == [4, 8] and 0.0 < found["learned R"] < 93.2 and found["CELERITY utility"] > 3.0
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    train_allocator(config, lambda done, note: None)
    assert files == {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    allocator = learned_system(tmp_path, LEARNED).trees
    assert allocator != LearnedAllocator()
    for parties in (3, 12):
        played = play(ConferenceWorld("random", 1, random_topology(1, parties), seconds=20), allocator)
        assert (played.session_kbps(10, 20) > 20.0).all()


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"LearnedAllocator\.softness is 0\.0; allowed range"):
        play(ConferenceWorld("random", 1, random_topology(1, 3), seconds=1), PLAIN._replace(softness=0.0))


def test_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"kind"):
        AllocatorConfig(kinds=["core-5"], folder=tmp_path)
