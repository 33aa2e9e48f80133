"""The block of docs/train.md trains in RLlib, which pins a version of gymnasium, so it has an environment of its own (`.ci/run`)."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "train.md"
BLOCK = re.search(r'^```python title="rllib.py"\n(.+?)^```', PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]


@pytest.mark.rllib
@pytest.mark.filterwarnings("default")  # those of RLlib's own
def test_the_block_of_the_page_trains(capsys):
    exec(BLOCK.replace("4_000", "256"), {})
    assert -100.0 < float(capsys.readouterr().out.splitlines()[-1]) < 0.0
