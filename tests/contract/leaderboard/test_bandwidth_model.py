"""Models of the Bandwidth Estimation Challenge: inputs from the receiver, state within a call, and rejection of incomplete models."""

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.agents.evaluation.play import play
from vcgym.agents.exported.graph import Graph
from vcgym.leaderboard.evaluation.local import local_agent
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite, prepare
from vcgym.leaderboard.play import evaluate
from vcgym.leaderboard.results.sender_columns import RATE
from vcgym.leaderboard.submissions.bandwidth_model import BandwidthModel
from vcgym.network.traces.cards import data_root

SUITE = Suite("tiny", "v0", 0, (Part("rate", BOTTLENECK, 1, stratum="steps"),), RATE)
BASELINE = "bwe_models/msft_offline_rl_baseline.onnx"
"""Published with the challenge (microsoft/RL4BandwidthEstimationChallenge, MIT), in the folder of measured data."""


def write_model(path, state="hidden_states"):
    """Write a model that targets the rate of the newest 60 ms and 1,000 bit/s for each time that it was asked before."""
    graph = Graph("counts")
    observed, before = graph.input("obs", "float32", (1, 1, 150)), graph.input(state, "float32", (1, 2))
    cell = graph.input("cell_states", "float32", (1, 2))
    newest, first = np.zeros((150, 2)), np.zeros((2, 2))
    newest[0, 0], first[0, 0] = 1.0, 1000.0
    rate = graph.node("MatMul", "float32", observed, graph.constant(newest, "float32"))
    graph.output("output", rate + graph.node("MatMul", "float32", before, graph.constant(first, "float32")), (1, 1, 2))
    graph.output("state_out", before + graph.constant(np.ones((1, 2)), "float32"), (1, 2))
    graph.output("cell_out", cell.apply("Identity"), (1, 2))
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
    assert dict(agent.arguments) == {"action": "exact", "features": "intervals"}
    (found,) = evaluate(model, suite=SUITE, folder=tmp_path).values()
    assert found.worlds == 1 and np.isfinite(found.value.value)


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_what_is_no_model_of_the_challenge_is_refused(tmp_path, content):
    path = write_model(tmp_path / "other.onnx", state="memory")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"agent .*other\.onnx is no model of the challenge: "):
        BandwidthModel(path)


@pytest.mark.data
def test_the_published_baseline_means_the_newest_interval_first():
    """Where capacity steps up and down it earns a third more so than with the five intervals of each length turned round."""
    model, earned = BandwidthModel(data_root() / BASELINE), []
    for turned in (False, True):
        envs = gymnasium.make_vec("vcgym/Rate-v0", num_envs=4, split="validation", **model.options).unwrapped
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
