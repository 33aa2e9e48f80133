"""A small truth table, from worlds to page and picture."""

from xml.etree import ElementTree

import pytest

from lab.papers.truth.command import write_truth
from lab.papers.vcroute.outcomes import settings
from lab.papers.vcroute.statements import SYSTEMS, Change, load_claims
from vcgym.baselines.systems import load_systems

pytestmark = pytest.mark.long  # plays, or trains


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    chosen = [setting for scenario in ("wonderproxy", "synthetic-9") for setting in settings(scenario) if setting.mode != "replay"]
    told = []
    systems = load_systems(list(SYSTEMS))
    page = write_truth(chosen, systems, 1, 600, 2, folder, lambda done, note: told.append(done))
    again = write_truth(chosen, systems, 1, 600, 1, folder / "again", lambda done, note: None)
    assert told == list(range(len(chosen) + 1))
    return page, again


def test_every_claim_has_a_verdict_in_every_world(written):
    lines = written[0].read_text().splitlines()
    for accounting in ("event", "clocked"):
        begin = lines.index(f"### Claims, {accounting}")
        rows = [line.strip("| ").split(" | ") for line in lines[begin + 4 : lines.index("", begin + 4)]]
        claimed = [one for one in load_claims() if isinstance(one.measure, Change) and one.measure.scenario == "wonderproxy"]
        assert len(rows) == len(claimed)
        for claim, cells in zip(claimed, rows, strict=True):
            assert cells[0].startswith(f"{claim.measure.system} {claim.rule}")
            assert len(cells) == 2 + 6
            for cell in cells[2:]:
                assert any(word in cell for word in ("holds", "does not hold", "reversed", "no value"))


def test_only_what_was_played_is_on_the_page(written):
    text = written[0].read_text()
    assert "## WonderProxy" in text
    assert "VCR-WM lower than VIA-BF, mean delay (synthetic-9)" in text
    assert "synthetic-90," not in text
    assert "## Cloud" not in text
    assert text.count("### Rank by") == 3


def test_the_picture_shows_every_system_at_every_correlation_time(written):
    drawing = written[0].with_name("ranking_by_correlation.svg").read_text()
    ElementTree.fromstring(drawing)
    for word in (*SYSTEMS, "1000", "correlation time, ms"):
        assert word in drawing


def test_threads_do_not_show(written):
    page, again = written
    for name in ("truth.md", "ranking_by_correlation.svg"):
        assert page.with_name(name).read_bytes() == again.with_name(name).read_bytes()
