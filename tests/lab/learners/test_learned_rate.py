"""The learned rate against its plain twin, its bounds, and the search for its weights on a score with known best weights."""

import numpy as np
import pytest

from lab.learners import rate_search
from lab.learners.rate_search import SCALE, START, RateConfig, RateWorlds, Scores, score, search_weights
from twins.learned_rate import PlainLearnedRate
from twins.reports import drawn_reports
from vcgym.agents.controllers.learned_rate import FALL, FEATURES, RISE, LearnedRate
from vcgym.baselines.records import RateLimits, SenderStatus
from vcgym.baselines.rule import NEVER_US, allocate, decide, init, see_sender, update, wake_us, window_bytes
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.report.fairness import pairings
from vcgym.leaderboard.results.sender_metrics import metrics
from vcgym.network.scenarios.bottleneck.rmcat import CASES

LIMITS = RateLimits(300e3, 150e3, 4e6)


def started(weights):
    rule = LearnedRate(np.asarray(weights, np.float64))
    state = allocate(rule, 1, 1)
    init(rule, state, 0, LIMITS, np.uint64(1))
    return rule, state


def decisions(weights, reports):
    """(reports, 2) target and window."""
    rule, state = started(weights)
    found = []
    for packets, _, known_us in reports:
        for record in packets:
            update(rule, state, 0, record)
        found.append((decide(rule, state, 0, known_us), window_bytes(rule, state, 0)))
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_its_twin(seed):
    weights = START + SCALE * np.random.default_rng(seed).normal(size=START.size)
    reports, twin = drawn_reports(seed), PlainLearnedRate(weights, *LIMITS)
    wanted = np.array([(twin.report(packets), twin.window) for packets, _, _ in reports])
    assert len(set(wanted[:, 0].astype(int))) > 50
    np.testing.assert_allclose(decisions(weights, reports), wanted, rtol=1e-9, atol=1.0)


def test_silence_lowers_the_target_and_opens_the_window_only_while_packets_wait():
    (rule, state), twin, reports = started(START), PlainLearnedRate(START, *LIMITS), drawn_reports(2)[:40]
    assert window_bytes(rule, state, 0) == NEVER_US and decide(rule, state, 0, 0) == LIMITS.start_bps
    for packets, _, known_us in reports:
        for record in packets:
            update(rule, state, 0, record)
        twin.report(packets)
        before = decide(rule, state, 0, known_us), window_bytes(rule, state, 0)
    assert wake_us(rule, state, 0) == known_us + 500_000
    assert decide(rule, state, 0, known_us + 500_000) == before[0]
    see_sender(rule, state, 0, SenderStatus(1200, 0, 0, 0, 0, 33_333))
    for silences in (1, 2):
        twin.hear_nothing()
        found = decide(rule, state, 0, wake_us(rule, state, 0)), window_bytes(rule, state, 0)
        assert found[1] == before[1] + 3000 * silences
        np.testing.assert_allclose(found, (twin.target, twin.window), atol=1.0)


@pytest.mark.parametrize("wish", [-1e6, 1e6])
def test_a_change_is_bounded_whatever_the_weights(wish):
    """At most a factor of exp(rise) up and exp(fall) down per second, and never out of the call's range."""
    reports, weights = drawn_reports(1), np.where(np.arange(START.size) < 2 * FEATURES, 0.0, START)
    weights[0] = wish
    found, known_s = decisions(weights, reports)[:, 0], np.array([known_us * 1e-6 for _, _, known_us in reports])
    per_s = np.exp(START[RISE if wish > 0 else FALL])
    assert (np.abs(np.diff(np.log(found))) <= np.minimum(np.diff(known_s), 0.2) * per_s + 1e-5).all()
    assert found[-1] == (LIMITS.max_bps if wish > 0 else LIMITS.min_bps)


class Bowls:
    """Worlds whose score falls with the distance from the best weights, each in another weight."""

    best = START + SCALE

    def __init__(self, config):
        pass

    def draw(self, split, n):
        return list(range(START.size))

    def scores(self, weights, links):
        return Scores(-np.square((weights - self.best) / SCALE)[links], 10)


def test_the_search_finds_the_best_weights(monkeypatch):
    monkeypatch.setattr(rate_search, "RateWorlds", Bowls)
    weights, study = search_weights(RateConfig(trials=900), 1)
    np.testing.assert_allclose((weights - START) / SCALE, 1.0, atol=0.2)
    assert study["budget"] == {"packets": 9000, "trials": 900, "worlds": 75 * 16} and study["validation"]["difference"] > 0.9


@pytest.mark.long  # compiles a loop with other calls that no other quick test needs
def test_what_it_takes_from_others_costs():
    """The second of two calls, there for 100 of 120 s, lacks a part of its half of them: at a price of 2, that costs twice the part."""
    late = next(one for one in pairings() if (one.case, one.rule, one.against) == ("late", "gcc_webrtc", "gcc_webrtc"))
    batch = started_batch(late.sender, [late.link])
    batch.play(np.arange(1))
    heard = batch.log(0)[batch.log(0)["arrived_us"] >= 0]
    share = 8.0 * heard["size_bytes"].sum() / (late.link.seconds * 2e6)
    free, dear = (score(late.link, batch, 0, price) for price in (0.0, 2.0))
    theirs = 100.0 / 120.0 / 2.0
    assert share > 1.0 - theirs and free - dear == pytest.approx(2.0 * (share - 1.0 + theirs) / theirs)
    assert free == metrics(late.link, batch.log(0), batch.totals(), 0, batch.tables.targets[0])["utility"]


def test_its_worlds_are_those_of_rmcat_rate_and_calls(monkeypatch):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    worlds = RateWorlds(RateConfig(seconds=20.0))
    links = worlds.draw("train", 3)
    assert [link.name.split("-")[0] for link in links[13:]] == ["steps", "cellular", "cubic", "wifi", *["gcc"] * 3, "mixed", *["pair"] * 6]
    assert [link.name for link in links[:13]] == list(CASES) and max(link.seconds for link in links) == 20.0
    rivals = [flow.rate for link in links[-6:] for flow in link.flows]
    assert rivals == ["gcc_webrtc"] * 3 + ["nada_xmax"] * 3 and [link.queue_bytes for link in links[-6:]] == [37_500, 75_000, 150_000] * 2
