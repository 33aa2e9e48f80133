"""The report page in a browser: it opens alone, sorts, filters, draws sessions, and fits wide and narrow screens."""

import shutil

import pytest
from small_board import MODES, SYSTEMS, write_board

from vcgym.leaderboard.report.publish import publish_together
from vcgym.leaderboard.results.files import RESULTS, read, write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_board(tmp_path_factory.mktemp("leaderboard"))


def names(page, mode):
    """Systems of the table of a mode, as shown."""
    rows = page.locator(f"#mode-{mode} table.board tbody:not([hidden]) tr:not([hidden]) th")
    return rows.evaluate_all("cells => cells.map(cell => cell.dataset.value)")


FOLDED = [name for name in SYSTEMS if name not in ("DRT-WM", "VCR-WM", "VIA-WM")]


def test_the_page_opens_alone_with_all_rows_and_sorts(folder, visit):
    page = visit(folder / "report.html")
    for mode in MODES:
        assert names(page, mode) == FOLDED
        page.locator(f"#mode-{mode} tr[data-family=DRT] button.more").first.click()
        assert names(page, mode) == [name for name in SYSTEMS if name in (*FOLDED, "DRT-WM")]
    page.locator("[name=all]").check()
    for mode in MODES:
        assert names(page, mode) == SYSTEMS
        assert page.locator(f"#mode-{mode} .board tbody:not([hidden]) svg.interval circle").count() == len(SYSTEMS)
        assert page.locator(f"#mode-{mode} .board tbody:not([hidden]) tr.agent").count() == 1
        assert page.locator(f"#mode-{mode} .curves > svg").count() == 5
        assert page.locator(f"#mode-{mode} .legend li").all_inner_texts()[-1] == f"{len(SYSTEMS) - 8} more"
        head = page.locator(f"#mode-{mode} table.board thead button").get_by_text("R", exact=True)
        for wanted in (SYSTEMS[::-1], SYSTEMS):  # ascending in R first, then descending
            head.click()
            assert names(page, mode) == wanted
    assert page.locator("#cards article").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_filters_by_mode_kind_name_and_stratum(folder, visit):
    page = visit(folder / "report.html")
    page.select_option("[name=mode]", "paper")
    assert page.locator("section.mode:visible").evaluate_all("all => all.map(one => one.id)") == ["mode-paper"]
    page.select_option("[name=mode]", "")
    page.select_option("[name=kind]", "agent")
    assert names(page, "paper") == names(page, "correlated") == ["PPO Call <one>"]
    page.select_option("[name=kind]", "")
    page.locator("[name=find]").fill("vcr")
    assert names(page, "paper") == ["VCR-BF", "VCR-WM", "vcroute@10-WM"]
    page.locator("[name=find]").fill("")
    cell = "#mode-paper tbody:not([hidden]) tr:first-child td:nth-child(6)"
    assert page.locator(cell).first.inner_text() == "85.25"
    page.select_option("#mode-paper .stratum", "quiet")
    assert page.locator(cell).first.inner_text() == "85.30"
    assert names(page, "paper") == FOLDED
    assert page.locator("#mode-correlated tbody:not([hidden])").first.get_attribute("data-stratum") == "all"


def test_a_session_opens_with_its_path_changes_and_systems_come_and_go(folder, visit):
    page = visit(folder / "report.html")
    section = page.locator("#mode-paper")
    section.locator(".which").select_option(index=1)
    figure = section.locator("figure.session")
    assert figure.locator("svg.chart").get_attribute("aria-label").startswith("places, A>B0, user-node, seed 0")
    first = section.locator("fieldset input").evaluate_all("all => all.filter(one => one.checked).map(one => one.value)")
    assert len(first) == figure.locator(".summary li").count() > 2
    changes = 3 * sum(SYSTEMS.index(name) > 0 for name in first)  # three changes in two hundred bins, of all but the first system
    assert figure.locator(".change").count() == changes
    assert "3 path changes, 90 packets missing" in figure.locator(".summary li").last.inner_text()
    curves_before = section.locator(".panels figure").first.locator("polyline").count()
    section.locator(f'fieldset input[value="{first[-1]}"]').press("Space")  # by keyboard
    assert figure.locator(".summary li").count() == len(first) - 1
    assert section.locator(".panels figure").first.locator("polyline").count() == curves_before - 1


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_sticks_out_on_a_wide_and_a_narrow_screen(folder, visit, width):
    page = visit(folder / "report.html")
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("details.pairs-of").first.locator("summary").press("Enter")
    assert page.locator("table.pairs").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for colours in ("light", "dark"):
        page.emulate_media(color_scheme=colours)
        paper, ink = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
        assert paper != ink
    page.emulate_media(media="print")
    assert not page.locator("#filters").is_visible()
    assert page.locator("table.board").first.is_visible()
    page.set_viewport_size({"width": 1496, "height": 900})  # A3 landscape within its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 1496


def test_several_suites_stand_on_one_page(folder, visit, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other")
    rows = read(RESULTS, folder / "results.parquet").to_pylist()
    write(RESULTS, [row | {"suite": "other"} for row in rows], other / "results.parquet")
    publish_together([folder, other], tmp_path / "all.html")
    page = visit(tmp_path / "all.html")
    assert page.locator("section.mode").count() == 2 * len(MODES)
    page.select_option("[name=suite]", "other 1")
    shown = page.locator("section.mode:visible").evaluate_all("all => all.map(one => one.id)")
    assert shown == [f"mode-other-1-{mode}" for mode in MODES]
