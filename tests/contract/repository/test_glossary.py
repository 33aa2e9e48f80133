"""Every term of the glossary in docs/concepts.md is a word of the code."""

import re
from pathlib import Path

HOME = Path(__file__).parents[3]
ROWS = re.findall(r"^\| ([a-z_ ,]+) \| .+ \| `[^|]+` \|$", (HOME / "docs" / "concepts.md").read_text(encoding="utf-8"), re.MULTILINE)
TERMS = [term.strip() for row in ROWS if row != "term" for term in row.split(",")]
ROOMS = ("network", "predictors", "baselines", "envs", "agents", "live", "leaderboard", "conference")


def test_each_term_is_used():
    code = "\n".join(path.read_text(encoding="utf-8").lower() for room in ROOMS for path in (HOME / room).rglob("*.py"))
    assert len(TERMS) > 45
    assert [term for term in TERMS if not re.search(rf"(?<![a-z]){re.sub('[ _]', '[ _-]', term)}", code)] == []
