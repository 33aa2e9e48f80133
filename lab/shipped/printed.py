"""Outputs of the commands of users' pages: ``python -m lab.shipped.printed PAGE ...`` follows the section "step by step" of each page.

A line of output in a page, indented by four, stands for the next line that its command prints with the same words, and gets its numbers;
`...` at its end stands for what is left out. Without pages all are followed: minutes, since the trainings have their full length.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(r"^## ([^\n]*step by step[^\n]*)\n(.+?)(?=^## )", re.MULTILINE | re.DOTALL | re.IGNORECASE)
STEP = re.compile(r'^```(python|sh|toml)(?: title="([\w.]+)")?\n(.+?)^```|((?:^    [^\n]+\n)+)', re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
_FRAME = re.compile(r"[\u2500-\u257f]")  # of tables


def sections() -> dict[str, str]:
    """Return the section of each page that has one."""
    found = {page.stem: SECTION.findall(page.read_text(encoding="utf-8")) for page in sorted(DOCS.glob("*.md"))}
    return {page: body for page, of_page in found.items() for _, body in of_page}


def follow(section: str, home: Path, changed: Callable[[str], str] = str) -> tuple[str, str]:
    """Write each file and run each command of a section in `home`; return the section with the numbers that were printed, and all output.

    Args:
        section: text of the section.
        home: folder in which a user would type.
        changed: returns what is run in place of a command.

    Raises:
        RuntimeError: a command failed.
        ValueError: a line of output was not printed.
    """
    (home / ".venv").symlink_to(sys.prefix)
    known = {name: value for name, value in os.environ.items() if name not in ("VCGYM_DATA", "MLFLOW_TRACKING_URI")}
    printed, output = "", ""

    def step(found: re.Match[str]) -> str:
        nonlocal printed, output
        kind, name, content, shown = found.groups()
        if shown:
            return "".join(f"    {line}\n" for line in as_printed(shown.splitlines(), printed.splitlines())) if printed else shown
        if kind != "sh":
            (home / name).write_text(content, encoding="utf-8")
            return found[0]
        command = changed(content)
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=home, env=known | {"COLUMNS": "200"}, capture_output=True, text=True, check=False
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command}{done.stdout[-2000:]}{done.stderr[-2000:]}")
        printed, output = (done.stdout + done.stderr).replace(f"{home}/", ""), output + done.stdout
        return found[0]

    written = STEP.sub(step, section)
    (home / ".venv").unlink()
    return written, output


def as_printed(shown: list[str], printed: list[str]) -> list[str]:
    """Return lines of a page with the numbers that were printed.

    Raises:
        ValueError: a line was not printed.
    """
    found, start = [], 0
    for line in shown:
        alike = [at for at, other in enumerate(printed) if _head(other) == _head(line)]
        same = [at for at in alike if _same(line, printed[at])] or alike
        if not same:
            raise ValueError(f"{line.strip()!r} was not printed; printed were\n" + "\n".join(printed))
        at = next((one for one in same if one >= start), same[-1])
        found.append(_filled(line.strip(), printed[at]))
        start = at + 1
    return found


def _same(shown: str, line: str) -> bool:
    words, there = _words(shown.removesuffix("...")), _words(line)
    return there[: len(words)] == words if shown.endswith("...") else there == words


def _filled(shown: str, line: str) -> str:
    """Return the shown line with the numbers of a line; or that line, if a cell of a table has other words, such as a rank that is tied."""
    if not _same(shown, line):
        return "  ".join(re.split(r"\s{2,}", _plain(line)))
    numbers = iter(NUMBER.findall(_plain(line)))
    return NUMBER.sub(lambda _: next(numbers), shown)


def _plain(line: str) -> str:
    return _FRAME.sub("  ", line).strip()


def _words(line: str) -> list[str]:
    return NUMBER.sub("#", _plain(line)).split()


def _head(line: str) -> list[str]:
    """Return the words before the first number, or an empty list."""
    words = _words(line)
    return next((words[:index] for index, word in enumerate(words) if "#" in word), words)


def main() -> None:
    """Write the numbers into the pages that are named, or into all."""
    for name, section in sections().items():
        if (name in sys.argv[1:] or not sys.argv[1:]) and any(found[4] for found in STEP.finditer(section)):
            page = DOCS / f"{name}.md"
            with tempfile.TemporaryDirectory() as home:
                written, _ = follow(section, Path(home))
            page.write_text(page.read_text(encoding="utf-8").replace(section, written), encoding="utf-8")


if __name__ == "__main__":
    main()
