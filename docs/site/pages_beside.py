"""Hook of mkdocs: pages that stand beside docs/ in the repository join the site, with links turned to where they lie there."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

HOME = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "data/README.md": "data_cards.md"}
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
FILES = {"CITATION.cff", "LICENSE"}  # of the repository, which are no pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files beside docs/."""
    for source, target in PAGES.items():
        files.append(File.generated(config, target, content=LINK.sub(_turned, (HOME / source).read_text(encoding="utf-8"))))
    for name in FILES:
        files.append(File.generated(config, name, content=(HOME / name).read_text(encoding="utf-8")))
    return files


def _turned(link: re.Match[str]) -> str:
    """Return a link of a page beside docs/ as the site has it; one that leads nowhere stays, and the build refuses it."""
    target = link[1]
    return f"]({PAGES.get(target, target.removeprefix('docs/'))}"
