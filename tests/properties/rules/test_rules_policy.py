"""Properties of every rule behind `predict`: batches, resuming, and plain Python."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from typed import output_of

from vcgym.baselines.path.best_history import BestHistory
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.discounted_thompson import DiscountedThompson
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.path.linucb import LinUCB
from vcgym.baselines.path.random_path import RandomPath
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.path.sliding_thompson import SlidingThompson
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.path.vcroute.version_2 import VCRouteV2
from vcgym.baselines.path.via import Via
from vcgym.baselines.playout.buffer_target import NetEqTarget
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.records import Record, path_history
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.baselines.systems import load_system

ROUTERS = [Direct(), RandomPath(), RoundRobin(), BestHistory(), Via(epsilon=0.1), VCRoute(), VCRouteV2()]
ROUTERS += [Greedy(smoothing_ms=150.0), DiscountedThompson(), SlidingThompson(window=40), LinUCB()]
RECEIVERS = [FixedLag(30.0), CountTarget(30.0), WMJitter(), NetEqTarget()]
POLICIES = [RulePolicy(router) for router in ROUTERS] + [RulePolicy(receiver) for receiver in RECEIVERS]
POLICIES += [RulePolicy(VCRoute(), WMJitter()), RulePolicy(*load_system("learned").chosen)]
SESSIONS, PATHS, ROWS, STEPS = 5, 4, 6, 25


def observations(seed=0):
    """Steps of made-up records, disordered, some of probes, some late; a session starts anew now and then."""
    rng = np.random.default_rng(seed)
    mean_ms = rng.uniform(100.0, 110.0, (SESSIONS, PATHS))
    history = np.stack([rng.integers(0, 6, (SESSIONS, PATHS)), mean_ms, rng.uniform(5.0, 30.0, (SESSIONS, PATHS))], axis=2)
    steps = []
    for step in range(STEPS):
        sent = 10_000 * (ROWS * step + rng.permuted(np.tile(np.arange(ROWS), (SESSIONS, 1)), axis=1))
        arrived = sent + rng.integers(50_000, 150_000, sent.shape)
        kind, late = (rng.random(sent.shape) < 0.1).astype(int), (rng.random(sent.shape) < 0.1).astype(int)
        path = rng.integers(0, PATHS, sent.shape)
        records = np.stack([kind, sent // 10_000, path, sent, arrived, arrived + 60_000, np.full_like(sent, 80_000), late], axis=2)
        observation = {
            "records": records,
            "count": rng.integers(0, ROWS + 1, SESSIONS),
            "history": history,
            "key": np.arange(SESSIONS, dtype=np.uint64) + np.uint64(2**63),
            "slot": np.full(SESSIONS, ROWS * step),
        }
        steps.append((observation, rng.random(SESSIONS) < (1.0 if step == 0 else 0.05)))
    return steps


def run(policy, steps, rows=None, state=None):
    """Actions (steps, sessions, ...) over the given rows of each observation."""
    rows = np.arange(SESSIONS) if rows is None else np.asarray(rows)
    actions = []
    for observation, starts in steps:
        action, state = policy.predict({name: values[rows] for name, values in observation.items()}, state, starts[rows])
        actions.append(action)
    return np.array(actions), state


def names(policy):
    return "+".join(type(params).__name__ for params in policy.rules)


each_policy = pytest.mark.parametrize("policy", POLICIES, ids=names)


@each_policy
def test_alone_equals_in_a_batch(policy):
    steps = observations()
    together, _ = run(policy, steps)
    for s in range(SESSIONS):
        alone, _ = run(policy, steps, [s])
        np.testing.assert_array_equal(alone[:, 0], together[:, s])


@each_policy
def test_a_copied_state_resumes_anywhere(policy):
    steps = observations(2)
    whole, _ = run(policy, steps)
    _, state = run(policy, steps[:10])
    kept = copy.deepcopy(state)
    np.testing.assert_array_equal(run(policy, steps[10:], state=state)[0], whole[10:])
    np.testing.assert_array_equal(run(policy, steps[10:], state=kept)[0], whole[10:])


@each_policy
def test_an_episode_start_forgets_everything(policy):
    steps = observations(3)
    _, used = run(policy, steps[:12])
    restarted = [(steps[12][0], np.ones(SESSIONS, np.bool_)), *steps[13:]]
    np.testing.assert_array_equal(run(policy, restarted, state=used)[0], run(policy, restarted)[0])


@each_policy
def test_compiled_equals_the_rule_called_from_python(policy):
    steps = observations(4)
    actions, _ = run(policy, steps)
    actions = actions.reshape(STEPS, SESSIONS, -1)
    for column, params in enumerate(policy.rules):
        state = allocate(params, SESSIONS, PATHS)
        for step, (observation, starts) in enumerate(steps):
            for s in range(SESSIONS):
                if starts[s]:
                    init(params, state, s, path_history(observation["history"][s]), observation["key"][s])
                for row in observation["records"][s, : observation["count"][s]]:
                    update(params, state, s, Record(*(int(value) for value in row)))
                assert decide(params, state, s, int(observation["slot"][s]) * 10_000) == actions[step, s, column]


def test_shapes_and_types_of_actions():
    observation, starts = observations()[0]
    for policy in POLICIES:
        actions, state = policy.predict(observation, None, starts)
        assert actions.shape == ((SESSIONS,) if len(policy.rules) == 1 else (SESSIONS, 2))
        assert actions.dtype == np.int64
        assert len(state) == len(policy.rules)
        assert (policy.reads, policy.action) == ("records", "exact")


def test_no_rule_at_all_is_refused():
    with pytest.raises(ValueError, match="no control: allowed are path, playout"):
        RulePolicy()


def test_more_records_than_rows_are_refused():
    observation, starts = observations()[0]
    observation["count"][2] = ROWS + 1
    with pytest.raises(ValueError, match=rf"allowed range is \[0, {ROWS}\]"):
        RulePolicy(Direct()).predict(observation, None, starts)


FROM_OUTSIDE = """
import json, sys
import numpy as np
from twins.standalone import emissions
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.policy import RulePolicy

rng = np.random.default_rng(8)
sent = 10_000 * rng.permutation(12)
row = lambda k, s: [0, k, (k + s) % 3, sent[k], sent[k] + 60_000 + 9_000 * ((k * 7 + s) % 5), 0, 0, 0]
records = np.array([[row(k, s) for k in range(12)] for s in range(2)])
history = np.tile([[9.0, 80.0, 12.0], [9.0, 84.0, 9.0], [0.0, 0.0, 0.0]], (2, 1, 1))
out = []
policy, state = RulePolicy(VCRoute(), WMJitter()), None
for step in range(12):
    seen = dict(records=records[:, step : step + 1], count=np.ones(2, int), history=history,
                key=np.array([1, 2**64 - 1], np.uint64), slot=np.full(2, step))
    actions, state = policy.predict(seen, state)
    out.append(actions.tolist())
out.append(emissions(WMJitter(), sent, 10_000 * np.arange(12)).emitted_us.tolist())
json.dump(out, sys.stdout)
"""


@pytest.mark.long
def test_plain_python_agrees(tmp_path, python_path):
    tests = python_path(Path(__file__).parents[2])
    one, other = (json.loads(output_of(FROM_OUTSIDE, cwd=tmp_path, NUMBA_DISABLE_JIT=off, PYTHONPATH=tests)) for off in "01")
    assert one == other
