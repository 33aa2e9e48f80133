"""Hook of mkdocs: adds pages outside docs/ to the site and adjusts their links."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

HOME = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "data/README.md": "data_cards.md"}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
FILES = {"CITATION.cff", "LICENSE"}  # linked files of the repository that are not pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files outside docs/."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, content=LINK.sub(_turned, (HOME / source).read_text(encoding="utf-8"))))
    for name in FILES:
        files.append(File.generated(config, name, content=(HOME / name).read_text(encoding="utf-8")))
    return files


def _turned(link: re.Match[str]) -> str:
    """Return the link of a page outside docs/ adjusted to the site; a broken link is unchanged, and the build fails on it."""
    target = link[1]
    return f"]({PAGES.get(target, target.removeprefix('docs/'))}"
