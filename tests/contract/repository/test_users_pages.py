"""Users' pages are few and short: those that the navigation of the site lists; the laboratory's notes are apart."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
REFERENCE = "docs/reference"
"""One page of the navigation: made from the code, so its tables are as long as the code says."""
ENTRY = re.compile(r"^ +- ([^:\n]+): *(\S*)$", re.MULTILINE)
OUTSIDE = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
NOT_FOR_USERS = {"Laboratory", "Changes"}
TOP, BELOW = re.compile(r"^  - ([^:]+):", re.MULTILINE), re.compile(r"^      - ", re.MULTILINE)
NAVIGATION = (HOME / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
LISTED = [OUTSIDE.get(file, f"docs/{file}") for name, file in ENTRY.findall(NAVIGATION) if file and name not in NOT_FOR_USERS]
WRITTEN = [page for page in LISTED if not page.startswith(f"{REFERENCE}/")]
MOST_PAGES, MOST_WORDS, MOST_WORDS_OF_README = 12, 25_000, 900
MOST_ROWS, MOST_COLUMNS, LONGEST_LINE = 10, 6, 200
TABLE = re.compile(r"(?:^ *\|.*\n)+", re.MULTILINE)
CODE = re.compile(r"^ *```.*?^ *```$|^    .*$", re.MULTILINE | re.DOTALL)


def read(page):
    return (HOME / page).read_text(encoding="utf-8")


def words(page):
    return len(read(page).split())


def tables(text):
    """Yield rows without headings, and columns, of each table."""
    for table in TABLE.findall(CODE.sub("", text)):
        lines = [line.strip().removesuffix("|") for line in table.splitlines()]
        yield len(lines) - 2, max(len(re.findall(r"(?<!\\)\|", line)) for line in lines)


def test_the_navigation_lists_every_page_once():
    there = {path.relative_to(HOME).as_posix() for path in (HOME / "docs").rglob("*.md")}
    assert sorted(LISTED) == sorted(there | set(OUTSIDE.values()))


def test_there_are_at_most_twelve_pages():
    pages = [name for name in TOP.findall(NAVIGATION) if name not in NOT_FOR_USERS]
    assert len(pages) == len(WRITTEN) + 1 <= MOST_PAGES, pages


def test_the_pages_have_few_words():
    counts = {page: words(page) for page in LISTED}
    assert sum(count for page, count in counts.items() if page != "CONTRIBUTING.md") <= MOST_WORDS, counts
    assert counts["README.md"] <= MOST_WORDS_OF_README


@pytest.mark.parametrize("page", WRITTEN)
def test_tables_can_be_read_at_a_glance(page):
    found = list(tables(read(page)))
    assert max((rows for rows, _ in found), default=0) <= MOST_ROWS and max((columns for _, columns in found), default=0) <= MOST_COLUMNS


@pytest.mark.parametrize("page", WRITTEN)
def test_lines_of_prose_are_short(page):
    prose = CODE.sub("", read(page)).splitlines()
    long = [line[:80] for line in prose if len(line) > LONGEST_LINE and not line.startswith(("|", "![", "<!--"))]
    assert not long


def test_tables_are_counted():
    assert list(tables("| a | b |\n|---|---|\n| 1 \\| 2 | 3 |\n| 4 | 5 |\n\n    | code |\n")) == [(2, 2)]


def test_the_index_of_the_laboratory_lists_every_note():
    notes = {path.name for path in (HOME / "lab" / "notes").glob("*.md")} - {"README.md"}
    listed = re.findall(r"\]\(([a-z_]+\.md)(?:#[\w-]+)?\) \|", read("lab/notes/README.md"))
    assert set(listed) == notes
