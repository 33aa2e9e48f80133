"""Each page is found: users' pages in the site's navigation, the laboratory's notes in their index."""

import re
from pathlib import Path

HOME = Path(__file__).parents[3]
ENTRY = re.compile(r"^ +- [^:\n]+: *(\S+)$", re.MULTILINE)
NOT_FOR_USERS = {"notes/README.md", "changelog.md"}
OUTSIDE = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
NAVIGATION = (HOME / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
LISTED = [OUTSIDE.get(file, f"docs/{file}") for file in ENTRY.findall(NAVIGATION) if file not in NOT_FOR_USERS]


def test_the_navigation_lists_every_page_once():
    there = {path.relative_to(HOME).as_posix() for path in (HOME / "docs").rglob("*.md")}
    assert sorted(LISTED) == sorted(there | set(OUTSIDE.values()))


def test_the_index_of_the_laboratory_lists_every_note():
    notes = {path.name for path in (HOME / "lab" / "notes").glob("*.md")} - {"README.md"}
    index = (HOME / "lab" / "notes" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([a-z_]+\.md)(?:#[\w-]+)?\) \|", index)) == notes
