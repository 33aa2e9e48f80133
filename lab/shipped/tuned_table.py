"""The tuned forms on the pages, from data/tuned and data/bars.json: ``python -m lab.shipped.tuned_table``.

The table of `lab/notes/tuning.md` has every study; `docs/rules.md` names the forms that are references everywhere, and the rule for
unknown paths.
"""

from pathlib import Path

from vcgym.baselines.system_files import read_tuned, tuned_names
from vcgym.leaderboard.evaluation.bars import beats_elsewhere, load_bars
from vcgym.leaderboard.report.table import markdown_table

HOME = Path(__file__).parents[2]
BEGIN, END = "<!-- lab/shipped/tuned_table.py writes from here -->\n", "<!-- to here -->\n"


def blocks() -> dict[str, str]:
    """Return what is written into each page."""
    return {"lab/notes/tuning.md": _table(), "docs/rules.md": _sentences()}


def _table() -> str:
    rows = []
    for name in tuned_names():
        found = read_tuned(name).study["left_out"]
        by_kind = next(values for key, values in found.items() if isinstance(values, dict))
        worst = min(by_kind, key=lambda kind: float(by_kind[kind]["difference"]))
        gain = f"{found['gain']:+.2f} [{found['low']:+.2f}, {found['high']:+.2f}]"
        rows.append([name, gain, f"{worst} {by_kind[worst]['difference']:+.2f}", "yes" if found["beats_published"] else "no"])
    return markdown_table(("form", "gain on kinds left out", "worst kind", "beats"), rows, ("form", "worst kind", "beats"))


def _sentences() -> str:
    beating = [name for name in tuned_names() if beats_elsewhere(name)]
    any_kind = load_bars().any_kind
    changed = {group: system for group, system in any_kind.left_out.items() if system != any_kind.system}
    same = ", ".join(f"it is `{system}` without {group}" for group, system in changed.items()) or "the same rule is chosen"
    names, others = ", ".join(f"`{name}`" for name in beating), len(tuned_names()) - len(beating)
    return (
        f"References everywhere: {names}. The other {others} forms are not shown to beat their published constants elsewhere. "
        f"The rule for unknown paths is `{any_kind.system}`; with a group of kinds left out {same}.\n"
    )


def main() -> None:
    """Write the pages."""
    for name, block in blocks().items():
        page = (HOME / name).read_text(encoding="utf-8")
        begin, end = page.index(BEGIN), page.index(END)
        (HOME / name).write_text(f"{page[:begin]}{BEGIN}\n{block}\n{page[end:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
