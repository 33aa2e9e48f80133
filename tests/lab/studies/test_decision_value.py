"""A tiny page of the decision value: every reward in every kind has a line, and the claims follow from the numbers."""

import pytest

from lab.studies.decision_value import command as run
from lab.studies.decision_value.drift import Drift
from lab.studies.decision_value.outcomes import PARTS, label
from lab.studies.decision_value.page import _verdict
from lab.studies.decision_value.participants import BASIS, KINDS, REFERENCE, REWARDS
from vcgym.leaderboard.statistics import Estimate

pytestmark = pytest.mark.long  # plays, or trains

PART = next(part for part in PARTS if label(part) == "wonderproxy, correlated")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder, told = tmp_path_factory.mktemp("decision_value"), []
    patched = pytest.MonkeyPatch()
    patched.setattr(run, "parts", lambda with_series: [PART])
    patched.setattr(run, "drifts", lambda with_series: [Drift("stress", "correlated", "congestion")])

    def tell(done, note):
        told.append(done)

    pages = [run.write_decision_value(False, 1, 1, 400, threads, folder / str(threads), tell) for threads in (1, 2)]
    steps = run.steps(False)
    patched.undo()
    assert told == 2 * list(range(steps + 1))
    return [page.read_text() for page in pages]


def cells(text, heading):
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(heading))
    rows = lines[begin:]
    first = next(n for n, line in enumerate(rows) if line.startswith("| ")) + 2
    last = next((n for n, line in enumerate(rows[first:], first) if not line.startswith("| ")), len(rows))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows[first:last]]


def test_threads_change_nothing(written):
    assert written[0] == written[1]


def test_every_reward_has_its_line_in_every_kind(written):
    names = [reward.name for reward in REWARDS]
    assert [row[:2] for row in cells(written[0], "## Does prediction matter?")] == [[kind, name] for kind in KINDS for name in names[1:]]
    for kind in KINDS:
        rows = cells(written[0], f"## {kind} in {label(PART)} (10 worlds)")
        assert [row[0] for row in rows] == names
        for row in rows:
            assert row[4].split(" ")[0] in ({""} if row[0] == BASIS else {"better", "tied", "worse"})
            assert ("[" in row[1]) == (row[0] != REFERENCE)


def test_regret_is_the_difference_of_what_stands_there(written):
    for kind in KINDS:
        rows = {row[0]: row for row in cells(written[0], f"## {kind} in")}
        for name, row in rows.items():
            if name != REFERENCE:
                for column, sign in ((1, 1.0), (2, 1.0), (3, -1.0)):
                    mean, regret = map(float, row[column].split(" ")[:2])
                    assert regret == pytest.approx(sign * (mean - float(rows[REFERENCE][column])), abs=0.11)


def test_the_drift_shows_its_gain(written):
    (row,) = cells(written[0], "## Drift")
    assert row[0] == "stress, correlated, congestion" and len(row) == 7
    assert float(row[3].split(" ")[0]) == pytest.approx(float(row[2]) - float(row[1]), abs=0.11)


def test_a_word_follows_from_the_interval():
    assert _verdict(Estimate(1.0, 0.1, 2.0)) == "better +1.00 [+0.10, +2.00]"
    assert _verdict(Estimate(-1.0, -2.0, -0.1)).startswith("worse")
    assert _verdict(Estimate(0.0, 0.0, 0.0)).startswith("tied")
    assert _verdict(Estimate(float("nan"), float("nan"), float("nan"))).startswith("tied")


def test_replay_is_played_only_where_there_are_series():
    assert {part.mode for part in run.parts(False)} == {"paper", "correlated"}
    assert {part.mode for part in run.parts(True)} == {"paper", "correlated", "replay"}
    assert len(run.drifts(True)) == len(run.drifts(False)) + 1
