"""The ladder that ships is that of the shipped references, in the file and on the page; its steps are in order."""

import numpy as np

from lab.shipped.board import HOME, marked
from lab.shipped.ladder import PAGE, block, csv_text, kinds_of, rungs
from vcgym.leaderboard.report.ladder import ALL, ladder_path, ladder_tables, read_ladder
from vcgym.scripts.zoo.runs import ROLES, read_references, references_path

SHIPPED = list(rungs(read_references(references_path())))


def test_file_and_page_are_those_of_the_references():
    assert ladder_path().read_text(encoding="utf-8") == csv_text(SHIPPED)
    assert marked("ladder", block(SHIPPED)) in (HOME / PAGE).read_text(encoding="utf-8")


def test_kinds_share_all_worlds():
    for rung in SHIPPED:
        kinds = [one for one in SHIPPED if one[:3:2] == rung[:3:2] and one.kind != ALL]
        if rung.kind == ALL:
            assert rung.worlds == sum(one.worlds for one in kinds) == len(kinds_of(rung.env, rung.worlds))
            np.testing.assert_allclose(rung.mean, sum(one.worlds * one.mean for one in kinds) / rung.worlds)
        assert not rung.low > rung.above and not rung.high < rung.above
        zero = next(one for one in SHIPPED if one[:2] == rung[:2] and one.role == "published")
        np.testing.assert_allclose(rung.above, rung.mean - zero.mean, atol=1e-9)


def test_more_foresight_never_hurts_and_no_told_controller_passes_hindsight():
    every = {(rung.env, rung.role): rung.mean for rung in SHIPPED if rung.kind == ALL}
    for env in dict.fromkeys(env for env, _ in every):
        told = [every[env, role] for role in ROLES if role.startswith("told") and (env, role) in every]
        assert told == sorted(told)
        assert all(every[env, "bound"] > one for one in told)


def test_the_page_shows_a_row_for_each_step_and_a_column_for_each_kind():
    (table,) = ladder_tables("vcgym/Rate-v1", 2)
    rate = [rung for rung in read_ladder() if rung.env == "vcgym/Rate-v1"]
    assert table.headings == ["step", *dict.fromkeys(f"{rung.kind} ({rung.worlds})" for rung in rate)]
    assert [row[0].partition(":")[0] for row in table.rows] == list(dict.fromkeys(rung.role for rung in rate))
    assert table.rows[0][1] == f"{rate[0].mean:.2f}"
    tuned = next(rung for rung in rate if rung.role == "tuned")
    assert table.rows[1][1] == f"{tuned.mean:.2f}, {tuned.above:+.2f} [{tuned.low:+.2f}, {tuned.high:+.2f}]"
    assert ladder_tables("", 2) == []
