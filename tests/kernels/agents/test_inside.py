"""Learning inside the loop: what stochastic rules record is what an agent outside sees and does."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)
from twins.sender_records import WITH_RECORDS
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers.arrival_features import WIDTH
from vcgym.agents.controllers.learned_lag import LearnedLag
from vcgym.agents.controllers.learned_margin import SBPN2
from vcgym.agents.controllers.learned_switch import EVERY_SLOTS
from vcgym.agents.controllers.policy import act, answer, consider, due, observe, output, place, two_layers
from vcgym.agents.inside.learner import LEARNABLE
from vcgym.agents.inside.noise import Bernoulli, Normal
from vcgym.agents.inside.recorder import bind, close
from vcgym.agents.inside.rollout import play
from vcgym.agents.inside.sampled import Sampled
from vcgym.agents.inside.tasks import task_of
from vcgym.agents.inside.update import normalise
from vcgym.baselines.controls.control import Control
from vcgym.baselines.order.scheduler import choose
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import MEDIA, PacketFeedback, RateLimits, Record
from vcgym.baselines.rule import allocate, decide, init, require_rule, start, update
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.rewards.emodel import Impairment
from vcgym.network.bottleneck.send_queue import MAX_WAITING, SendQueue, put
from vcgym.network.kernels.record import records
from vcgym.network.scenarios.scenario import Scenario

PACKETS, SEED = 400, 5
NOISE = Normal(sd=0.7, memory=0.9)


class Example:
    """A network with first weights, its rule, and how it explores."""

    def __init__(self, control, noise=NOISE):
        torch.manual_seed(1)
        self.control, self.noise, learned = control, noise, LEARNABLE[control]
        self.network = learned.network(8)
        if control is Control.PATH:
            with torch.no_grad():
                self.network.last.bias.fill_(-0.5)  # changes often
        self.rule, self.decisions = learned.rule(*self.network.arrays()), PACKETS // learned.every

    def sampled(self, draw=3):
        return Sampled(self.rule, self.noise, self.decisions, draw, Impairment())

    def log_prob(self, x, action, lengths):
        return self.noise.log_prob(self.network.output(x), action, lengths)


def lag(innovations=False, mirrored=False):
    return Example(Control.PLAYOUT, NOISE._replace(innovations=innovations, mirrored=mirrored))


def switch():
    return Example(Control.PATH, Bernoulli())


def played(example, draw=3, sessions=2):
    """Calls of one world with a rule that explores."""
    scenario = Scenario("wonderproxy", "correlated", PACKETS)
    rules = {"path": Direct(), "playout": WMJitter()} | {str(example.control): example.sampled(draw)}
    batch = CallBatch(scenario, sessions, **rules)
    name = f"{example.control}_state"
    state = getattr(batch, name)
    setattr(batch, name, state._replace(recorder=bind(state.recorder, batch.calls)))
    for row in range(sessions):
        batch.start(row, scenario.draw("train", SEED))
    batch.play(np.arange(sessions))
    recorder = getattr(batch, name).recorder
    close(recorder)
    return recorder


def outside(env_id, rule, **options):
    """The environment of one call of the same world with records, and the state of the rule as it is ranked."""
    form = {"observation": "records", "action": "exact", "packets": PACKETS, "reward": "impairment"}
    envs = gymnasium.make_vec(env_id, 1, autoreset_mode=AutoresetMode.DISABLED, **form, **options)
    seen, _ = envs.reset(seed=SEED)
    state = allocate(rule, 1, envs.unwrapped.batch.scenario.paths)
    start(rule, state, np.ones(1, np.bool_), seen["history"].astype(np.float64), np.zeros(1, np.uint64))
    return envs, seen, state


def new_records(seen):
    return [Record(*map(int, row)) for row in seen["records"][0][: int(np.ravel(seen["count"])[0])]]


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_the_lag_records_what_the_face_shows_and_earns():
    example = lag()
    recorder, rule = played(example), example.rule
    envs, seen, state = outside("vcgym/Playout-v1", rule, interval=1)
    number, earned, done = 0, 0.0, False
    while not done:
        (record,) = new_records(seen)
        assert observe(rule, state, 0, record) is (record.kind == MEDIA) is True
        assert state.x[0].tobytes() == recorder.x[0, number].tobytes(), number
        assert recorder.slot[0, number] == record.arrived_us // 10_000
        act(rule, state, 0, recorder.action[0, number], record.arrived_us)
        seen, reward, _, truncated, _ = envs.step(state.call.lag_us[:1].reshape(envs.action_space.shape).astype(envs.action_space.dtype))
        number, earned, done = number + 1, earned + reward[0], bool(truncated[0])
    assert number == recorder.decided[0] > 0.8 * PACKETS
    assert recorder.gain[0, :number].sum(dtype=np.float64) == pytest.approx(earned, rel=1e-5)


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_the_switch_records_what_the_face_shows_and_earns():
    example = switch()
    recorder, rule = played(example), example.rule
    envs, seen, state = outside("vcgym/Relay-v1", rule, interval=1)
    call, number, earned, changes = state.call[0], 0, 0.0, 0
    for slot in range(PACKETS):
        for record in new_records(seen):
            update(rule, state, 0, record)
        before = int(call.path), int(call.news_us), int(state.choice[0].changed_us)
        decide(rule, state, 0, 10_000 * slot)
        if slot > 0 and slot % EVERY_SLOTS == 0:
            assert state.x[0].tobytes() == recorder.x[0, number].tobytes(), slot
            assert recorder.slot[0, number] == slot
            # What was drawn replaces the decision of the rule as it is ranked.
            changed = recorder.action[0, number] == 1.0
            now = cheapest_other(state, before[0]), 10_000 * slot, 10_000 * slot
            call.path, call.news_us, state.choice[0].changed_us = now if changed else before
            number, changes = number + 1, changes + int(changed)
        seen, reward, _, _, _ = envs.step(np.array([call.path]))
        earned += reward[0]
    assert number == recorder.decided[0] == PACKETS // EVERY_SLOTS - 1
    assert 0 < changes < number
    assert recorder.gain[0, :number].sum(dtype=np.float64) == pytest.approx(earned, rel=0.05)


def cheapest_other(state, taken):
    cost = state.arms["cost_ms"][0].copy()
    cost[taken] = np.inf
    return int(cost.argmin())


@pytest.mark.parametrize("kind", [lag, switch])
def test_log_probabilities_are_those_of_torch(kind):
    example = kind()
    recorder = played(example)
    for s in range(2):
        n = recorder.decided[s]
        x, action = (torch.from_numpy(array[s, :n]) for array in (recorder.x, recorder.action))
        out = example.network.output(x)
        law = torch.distributions.Normal(out, NOISE.sd) if kind is lag else torch.distributions.Bernoulli(logits=out)
        torch.testing.assert_close(torch.from_numpy(recorder.log_prob[s, :n]), law.log_prob(action), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(example.log_prob(x, action, [int(n)]), law.log_prob(action), rtol=1e-5, atol=1e-6)


def test_log_probabilities_after_the_noise_before_are_those_of_the_joint_law():
    """Innovations are differences of actions in float32, so they agree less closely than actions alone."""
    example = lag(innovations=True)
    recorder = played(example)
    x, action = (torch.from_numpy(array[0, :60]) for array in (recorder.x, recorder.action))
    wanted = of_whole_call(action - example.network.output(x), NOISE)
    torch.testing.assert_close(torch.from_numpy(recorder.log_prob[0, :60]), wanted, rtol=1e-4, atol=2e-5)
    torch.testing.assert_close(example.log_prob(x, action, [60]), wanted, rtol=1e-4, atol=2e-5)


def of_whole_call(noise, law):
    """Log densities (decisions,) of each noise after those before it, from the joint densities of the first ones."""
    apart = torch.arange(len(noise), dtype=torch.float64)
    covariance = law.sd**2 * law.memory ** (apart[:, None] - apart).abs()
    firsts = range(1, len(noise) + 1)
    laws = [torch.distributions.MultivariateNormal(torch.zeros(n, dtype=torch.float64), covariance[:n, :n]) for n in firsts]
    logs = torch.stack([law.log_prob(noise[:n].double()) for n, law in zip(firsts, laws, strict=True)])
    return torch.diff(logs, prepend=torch.zeros(1, dtype=torch.float64)).float().detach()


def test_densities_of_several_calls_start_anew_with_each():
    noise, draws = NOISE._replace(innovations=True), torch.Generator().manual_seed(0)
    out, action = torch.randn(9, generator=draws), torch.randn(9, generator=draws)
    apart = [noise.log_prob(out[a:b], action[a:b], [b - a]) for a, b in ((0, 4), (4, 9))]
    torch.testing.assert_close(noise.log_prob(out, action, [0, 4, 0, 5, 0]), torch.cat(apart))


def test_units_of_features_leave_the_rule_the_same_function():
    network = lag().network
    x = 3.0 + torch.randn(1000, WIDTH) * torch.logspace(-1, 1, WIDTH)
    network.measure(x)
    torch.testing.assert_close(network.unit, x.std(0))
    rule, layers = LearnedLag(*network.arrays()), np.zeros(16, np.float32)
    out = [two_layers(rule, row, layers) for row in x[:20].numpy()]
    np.testing.assert_allclose(out, network.output(x[:20]).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_draws_follow_from_world_number_and_row():
    example = lag()
    first, again, other = played(example), played(example), played(example, draw=4)
    assert first.action.tobytes() == again.action.tobytes()
    assert not np.array_equal(first.action[0], first.action[1])
    assert not np.array_equal(first.action, other.action)
    assert np.array_equal(first.x[0], first.x[1]) and np.array_equal(first.x, other.x)  # nothing that the lag sees depends on it


def test_mirrored_replicas_have_opposite_noise():
    example = lag(mirrored=True)
    recorder = played(example)
    n = recorder.decided[0]
    noise = recorder.action[:, :n] - example.network.output(torch.from_numpy(recorder.x[:, :n])).detach().numpy()
    np.testing.assert_allclose(noise[0], -noise[1], atol=1e-5)
    assert noise[0].std() == pytest.approx(0.7, rel=0.3)
    assert np.corrcoef(noise[0, 1:], noise[0, :-1])[0, 1] == pytest.approx(0.9, abs=0.08)


@pytest.mark.parametrize("kind", [lag, switch])
def test_a_rule_that_explores_is_no_part_of_a_system(kind):
    """It reads the counters of the call, which no rule may know."""
    example = kind()
    sampled = example.sampled()
    with pytest.raises(ValueError, match="allowed are rules of that control"):
        System(**{str(example.control): sampled})
    with pytest.raises(ValueError, match="allowed are rules that control"):
        require_rule(str(example.control), sampled, example.control)
    rules = {"path": Direct(), "playout": WMJitter()} | {str(example.control): sampled}
    scenario = Scenario("wonderproxy", "correlated", PACKETS)
    with pytest.raises(ValueError, match="no calls to read"):
        CallBatch(scenario, 1, **rules).start(0, scenario.draw("train", SEED))


def over_bottleneck(env_id, example):
    """Two calls of one world with a rule that explores."""
    task = task_of(EnvConfig(id=env_id, options={"seconds": 20.0}))
    (worlds,) = task.worlds("train", 1, SEED)
    sampled = task.sampled(example.rule, example.noise, 3, LEARNABLE[example.control].every)
    return play(task, {str(example.control): sampled}, worlds, np.zeros(2, np.int64))


def require_recorded(example, recorded, number, earned):
    assert recorded.gain[0, :number].sum(dtype=np.float64) == pytest.approx(earned, rel=1e-4)
    x, action = (torch.from_numpy(array[0, :number]) for array in (recorded.x, recorded.action))
    log_prob = example.log_prob(x, action, [number]).detach().numpy()
    np.testing.assert_allclose(log_prob, recorded.log_prob[0, :number], rtol=2e-4, atol=2e-5)
    assert recorded.action[0, :number].tobytes() != recorded.action[1, :number].tobytes()


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_the_aim_records_what_the_face_shows_and_earns():
    example = Example(Control.RATE)
    rule, recorded = example.rule, over_bottleneck("vcgym/Rate-v1", example)
    form = {"action": "exact", "interval": 1, "seconds": 20.0, "autoreset_mode": AutoresetMode.DISABLED}
    envs = gymnasium.make_vec(WITH_RECORDS["vcgym/Rate-v1"], 1, **form)
    seen, _ = envs.reset(seed=SEED)
    sender, state = envs.unwrapped.batch.senders, allocate(rule, 1, 1)
    init(rule, state, 0, RateLimits(*seen["history"][0, 0]), np.uint64(0))
    target_bps, number, earned, done = 0, 0, 0.0, False
    while not done:
        seen, reward, _, truncated, _ = envs.step(np.array([[target_bps, 0, 0]]))
        earned += reward[0] if number > 0 else 0.0  # what was earned before the first decision is nobody's
        if done := bool(truncated[0]):
            break
        for row in seen["records"][0][: int(seen["count"][0])]:
            update(rule, state, 0, PacketFeedback(*map(int, row)))
        state.flow[0].waiting_bytes = sender["queue"]["bytes"][0]
        if due(rule, state, 0, 0):
            assert state.x[0].tobytes() == recorded.x[0, number].tobytes(), number
            act(rule, state, 0, recorded.action[0, number], 0)
            number += 1
        target_bps = answer(rule, state, 0)
    assert number == recorded.decided[0] > 0.8 * 2000 / 25  # a report each 50 ms, a decision each fifth
    require_recorded(example, recorded, number, earned)


@pytest.mark.long  # compiles a loop that no other quick test needs
def test_the_margin_records_what_the_face_shows_and_earns():
    example = Example(Control.ORDER)
    rule, recorded = example.rule, over_bottleneck("vcgym/SendOrder-v1", example)
    form = {"action": "discrete", "interval": 1, "seconds": 20.0, "autoreset_mode": AutoresetMode.DISABLED}
    envs = gymnasium.make_vec(WITH_RECORDS["vcgym/SendOrder-v1"], 1, **form)
    seen, _ = envs.reset(seed=SEED)
    number, earned, done = 0, 0.0, False
    state = allocate(rule, 1, 1)
    while not done:
        queue = records(SendQueue, 1)[0]
        queue.limit = MAX_WAITING
        for row in seen["records"][0][: int(seen["count"][0])]:
            put(queue, *map(int, row))
        now_us, rtt_us = int(seen["now_us"][0]), int(seen["rtt_us"][0])
        index = consider(rule, state, 0, queue, now_us, rtt_us)
        if index >= 0:
            assert state.x[0].tobytes() == recorded.x[0, number].tobytes(), number
            assert recorded.slot[0, number] == now_us // 10_000
            taken = place(rule, queue, index, now_us, rtt_us, recorded.action[0, number])
            assert choose(rule, queue, now_us, rtt_us) == place(rule, queue, index, now_us, rtt_us, output(rule, state, 0))
            number += 1
        else:
            taken = choose(SBPN2, queue, now_us, rtt_us)
        seen, reward, _, truncated, _ = envs.step(np.array([taken if taken >= 0 else envs.unwrapped.slots - 1 - taken]))
        earned, done = earned + (reward[0] if number > 0 else 0.0), bool(truncated[0])
    assert number == recorded.decided[0] > 300
    assert earned < 0.0
    require_recorded(example, recorded, number, earned)


def test_kinds_count_by_the_root_of_their_spread():
    recorder = played(lag())
    some = np.random.default_rng(0).standard_normal(recorder.gain.shape).astype(np.float32)
    some[:, PACKETS - 1 :] = 1e6  # never decided: without effect
    calm, wild = (normalise(recorder, np.float32(scale) * some)[:, :300] for scale in (0.01, 100.0))
    np.testing.assert_allclose(wild, 100.0 * calm, rtol=1e-4)
    assert calm.std() == pytest.approx(0.1, rel=0.2)
    zero = np.zeros_like(some)
    assert normalise(recorder, zero).tobytes() == zero.tobytes()
