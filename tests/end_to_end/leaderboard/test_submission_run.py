"""From folders to a page with two submissions on it, and from their logged actions back to the same scores."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from submitted import write_recurrent

from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation import suites
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.participants import all_participants, shipped_agent
from vcgym.leaderboard.evaluation.published import LOGGED_FORM, PublishedAgent, participant
from vcgym.leaderboard.evaluation.suites import prepare
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.report.words.remarks import remarks
from vcgym.leaderboard.results.files import ACTIONS, RESULTS, TIMELINE, read, write
from vcgym.leaderboard.results.kinds import CALL
from vcgym.scripts.leaderboard import play_suite
from vcgym.submissions.accept import accept, accepted
from vcgym.submissions.commands import submit, verify_board
from vcgym.submissions.config import SubmitConfig
from vcgym.submissions.trial import observe
from vcgym.submissions.verify import UNKNOWN, verify

SUITE = suites.Suite("submitted", "v0", 205, (suites.Part("wonderproxy", "correlated", 1), suites.Part("table1", "paper", 2)))
ONNX = Path(__file__).parents[2] / "contract" / "submissions" / "submission_onnx"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    board = tmp_path_factory.mktemp("board")
    rules = load_systems(["DRT-WM", "DRT-WM-tuned", "VCR-WM"])
    parts = prepare(SUITE)
    run_suite(SUITE, parts, all_participants(SUITE, rules, None, accepted(board)[0]), board, lambda done, note: None)
    before = {path.name: path.read_bytes() for path in (board / "cells").iterdir()}
    assert read(ACTIONS, board / "actions.parquet").num_rows == 0
    seen = observe(SUITE, parts)
    accept(ONNX, board, seen, rules)
    accept(write_recurrent(tmp_path_factory.mktemp("given") / "recurrent", path="DRT-WM"), board, seen, rules)
    systems = all_participants(SUITE, rules, None, accepted(board)[0])
    assert {name: participant(name, system).kind for name, system in systems.items()} == {
        "DRT-WM": "rule", "DRT-WM-tuned": "tuned", "VCR-WM": "rule", "tiny onnx": "agent", "tiny recurrent": "agent",
    }  # fmt: skip
    told = []
    run_suite(SUITE, parts, systems, board, lambda done, note: told.append(note))
    assert all((board / "cells" / name).read_bytes() == content for name, content in before.items())
    assert not any("DRT-WM" in note or "VCR-WM" in note for note in told)  # what was played stays
    return board


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(suites.SUITES, SUITE.name, SUITE)


def check(board):
    return verify(board, lambda done, name: None)


def test_the_submission_is_on_the_page_and_its_log_comes_to_its_score(board, known):
    rows = [row for row in read(RESULTS, board / "results.parquet").to_pylist() if row["system"].startswith("tiny")]
    verdicts = check(board)
    assert len(rows) == len(verdicts) > 4
    assert all(verdict.equal and not verdict.said for verdict in verdicts)
    assert {verdict.system for verdict in verdicts} == {"tiny onnx", "tiny recurrent"}
    assert "tiny onnx" in (board / "report.html").read_text()
    assert "| tiny onnx |" in (board / "leaderboard.md").read_text()


def test_the_log_and_the_timelines_hold_what_was_played(board):
    log = read(ACTIONS, board / "actions.parquet").to_pylist()
    assert {len(row["level"]) for row in log} == {21}  # 205 packets, a decision every 10
    assert {(row["system"], row["rule"], len(row["path"])) for row in log} == {("tiny onnx", "", 21), ("tiny recurrent", "DRT-WM", 0)}
    lines = read(TIMELINE, board / "timeline.parquet").to_pylist()
    assert {(line["mode"], line["system"]) for line in lines} == {
        (mode, system) for mode in ("correlated", "paper") for system in ("DRT-WM", "DRT-WM-tuned", "VCR-WM", "tiny onnx", "tiny recurrent")
    }
    claimed = {tuple(row[name] for name in ("system", "mode", "scenario", "pair", "seed")): row for row in read_rows(board)}
    for line in lines:
        row = claimed[tuple(line[name] for name in ("system", "mode", "scenario", "pair", "seed"))]
        assert line["packets_per_bin"] == 2
        assert {len(line[name]) for name in ("delay_median_ms", "delay_most_ms", "missing", "path", "path_changes")} == {103}
        assert sum(line["path_changes"]) == row["path_changes"]
        assert sum(line["missing"]) / 205 == pytest.approx(row["network_loss"] + row["event_late_loss"])
        if line["system"] in ("DRT-WM", "tiny recurrent"):
            assert set(line["path"]) == {0}


def read_rows(board):
    return read(RESULTS, board / "results.parquet").to_pylist()


def altered(board, tmp_path, layout, name, edit, system="tiny onnx"):
    for file in ("results.parquet", "actions.parquet"):
        shutil.copy(board / file, tmp_path / file)
    rows = read(layout, board / name).to_pylist()
    first = next(number for number, row in enumerate(rows) if row["system"] == system)
    edited = edit(dict(rows[first]))
    write(layout, [*rows[:first], *([edited] if edited else []), *rows[first + 1 :]], tmp_path / name)
    return [verdict for verdict in check(tmp_path) if not verdict.equal]


def test_a_claim_that_its_actions_do_not_come_to_is_named(board, known, tmp_path):
    (verdict,) = altered(board, tmp_path, RESULTS, "results.parquet", lambda row: row | {"r": row["r"] + 1e-6})
    assert (verdict.system, verdict.said) == ("tiny onnx", "r")


def test_rounding_of_another_platform_is_no_difference(board, known, tmp_path):
    assert altered(board, tmp_path, RESULTS, "results.parquet", lambda row: row | {"r": row["r"] * (1.0 + 1e-11)}) == []


def test_other_actions_come_to_another_score(board, known, tmp_path):
    (verdict,) = altered(board, tmp_path, ACTIONS, "actions.parquet", lambda row: row | {"level": [31] * len(row["level"])})
    assert "r" in verdict.said.split(", ")
    assert set(verdict.said.split(", ")) <= {column.name for column in CALL.metrics}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda row: None, ["no actions in the log"]),
        (lambda row: row | {"path": row["path"][:-1]}, ["path of the log is not 21 integers from 0 to 16"]),
        (lambda row: row | {"path": [17] * 21}, ["path of the log is not 21 integers from 0 to 16"]),
        (lambda row: row | {"level": [-1] * 21}, ["level of the log is not 21 integers from 0 to 31"]),
        (lambda row: row | {"seed": 999}, ["no world of the suite, or one whose data are not here", "no actions in the log"]),
        (lambda row: row | {"stratum": "easy"}, ["no world of the suite, or one whose data are not here", "no actions in the log"]),
        (lambda row: row | {"card": "0" * 64}, ["made in vcgym/Call-v1 on data 000000000000; here they are vcgym/Call-v1 and "]),
    ],
)
def test_a_log_that_is_not_of_the_suite_is_named(board, known, tmp_path, edit, said):
    verdicts = altered(board, tmp_path, ACTIONS, "actions.parquet", edit)
    found = sorted(verdict.said for verdict in verdicts)
    assert len(found) == len(said) and all(one.startswith(start) for one, start in zip(found, sorted(said), strict=True)), found


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"rule": "oracle_joint_6"}, "rule of the log is 'oracle_joint_6' beside ('level',); allowed: a system over paths"),
        ({"level": []}, "rule of the log is 'DRT-WM' beside (); allowed: "),
        ({"path": [0] * 21}, "rule of the log is 'DRT-WM' beside ('path', 'level'); allowed: "),
        ({"rule": ""}, "path of the log is not 21 integers"),
    ],
)
def test_a_log_of_one_control_that_names_no_fitting_rule_is_named(board, known, tmp_path, edit, said):
    (verdict,) = altered(board, tmp_path, ACTIONS, "actions.parquet", lambda row: row | edit, "tiny recurrent")
    assert verdict.said.startswith(said)


def test_a_row_left_out_of_the_results_is_named(board, known, tmp_path):
    (verdict,) = altered(board, tmp_path, RESULTS, "results.parquet", lambda row: None)
    assert verdict.said == "no row of results"


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """A board of agents that log nothing: a pair that ships, an agent that ships under a name of one's own, and one that is not known."""
    folder = tmp_path_factory.mktemp("silent")
    pair, mine = load_systems(["learned"])["learned"], shipped_agent("mine", "DQN-Call-v1", SUITE)
    agents = {"learned": pair, "mine": mine, "gone": mine}
    run_suite(SUITE, prepare(SUITE), {**load_systems(["DRT-WM"]), **agents}, folder, lambda done, note: None)
    assert read(ACTIONS, folder / "actions.parquet").num_rows == 0
    return folder, mine


def test_agents_that_log_nothing_are_played_again_or_named_as_not_verified(silent, known):
    folder, mine = silent
    verdicts = verify(folder, lambda done, name: None, known={"mine": mine})
    found = {name: [one for one in verdicts if one.system == name] for name in ("learned", "mine", "gone")}
    assert {len(of_agent) for of_agent in found.values()} == {len(read_rows(folder)) // 4} and len(verdicts) == 3 * len(found["mine"])
    assert all(one.equal and one.checked and not one.said for name in ("learned", "mine") for one in found[name])
    assert not any(one.equal or one.checked for one in found["gone"])
    assert {one.said for one in found["gone"]} == {UNKNOWN}


def test_the_command_counts_the_rows_of_rules_that_have_no_actions(silent, known, capsys):
    folder, _ = silent
    assert verify_board(LeaderboardConfig(folder=folder, train=None)) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "rules" in line]
    assert line.startswith(f"not verified: {len(read_rows(folder)) // 4} results of 1 rules, which log no actions; ")
    assert "; the command of the run with folder=NEW plays the same worlds with the same seeds again, " in line


def test_a_false_claim_of_an_agent_that_logs_nothing_is_named(silent, known, tmp_path):
    folder, mine = silent
    rows = read_rows(folder)
    changed = next(number for number, row in enumerate(rows) if row["system"] == "mine")
    rows[changed] |= {"r": rows[changed]["r"] + 1e-6}
    write(RESULTS, rows, tmp_path / "results.parquet")
    shutil.copy(folder / "actions.parquet", tmp_path / "actions.parquet")
    (verdict,) = [one for one in verify(tmp_path, lambda done, name: None, known={"mine": mine}) if one.checked and not one.equal]
    assert (verdict.system, verdict.said) == ("mine", "r")


def test_a_suite_that_is_not_known_is_refused(board):
    with pytest.raises(ValueError, match=r"actions.parquet is of suites .*'submitted', 'v0', 205.*; allowed: one of"):
        check(board)


def test_a_submitted_agent_stays_on_the_board(known, tmp_path, capsys):
    given = {"train": None, "systems": ["DRT-WM"], "folder": tmp_path / "board"}
    submit(SubmitConfig(submission=ONNX, **given).model_copy(update={"suite": SUITE.name}))
    assert capsys.readouterr().out.startswith("Taken: tiny onnx\n")
    play_suite(LeaderboardConfig(**given).model_copy(update={"suite": SUITE.name}))
    assert {row["system"] for row in read_rows(tmp_path / "board")} == {"DRT-WM", "tiny onnx"}
    assert "tiny onnx" in (tmp_path / "board" / "report.html").read_text()


class Failing:
    """An agent that fails at its tenth decision, as one may that passed its trial."""

    reads = "features"

    def __init__(self):
        self.decisions = 0

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        self.decisions += 1
        if self.decisions == 10:
            raise FloatingPointError("worn out")
        return np.zeros((len(observation), 2), np.int64), state


def load_failing(files):
    return Failing()


def load_nothing(files):
    raise ValueError("nothing to load")


def test_an_agent_that_fails_in_play_is_left_out_and_named_and_ends_no_run(tmp_path):
    parts, rules = prepare(SUITE), load_systems(["DRT-WM", "VCR-WM"])
    loads = {"failing": load_failing, "empty": load_nothing}
    agents = {name: PublishedAgent(load, (), arguments=tuple(LOGGED_FORM.items())) for name, load in loads.items()}
    notes = []
    refused = {"torn": "is refused: card.json"}
    run_suite(SUITE, parts, {**rules, **agents}, tmp_path, lambda done, note: notes.append(note), left_out=refused)
    assert {row["system"] for row in read_rows(tmp_path)} == {"DRT-WM", "VCR-WM"}
    assert remarks(tmp_path) == [
        "Left out: empty, which cannot be loaded: ValueError 'nothing to load'.",
        "Left out: failing, which failed in play: FloatingPointError 'worn out'.",
        "Left out: torn, which is refused: card.json.",
    ]
    assert "Left out: failing, which failed in play" in (tmp_path / "leaderboard.md").read_text()
    assert "Left out: failing, which failed in play" in (tmp_path / "report.html").read_text()
    run_suite(SUITE, parts, rules, tmp_path, lambda done, note: None)
    assert remarks(tmp_path) == []
