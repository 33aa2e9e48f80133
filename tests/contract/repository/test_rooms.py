"""lab/notes/rooms.md shows the imports within each room; they have no cycles.

``python tests/contract/repository/test_rooms.py`` regenerates the page.
"""

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOMS = ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard", "scripts")
HOME = Path(__file__).parents[3]
PAGE = HOME / "lab" / "notes" / "rooms.md"
HEAD = """# Rooms

An arrow points from the importing part to the imported part. Imports run one way within a room too, so there are no cycles. Parts without
imports from or to other parts of their room are omitted.
`tests/contract/repository/test_rooms.py` writes this page.
"""


def imports_within(graph, root):
    """Return, for each part of a room, the other parts that it imports."""
    parts = sorted(graph.find_children(root))
    owner = {module: part for part in parts for module in (part, *graph.find_descendants(part))}
    found = {part: set() for part in parts}
    for module, part in owner.items():
        found[part] |= {owner[there] for there in graph.find_modules_directly_imported_by(module) if there in owner}
    return {part: there - {part} for part, there in found.items()}


def whole_graph():
    """Return the import graph of the whole package."""
    return grimp.build_graph("vcgym", cache_dir=None)


def picture(title, imports):
    """Return one room as Mermaid: parts by name, arrows in order."""
    drawn = {part for part, there in imports.items() if there} | {part for there in imports.values() for part in there}
    short = {part: part.rsplit(".", 1)[1] for part in drawn}
    arrows = [f"    {short[part]} --> {short[there]}" for part in sorted(drawn) for there in sorted(imports[part])]
    return "\n".join([f"## {title}", "", "```mermaid", "flowchart TD", *arrows, "```", ""])


def page(graph):
    """Return the page: the rooms, then the inside of each."""
    owner = {f"vcgym.{room}": f"vcgym.{room}" for room in ROOMS}
    between = {
        room: {
            there
            for module in (room, *graph.find_descendants(room))
            for imported in graph.find_modules_directly_imported_by(module)
            for there in owner
            if there != room and (imported == there or imported.startswith(f"{there}."))
        }
        for room in owner
    }
    return "\n".join([HEAD, picture("vcgym", between), *(picture(room, imports_within(graph, f"vcgym.{room}")) for room in ROOMS)])


@pytest.fixture(scope="module")
def graph():
    return whole_graph()


@pytest.mark.parametrize("room", ROOMS)
def test_no_arrow_climbs(graph, room):
    order = list(TopologicalSorter(imports_within(graph, f"vcgym.{room}")).static_order())  # raises CycleError, naming the circle
    assert order


def test_no_two_modules_import_each_other(graph):
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert list(TopologicalSorter(imports).static_order())  # raises CycleError; imports within functions count


def test_the_page_is_of_this_code(graph):
    assert PAGE.read_text(encoding="utf-8") == page(graph), "python tests/contract/repository/test_rooms.py writes lab/notes/rooms.md anew"


if __name__ == "__main__":
    PAGE.write_text(page(whole_graph()), encoding="utf-8")
