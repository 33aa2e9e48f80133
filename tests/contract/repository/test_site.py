"""The site of README and docs/, opened from disk: pages, pictures and search need neither a server nor a network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=HOME, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True, timeout=600)
    return folder


@pytest.mark.browser
@pytest.mark.parametrize("page", ["index.html", "reference/rules.html"])
def test_the_search_finds_a_word_on_a_site_on_disk(site, visit, page):
    opened = visit(site / page, site)
    opened.locator("input.md-search__input").click()
    opened.keyboard.type("watermark")
    found = opened.locator("a.md-search-result__link")
    found.first.wait_for(state="attached")
    assert "matching documents" in opened.locator(".md-search-result__meta").inner_text()
    address = opened.evaluate("document.querySelector('a.md-search-result__link').href").partition("?")[0]
    assert Path(address.removeprefix("file://")).is_file()
    assert all(picture > 0 for picture in opened.evaluate("[...document.images].map(one => one.naturalWidth)"))
