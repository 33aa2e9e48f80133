"""Models of the Bandwidth Estimation Challenge: inputs from the receiver, state within a call, rejection, and submissions."""

import gymnasium
import numpy as np
import pytest
from submitted import Graph, observed, write_card

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.evaluation.play import play
from vcgym.leaderboard.evaluation.kinds.sender import SENDER
from vcgym.leaderboard.evaluation.own.bandwidth_model import BandwidthModel
from vcgym.leaderboard.evaluation.own.local_agent import env_of, local_agent
from vcgym.leaderboard.evaluation.own.onnx_model import Model, RefusedError
from vcgym.leaderboard.evaluation.published import RATE_ENV
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, SUITES, Part, Suite, prepare
from vcgym.leaderboard.play import evaluate
from vcgym.network.traces.cards import data_root
from vcgym.submissions.accept import FOLDER, accept, accepted, take
from vcgym.submissions.trial import observe

SUITE = Suite("tiny", "v0", 0, (Part("rate", BOTTLENECK, 1, stratum="steps"),), SENDER)
BASELINE = "bwe_models/msft_offline_rl_baseline.onnx"
"""Published with the challenge (microsoft/RL4BandwidthEstimationChallenge, MIT), in the folder of measured data."""
CARD = {"format": 1, "name": "counts", "authors": "A", "description": "Counts.", "licence": "MIT", "weights": "policy.onnx"}
SEEN = {"steps": np.ones((1, 3, 150), np.float32)}


def write_model(path, state="hidden_states"):
    """Write a model that targets the rate of the newest 60 ms and 1,000 bit/s for each time that it was asked before."""
    graph = Graph()
    observed, before, cell = graph.input("obs", 1, 1, 150), graph.input(state, 1, 2), graph.input("cell_states", 1, 2)
    newest, first = np.zeros((150, 2)), np.zeros((2, 2))
    newest[0, 0], first[0, 0] = 1.0, 1000.0
    rate = graph.node("Add", graph.node("MatMul", observed, newest), graph.node("MatMul", before, first))
    graph.output("output", rate, 1, 1, 2)
    graph.output("state_out", graph.node("Add", before, np.ones((1, 2))), 1, 2)
    graph.output("cell_out", cell, 1, 2)
    path.write_bytes(graph.content())
    return path


def test_it_is_asked_at_each_report_and_forgets_at_the_next_call(tmp_path):
    model = BandwidthModel(write_model(tmp_path / "counts.onnx"))
    rows = np.zeros((2, 150), np.float32)
    rows[:, 0] = [200_000.0, 300_000.0]
    actions, state = model.predict(rows)
    assert not actions.any()  # nothing has arrived: the start rate stays
    for first, second in ((200_000, 300_000), (201_000, 0), (202_000, 300_000)):
        actions, state = model.predict(rows, state, np.array([False, second == 0]))
        assert actions.tolist() == [[first, 0, 0], [second, 0, 0]]


def test_it_plays_a_suite_from_its_file_alone(tmp_path):
    model = BandwidthModel(write_model(tmp_path / "counts.onnx"))
    agent = local_agent(model, SUITE, prepare(SUITE))
    assert dict(agent.arguments) == {"action": "exact", "features": "intervals", "interval": 1}
    (found,) = evaluate(model, suite=SUITE, folder=tmp_path).values()
    assert found.worlds == 1 and np.isfinite(found.value.value)


@pytest.mark.parametrize(("content", "said"), [(b"", "opset_import is {}"), (b"x", "is no ONNX model"), (None, "is no model of the")])
def test_what_is_no_model_of_the_challenge_is_refused(tmp_path, content, said):
    path = write_model(tmp_path / "other.onnx", state="memory")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"other\.onnx.* {said}"):
        local_agent(BandwidthModel(path), SUITE, prepare(SUITE))


@pytest.mark.data
def test_the_published_baseline_means_the_newest_interval_first():
    """Where capacity steps up and down it earns a third more so than with the five intervals of each length turned round."""
    model, earned = BandwidthModel(data_root() / BASELINE), []
    for turned in (False, True):
        envs = gymnasium.make_vec("vcgym/Rate-v1", num_envs=4, split="validation", **model.options).unwrapped
        observation, _ = envs.reset(seed=100, options={"kind": "steps"})
        earned.append(play(_Turned(model) if turned else model, envs, observation).returns.mean())
    assert earned[0] > 1.2 * earned[1] > 0.0


class _Turned:
    """A model that is shown the intervals of each length the other way round."""

    reads = "features"

    def __init__(self, model):
        self.model = model

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        turned = observation.reshape(-1, 15, 2, 5)[..., ::-1].reshape(-1, 150)
        return self.model.predict(np.ascontiguousarray(turned), state, episode_start)


@pytest.fixture
def folder(tmp_path):
    """A model as the challenge's exporter writes it, with opset 11 and the name of a second set."""
    home = tmp_path / "counts"
    home.mkdir()
    write_card(home, CARD | {"bandwidth": {"steps": 7}})
    parsed = Model()
    parsed.ParseFromString(write_model(home / "policy.onnx").read_bytes())
    parsed.opset_import[0].version = 11
    parsed.opset_import.add(domain="ai.onnx.ml", version=2)
    (home / "policy.onnx").write_bytes(parsed.SerializeToString())
    return home


def test_it_plays_as_the_model_of_its_file(folder, tmp_path):
    ((part, scenario),) = parts = prepare(SUITE)
    seen = observe(SUITE, parts)
    assert seen.keys() == {"steps"} and seen["steps"].shape[::2] == (2, 150) and seen["steps"].shape[1] > 500
    assert accept(folder, tmp_path, seen, (), env_of(SUITE)) == "counts"
    taken, left_out = accepted(tmp_path)
    assert left_out == {} and taken["counts"].env == RATE_ENV
    which, local = SUITE.kind.worlds(part, scenario), local_agent(BandwidthModel(folder / "policy.onnx"), SUITE, parts)
    policy = taken["counts"].policy()
    assert (policy.training_decisions, policy.parameters) == (7, 150 * 2 + 4 + 2)
    found, expected = (SENDER.play_policy(one, one.policy(), part, scenario, which).calls for one in (taken["counts"], local))
    assert [call.metrics for call in found] == [call.metrics for call in expected]


@pytest.mark.long
def test_faulty_ones_are_refused(folder):
    with pytest.raises(RefusedError, match=r"card\.json: describes a model for vcgym/Rate-v1; allowed: vcgym/Call-v1, as the suite has"):
        take(folder, observed(5))
    with pytest.raises(RefusedError, match=r"a trial call failed: ValueError: output is nan; allowed: finite values"):
        take(folder, {"steps": np.full((1, 3, 150), np.inf, np.float32)}, RATE_ENV)
    write_model(folder / "policy.onnx", state="memory")
    with pytest.raises(RefusedError, match=r"a trial call failed: ValueError: .*'memory'"):
        take(folder, SEEN, RATE_ENV)
    write_card(folder, CARD | {"bandwidth": {"steps": -1}})
    with pytest.raises(RefusedError, match=r"bandwidth\.steps"):
        take(folder, SEEN, RATE_ENV)
    write_card(folder, CARD | {"bandwidth": {"steps": 7}, "weights": "agent.safetensors"})
    with pytest.raises(RefusedError, match=r"'onnx' or 'bandwidth' with policy\.onnx alone"):
        take(folder, SEEN, RATE_ENV)


def test_one_that_was_damaged_later_is_left_out(folder, tmp_path):
    accept(folder, tmp_path, SEEN, (), RATE_ENV)
    (tmp_path / FOLDER / "counts" / "policy.onnx").write_bytes(b"")
    taken, left_out = accepted(tmp_path)
    assert taken == {} and "opset_import is {}" in left_out["counts"]


def test_suites_without_a_call_of_ones_own_take_no_agents():
    with pytest.raises(ValueError, match="suite rmcat-v0 has no calls that an agent controls alone"):
        env_of(SUITES["rmcat-v0"])


@pytest.mark.data
def test_the_published_baseline_is_taken(folder):
    (folder / "policy.onnx").write_bytes((data_root() / BASELINE).read_bytes())
    take(folder, SEEN, RATE_ENV)
