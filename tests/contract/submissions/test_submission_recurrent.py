"""Submitted recurrent models, and models of one control: valid ones play as in the runtime, others are rejected in one line."""

import numpy as np
import onnxruntime
import pytest
from submitted import edit_card, observations, observed, refused, write_recurrent

from vcgym.leaderboard.evaluation.own.onnx_model import INT64
from vcgym.leaderboard.evaluation.published import LOGGED_FORM
from vcgym.submissions.accept import take

pytestmark = pytest.mark.long  # starts processes, or compiles much that no other test needs


def by_hand(folder, rows, steps):
    """Decide `steps` times on one session with the runtime alone, from zeros; return the actions and what is remembered."""
    session = onnxruntime.InferenceSession(folder / "policy.onnx", providers=["CPUExecutionProvider"])
    h, arms, found = np.zeros((1, 8), np.float32), np.zeros((1, 5, 2), np.float32), []
    for row in rows[:steps]:
        inputs = {"paths": row[: 5 * 9].reshape(1, 5, 9), "call": row[None, 5 * 9 :], "h": h, "arms": arms}
        scores, levels, h, arms = session.run(["path_scores", "level_scores", "next_h", "next_arms"], inputs)
        found.append([scores.argmax(), levels.argmax()])
    return np.array(found), h


def test_it_remembers_within_a_call_and_forgets_at_the_next(tmp_path):
    folder = write_recurrent(tmp_path / "recurrent")
    policy = take(folder, observed(5, 17)).published.policy()
    rows, state, found = observations(5), None, []
    for step in range(4):
        actions, state = policy.predict(rows[[step, step]], state, np.array([False, step == 2]))
        found.append(actions)
    (wanted, h), (forgotten, h_forgotten) = by_hand(folder, rows, 4), by_hand(folder, rows[2:], 2)
    assert np.array_equal([action[0] for action in found], wanted)
    assert np.array_equal([action[1] for action in found], [*wanted[:2], *forgotten])
    assert np.array_equal(state[0]["h"], h) and np.array_equal(state[1]["h"], h_forgotten) and not np.allclose(h, h_forgotten)


def test_a_model_of_one_control_has_one_action_beside_the_rule_that_its_card_names(tmp_path):
    for field, left in (("path", 1), ("playout", 0)):
        folder = write_recurrent(tmp_path / field, **{field: "GRD-WM"})
        taken = take(folder, observed(5))
        actions, _ = taken.published.policy().predict(observations(5))
        assert actions.shape == (6,) and actions.max() < (5, 32)[left]
        assert taken.published.rule == "GRD-WM" and {name for name, _ in taken.published.arguments} == {*LOGGED_FORM, field}


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("state", {"h": [8]}, ["policy.onnx: a trial call failed: ValueError: inputs and outputs"]),
        ("state", {"h": [9], "arms": ["paths", 2]}, ["policy.onnx: a trial call failed: "]),
        ("state", {"h": [8], "arms": [2, 2]}, ["policy.onnx: a trial call failed: "]),
        ("state", {"h": [1 << 40]}, ["card.json: onnx.state holds 1099511627776 numbers; allowed: at most 262144"]),
        ("state", {"h": ["paths", "paths"]}, ["card.json: onnx.state holds 1000000 numbers"]),
        ("state", {"h": [0]}, ["card.json: onnx.state.h is [0]; allowed: 1 to 3 lengths of at least 1"]),
        ("state", {"h": [-8]}, ["card.json: onnx.state.h is [-8]"]),
        ("state", {"h": []}, ["card.json: onnx.state.h is []"]),
        ("state", {"h": [1, 1, 1, 8]}, ["card.json: onnx.state.h is [1, 1, 1, 8]"]),
        ("state", {"h": ["links"]}, ["card.json: onnx.state.h.0"]),
        ("state", {"call": [8]}, ["card.json: onnx.state has 'call'; allowed: names other than paths, call"]),
        ("state", {"next_h": [8]}, ["card.json: onnx.state has 'next_h'"]),
        ("state", {"../h": [8]}, ["card.json: onnx.state"]),
        ("state", {f"h{n}": [1] for n in range(17)}, ["card.json: onnx.state has 17 tensors; allowed: at most 16"]),
        ("path", "GRD-WM", ["policy.onnx: a trial call failed: ValueError: inputs and outputs"]),
        ("path", "oracle_joint_6", ["card.json: onnx.path is 'oracle_joint_6'; allowed: a system with path and playout"]),
        ("playout", "GCC-DRAFT", ["card.json: onnx.playout is 'GCC-DRAFT'; allowed: a system with path and playout"]),
        ("playout", "../../etc", ["card.json: onnx.playout is '../../etc'"]),
    ],
)
def test_a_card_that_lies_about_state_or_rule_is_refused(tmp_path, place, value, words):
    folder = write_recurrent(tmp_path / "recurrent")
    edit_card(folder, "onnx", place, value=value)
    refused(folder, *words)


def test_both_controls_by_rules_leave_nothing_to_submit(tmp_path):
    folder = write_recurrent(tmp_path / "recurrent", path="DRT-WM", playout="GRD-WM")
    refused(folder, "onnx.path is 'DRT-WM' and onnx.playout is 'GRD-WM'; allowed: at least one control that the model sets")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda graph, h: (graph.node("Mul", graph.node("Mul", h, 1e38), 1e38), "float32"), "inf; allowed: finite values"),
        (lambda graph, h: (graph.node("Log", graph.node("Sub", h, 2.0)), "float32"), "next_h holds nan"),
        (lambda graph, h: (graph.node("Cast", h, to=INT64), "int64"), "inputs and outputs"),
        (lambda graph, h: (graph.node("Concat", h, h, axis=1), "float32"), "a trial call failed: "),
        (lambda graph, h: (graph.node("Concat", h, h, axis=0), "float32"), "next_h has shape (2, 8); allowed: (1, 8)"),
    ],
)
def test_a_state_of_wrong_shape_type_or_value_is_refused_in_its_trial(tmp_path, changed, words):
    refused(write_recurrent(tmp_path / "recurrent", changed), "policy.onnx: a trial call failed: ", words)
