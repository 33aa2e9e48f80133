"""The learned send order against its plain twin, first in first out at weights of 0, and the search on a score with known best weights."""

import numpy as np
import pytest

from lab.learners import order_search
from lab.learners.order_search import PRICE, RULES, OrderConfig, OrderWorlds, earned_share, train_order
from vcgym.agents.controllers.learned_order import NUMBERS, LearnedOrder
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.order.scheduler import REJECT, choose, choose_victim, drop
from vcgym.baselines.systems import learned_system
from vcgym.baselines.zoo import LEARNED
from vcgym.envs.call.sender.batch import SendingTotals
from vcgym.leaderboard.tuning.tune_calls import SenderTask
from vcgym.network.bottleneck.send_queue import SendQueue, put
from vcgym.network.kernels.record import records

FIFO = LearnedOrder(np.zeros(NUMBERS))


def drawn(seed):
    """Packets (kind, expires_us), some of them equal, the time and the round trip."""
    random = np.random.default_rng(seed)
    packets = [(int(random.integers(2)), int(random.integers(-5, 20)) * 20_000) for _ in range(random.integers(1, 9))]
    return packets, int(random.integers(0, 200_000)), int(random.integers(0, 300_000))


def queue_of(packets):
    queue = records(SendQueue, 1)[0]
    queue.limit = 64
    for number, (kind, expires_us) in enumerate(packets):
        put(queue, expires_us - 200_000, expires_us, 100, kind, number)
    return queue


def ranked(weights, packets, now_us):
    """Numbers of the packets, best first."""
    left = [(expires_us - now_us) / 1e5 for _, expires_us in packets]
    rank = [float(np.dot(weights[:3], (kind, left[n], kind * left[n]))) for n, (kind, _) in enumerate(packets)]
    return sorted(range(len(packets)), key=lambda n: (-rank[n], n))


def twin(weights, packets, now_us, rtt_us):
    best = ranked(weights, packets, now_us)[0]
    audio, left = packets[best][0], (packets[best][1] - now_us) / 1e5
    features = (1, audio, left, audio * left, rtt_us / 1e5, len(packets) == 1)
    return best if np.dot(weights[3:], features) <= 0 else drop(best)


@pytest.mark.parametrize("seed", range(6))
def test_it_equals_its_twin(seed):
    weights, answers = np.random.default_rng(seed).normal(size=NUMBERS), set()
    for number in range(50):
        packets, now_us, rtt_us = drawn(50 * seed + number)
        answer = choose(LearnedOrder(weights), queue_of(packets), now_us, rtt_us)
        assert answer == twin(weights, packets, now_us, rtt_us)
        answers.add(answer)
    assert len(answers) > 3


@pytest.mark.parametrize("seed", range(6))
def test_the_lowest_rank_gives_way(seed):
    weights, victims = np.random.default_rng(seed).normal(size=NUMBERS), set()
    for number in range(50):
        packets, now_us, rtt_us = drawn(50 * seed + number)
        new = packets[-1]
        worst = ranked(weights, [*packets, new], now_us)[-1]
        victim = choose_victim(LearnedOrder(weights), queue_of(packets), *new, now_us, rtt_us)
        assert victim == (worst if worst < len(packets) else REJECT)
        victims.add(victim)
    assert len(victims) > 3


def test_weights_of_zero_are_first_in_first_out():
    for seed in range(50):
        packets, now_us, rtt_us = drawn(seed)
        queue = queue_of(packets)
        assert choose(FIFO, queue, now_us, rtt_us) == 0
        assert choose_victim(FIFO, queue, *packets[0], now_us, rtt_us) == REJECT


def totals(created, on_time):
    rest = np.zeros_like(created)
    return SendingTotals(created, rest, rest, rest, rest, on_time, rest, rest, rest)


def test_a_video_packet_earns_a_quarter_of_an_audio_packet():
    found = earned_share(totals(np.array([[40, 10], [40, 10]]), np.array([[40, 0], [0, 10]])))
    np.testing.assert_allclose(found, 0.5)


@pytest.mark.parametrize(("video_floor", "price"), [(0.8, PRICE * 0.3), (0.2, 0.0), (0.0, 0.0)])
def test_video_below_the_floor_costs(monkeypatch, video_floor, price):
    created, video_on_time = np.array([[40, 10]]), {LearnedOrder: 4, Sbpn: 20}
    monkeypatch.setattr(OrderWorlds, "play", lambda worlds, rule, chunk: totals(created, np.array([[video_on_time[type(rule)], 10]])))
    (found,) = OrderWorlds(OrderConfig(video_floor=video_floor), 0).scores([FIFO], 0)
    np.testing.assert_allclose(found, (10 + 0.25 * 4) / 20 - price)


class Calls:
    """Calls of which nothing is played: the worlds that were asked for, and a share on time that falls with a distance of weights."""

    best, links = np.linspace(-1.0, 1.0, NUMBERS), []

    def __init__(self, system, links):
        weights = system.order.weights if system.is_learned else self.best
        if system.is_learned:
            self.links.append([(link.name, link.seed) for link in links])
        distance = float(np.square(weights - self.best).sum())
        self.found = np.full((len(links), 2), round(1e9 / (1.0 + distance)))

    def play(self, rows):
        pass

    def totals(self):
        return totals(np.full_like(self.found, 10**9), self.found)


def test_generations_have_fresh_worlds_of_every_kind(monkeypatch):
    monkeypatch.setattr(order_search, "started_batch", Calls)
    monkeypatch.setattr(Calls, "links", [])
    config = OrderConfig(trials=12, population=4)
    for seed in (0, 1):
        worlds = OrderWorlds(config, seed)
        for chunk in range(len(worlds)):
            assert worlds.scores([FIFO], chunk)[0].shape == (12,)
    every = [link for links in Calls.links for link in links]
    assert len(set(every)) == len(every) == 2 * 3 * 12


def test_it_learns_saves_and_resumes(monkeypatch, tmp_path):
    monkeypatch.setattr(order_search, "started_batch", Calls)
    monkeypatch.setattr(SenderTask, "scores", lambda task, system, split: np.array([0.5, 0.7]) + 0.2 * system.is_learned)
    config, notes = OrderConfig(trials=600, worlds=1, folder=tmp_path), []
    found = train_order(config, 3, lambda trials, gain: notes.append(trials))
    assert found.keys() == set(RULES) and found["SBPN2"]["difference"] == 0.2 and notes[-1] == 600
    learned = learned_system(tmp_path / "seed-3", LEARNED)
    np.testing.assert_allclose(learned.order.weights, Calls.best, atol=0.3)
    assert learned.trained_packets == 600 * 12 * 2 * 10**9
    files = {file.name: file.read_bytes() for file in (tmp_path / "seed-3").iterdir()}
    train_order(config, 3, lambda trials, gain: None)
    assert files == {file.name: file.read_bytes() for file in (tmp_path / "seed-3").iterdir()}
