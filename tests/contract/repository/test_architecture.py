"""docs/architecture.md and docs/glossary.md name only existing things."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
PLACE = re.compile(r"`([a-z_0-9/]+\.py):(\w+)`")
PLACES = sorted({found for page in ("architecture", "glossary") for found in PLACE.findall((HOME / "docs" / f"{page}.md").read_text())})
ROWS = re.findall(r"^\| ([a-z_ ,]+) \| .+ \| `[^|]+` \|$", (HOME / "docs" / "glossary.md").read_text(), re.MULTILINE)
TERMS = [term.strip() for row in ROWS if row != "term" for term in row.split(",")]
ROOMS = ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard")


def test_the_pages_name_many_places():
    assert len(PLACES) > 60 and len(TERMS) > 45


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_each_named_place_exists(file, name):
    assert re.search(rf"^(?:def|class) {name}\b|^{name}\b.* = ", (HOME / file).read_text(), re.MULTILINE), f"{file} has no {name}"


def test_each_term_is_used():
    code = "\n".join(path.read_text().lower() for room in ROOMS for path in (HOME / room).rglob("*.py"))
    unused = [term for term in TERMS if not re.search(rf"(?<![a-z]){re.sub('[ _]', '[ _-]', term)}", code)]
    assert not unused


def test_readme_points_to_both_pages():
    readme = (HOME / "README.md").read_text()
    assert "docs/architecture.md" in readme and "docs/glossary.md" in readme
