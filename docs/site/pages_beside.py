"""Hook of mkdocs: adds pages and pictures outside docs/ to the site, and adjusts links of all pages to the place of their target."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from vcgym import __version__

HOME = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "data/README.md": "data_cards.md"}
FILES = {"CITATION.cff": "CITATION.cff", "LICENSE": "LICENSE"}  # linked files of the repository that are not pages
NOTES, SHOWN = "lab/notes", "notes"
"""Folder of the laboratory's notes in the repository, and its name on the site; README.md there is the index."""
PICTURES = (".png", ".svg")
SHIM, WORKER = "https://unpkg.com/iframe-worker/shim", "worker_from_disk.js"
"""Script that the theme loads from elsewhere to search a site on disk, and ours in its place, which needs no network."""
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the version at the foot of each page."""
    config.copyright = f"vcgym {__version__}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files outside docs/."""
    notes = {_in_repository(path): _on_site(_in_repository(path)) for path in sorted((HOME / NOTES).rglob("*"))}
    for source, target in {**PAGES, **FILES, **notes}.items():
        path = HOME / source
        if path.suffix in PICTURES:
            files.append(File.generated(config, target, content=path.read_bytes()))
        elif path.is_file() and (path.suffix == ".md" or source in FILES):
            files.append(File.generated(config, target, content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, WORKER, content=(HOME / "docs" / "site" / WORKER).read_text(encoding="utf-8")))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return a page that loads the worker of its search from the site."""
    if SHIM not in output:
        raise PluginError(f"{page.file.src_uri}: the theme does not load {SHIM}; allowed: the theme that constraints.txt names")
    return output.replace(SHIM, posixpath.relpath(WORKER, posixpath.dirname(page.file.dest_uri) or "."))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with links to the places of their targets on the site; a broken link stays one, and the build fails on it."""
    return LINK.sub(lambda link: f"]({_turned(link[1], page.file.src_uri)}", markdown)


def _turned(link: str, page: str) -> str:
    """Return the link of a page of the site (its path there), given as it is written in the repository."""
    written_in = {site: source for source, site in PAGES.items()}.get(page)
    written_in = written_in or (f"{NOTES}{page.removeprefix(SHOWN)}" if page.startswith(f"{SHOWN}/") else f"docs/{page}")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(written_in), link))
    return posixpath.relpath(_on_site(target), posixpath.dirname(page) or ".")


def _on_site(path: str) -> str:
    """Return the path on the site of a path in the repository."""
    if path.startswith(f"{NOTES}/"):
        return f"{SHOWN}{path.removeprefix(NOTES)}"
    return {**PAGES, **FILES}.get(path) or path.removeprefix("docs/")


def _in_repository(path: Path) -> str:
    return path.relative_to(HOME).as_posix()
