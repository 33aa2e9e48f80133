"""Causes of verdicts: which evidence counts first, shares, and experiments that change one setting."""

import pytest

from lab.papers.arithmetic import Arithmetic
from lab.papers.causes import SHARES, Experiment, causes_table, first_that_holds, never_held, shares_table, with_causes
from lab.papers.judge import CANNOT, REPRODUCED
from lab.papers.senders import reproduce as senders
from lab.papers.senders.statements import load_statements as load_sending
from lab.papers.statements import Statement
from lab.papers.vcroute.statements import LATE_LEARNS, load_arithmetic, load_experiments, load_statements
from lab.papers.verdicts import VERDICTS, verdict_row
from vcgym.leaderboard.results.files import write
from vcgym.leaderboard.statistics import Estimate

pytestmark = pytest.mark.long  # compiles loops that no other quick test needs

EXACT = Estimate(5.0, 5.0, 5.0)


def statement(name="a", published="at most 4 ms", rule="at most", accepted=(0.0, 4.0), **more):
    return Statement(id=name, source="here", kind="X", text=f"text of {name}", published=published, rule=rule, accepted=accepted, **more)


def row(name="a", ours=EXACT, mode="paper", accounting="event", **more):
    return verdict_row(statement(name, **more), mode, ours, "ms", accounting=accounting)


def explained(rows, statements=None, checks=(), experiments=()):
    """Cause and experiment of the first row."""
    first = with_causes(rows, statements or [statement()], checks, experiments)[0]
    return first["cause"], first["experiment"]


HELD = Estimate(3.0, 3.0, 3.0)
WORLD = Experiment(statement="a", causes=("world",), changed="half the delay", found="reproduced, 2 ms")
TRIED = Experiment(statement="a", causes=("out of reach",), changed="2 changes", found="5 ms to 6 ms")
CHECK = Arithmetic(
    id="sum", source="here", text="the sum", published="4", numbers={"one": "3"}, formula="one + 2", accepted=(3.5, 4.4), about=("a",)
)


def test_without_evidence_there_is_no_cause():
    assert explained([row()]) == ("", "")
    held = with_causes([row(ours=HELD)], [statement()], [CHECK], [WORLD])
    assert (held[0]["verdict"], held[0]["cause"]) == (REPRODUCED, "")


def test_the_first_evidence_counts():
    other, clocked = row(ours=HELD, mode="correlated"), row(ours=HELD, accounting="clocked")
    assert explained([row()], experiments=[TRIED]) == ("out of reach", "2 changes: 5 ms to 6 ms")
    assert explained([row(), other], experiments=[TRIED]) == ("world", "reproduced in correlated: 3 ms")
    assert explained([row(), other, clocked]) == ("accounting", "reproduced in clocked accounting: 3 ms")
    shown = "the sum: 3 + 2 = 5 [4.5, 5.5], printed 4"
    assert explained([row(), other, clocked], checks=[CHECK]) == ("contradiction within the paper", shown)
    assert explained([row(), other], checks=[CHECK], experiments=[WORLD]) == ("world", "half the delay: reproduced, 2 ms")
    assert explained([row()], checks=[CHECK.model_copy(update={"accepted": (3.5, 5.0)})]) == ("", "")  # a check that agrees


@pytest.mark.parametrize(("high", "cause"), [(4.4, "rounding"), (4.6, "")])
def test_a_bound_is_met_within_half_a_printed_unit(high, cause):
    assert explained([row(ours=Estimate(4.2, 4.1, high))])[0] == cause


def test_another_reading_is_a_cause():
    both = [statement("a", other_readings=("b",)), statement("b", other_readings=("a",))]
    assert explained([row(), row("b", ours=HELD)], both) == ("reading", "reproduced as text of b: 3 ms")
    cause, shown = explained([row(), row("b", ours=HELD, mode="correlated")], both)
    assert (cause, shown) == ("world and reading", "in correlated reproduced as text of b: 3 ms")


def test_the_nearest_setting_is_named():
    rows = [row(mode="2"), row(ours=HELD, mode="0"), row(mode="1"), row(ours=HELD, mode="4"), row(mode="3")]
    shown = [found["experiment"] for found in with_causes(rows, [statement()], (), ())]
    assert shown[2] == "reproduced in 0: 3 ms"
    assert shown[4] == "reproduced in 4: 3 ms"


def test_experiments_of_vcroute_are_about_its_statements_each_once():
    named = [one.statement for one in load_experiments()]
    assert len(named) == len(set(named)) > 100 and set(named) <= {one.id for one in load_statements()}


def test_shares_and_tables(tmp_path):
    rows = [row(), row("b"), row("c", ours=HELD), row("d", ours=Estimate(*[float("nan")] * 3)), row("a", mode="replay")]
    done = with_causes(rows, [statement(name) for name in "abcd"], (), [WORLD])
    write(VERDICTS, done, tmp_path / "verdicts.parquet")
    assert shares_table(done, lambda one: "all").splitlines()[2] == "| all | 1 | 2 | 1 | 1 | 25 % | 75 % |"
    assert SHARES == (REPRODUCED, "not, cause shown", "not, without", CANNOT)
    lines = causes_table(done).splitlines()[2:]
    assert lines[0] == "| text of a | at most 4 ms | paper; replay | world | half the delay: reproduced, 2 ms |"
    assert lines[1].endswith("| none | no experiment shows it |")
    assert never_held(rows) == {"a", "b"}
    assert never_held([*rows, row("a", ours=HELD, mode="correlated")]) == {"b"}


def test_the_first_change_that_holds_ends_the_search():
    values = iter([("world", "one", EXACT), ("reading", "two", HELD), ("world", "three", None)])
    assert first_that_holds(statement(), "ms", values) == Experiment(
        statement="a", causes=("reading",), changed="two", found="reproduced, 3 ms"
    )
    assert next(values)[1] == "three"
    missed = first_that_holds(statement(), "ms", [("world", "one", EXACT), ("world", "two", Estimate(6.0, 5.5, 6.5))])
    assert (missed.causes, missed.changed, missed.found) == (("out of reach",), "2 changes, from one to two", "5 ms to 6 ms")


def test_other_settings_of_a_sender_are_tried():
    late = next(one for one in load_sending() if one.id == "S1-late-unmod-video")
    tcp = {
        ("1 Mbit/s", kind, sender): [{"video_late": share + step} for step in (0.0, 0.01)]
        for kind, gain in (("rtt80-q5", 0.0), ("rtt30-q5", 0.0), ("rtt80-q32", 0.3))
        for sender, share in (("UNMOD", 0.2 + gain), ("SBPN2", 0.2))
    }
    (found,) = senders.experiments([late], tcp, {})
    assert (found.causes, found.changed) == (("world",), "rtt80-q32, 1 Mbit/s")


def test_readings_name_each_other():
    for statements in (load_sending(), load_statements()):
        by_id = {one.id: one for one in statements}
        for one in statements:
            assert all(one.id in by_id[other].other_readings for other in one.other_readings)
    checks = {check.id: check.about for check in load_arithmetic()}
    assert checks["sum-least-delay"] == ("VI-C1-median-LT", f"VI-C1-median-LT{LATE_LEARNS}", "VI-predictor-low")
