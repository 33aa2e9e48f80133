"""Pictures of papers: every statement once and in its place, states over settings, pages that need nothing else."""

import pytest

from lab.papers.applications import statements as applications
from lab.papers.arithmetic import arithmetic_rows
from lab.papers.conferences import statements as conferences
from lab.papers.picture.layout import PAPERS, by_source, of_paper, tables
from lab.papers.picture.page import write_pictures
from lab.papers.senders import statements as senders
from lab.papers.vcroute import statements as vcroute
from lab.papers.verdicts import verdict_row
from vcgym.leaderboard.statistics import Estimate

REGISTERS = (vcroute, senders, conferences, applications)
STATEMENTS = [one for register in REGISTERS for one in register.load_statements() if vcroute.LATE_LEARNS not in one.id]
NOTHING = Estimate(*[float("nan")] * 3)


def rows(statement, *verdicts):
    """A row per setting."""
    return [
        verdict_row(statement, f"setting {i}", NOTHING, "", is_input=is_input, cannot=(verdict, "a reason")) | {"cause": cause}
        for i, (verdict, cause, is_input) in enumerate(verdicts)
    ]


def pages(folder, statements, verdicts, checks=()):
    done = [row for one in statements for row in rows(one, *verdicts)] + arithmetic_rows(checks)
    return {path.name.split("_")[0]: path for path in write_pictures(folder, statements, done)}


def test_every_statement_is_in_one_place():
    seen = []
    for paper in PAPERS:
        mine = of_paper(paper, [one.id for one in STATEMENTS])
        of_mine = [one for one in STATEMENTS if one.id in mine]
        in_tables = [one.id for table in tables(paper, of_mine) for _, cells in table.rows for cell in cells for one in cell]
        seen += in_tables + [one.id for found in by_source(paper, of_mine).values() for one in found]
        assert len(tables(paper, of_mine)) == len(paper.grids)
    assert sorted(seen) == sorted(one.id for one in STATEMENTS)


def test_table_i_is_laid_out_as_printed():
    table = tables(PAPERS[0], [one for one in STATEMENTS if one.source == "Table I"])[0]
    assert table.columns == ["Shanghai", "Guangzhou", "Tokyo", "Moscow"]
    name, cells = table.rows[2]
    assert (name, [one.published for one in cells[3]]) == ("Tokyo", ["153 ms", "0.02 %"])
    assert cells[2] == []


@pytest.mark.parametrize(
    ("verdicts", "sign"),
    [
        ([("reproduced", "", False)] * 2, "✓"),
        ([("reproduced", "", False), ("cannot", "", False)], "✓"),
        ([("reproduced", "", False), ("not", "", False)], "◐"),
        ([("not", "world", False)] * 2, "✗"),
        ([("not", "world", False), ("not", "", False)], "✗✗"),
        ([("cannot", "", False)], "?"),
        ([("reproduced", "", True)], "="),
        ([("calibrated", "", True), ("not", "world", True)], "◐"),
    ],
)
def test_a_number_has_one_state_over_all_settings(tmp_path, verdicts, sign):
    one = next(one for one in STATEMENTS if one.id == "S2-overhead")
    page = pages(tmp_path, [one], verdicts)["celerity"]
    assert f": {one.published} {sign}\n" in page.with_suffix(".md").read_text()


def test_a_page_for_each_paper_with_its_contradictions(tmp_path):
    verdicts = [("not", "world", False), ("reproduced", "", False)]
    written = {}
    for register in REGISTERS:
        known = [one for one in register.load_statements() if vcroute.LATE_LEARNS not in one.id]
        written |= pages(tmp_path, known, verdicts, register.load_arithmetic())
    assert set(written) == {paper.name for paper in PAPERS}
    text = written["vcroute"].read_text()
    assert text.count('<span class="number') == sum(one.id[:2] not in ("S1", "S2", "S3", "S4") for one in STATEMENTS)
    assert all(paper.settings.split("'")[0] in written[paper.name].read_text() for paper in PAPERS)
    assert "<h2>section 6.1</h2>" in written["celerity"].read_text()
    assert "100 * 9.1 / 796 = 1.143 [1.136, 1.15] %; printed: under 1 %" in text
    assert "setting 0: not; a reason. Cause: world." in text
    assert "contradicts itself" not in written["gcc"].read_text()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_cause_appears_and_nothing_sticks_out(tmp_path, visit, width):
    known = [one for one in vcroute.load_statements() if vcroute.LATE_LEARNS not in one.id]
    page = visit(pages(tmp_path / "pages", known, [("not", "world", False)], vcroute.load_arithmetic())["vcroute"])
    page.set_viewport_size({"width": width, "height": 900})
    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        number = page.locator(".number").nth(40)
        assert not number.locator(".tip").is_visible()
        number.focus()
        assert "Cause: world." in number.locator(".tip").inner_text()
        number.blur()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
        assert paper != ink
