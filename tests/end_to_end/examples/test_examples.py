"""Each file of `examples/` trains: small, and with the same result again."""

import math
import re
import runpy
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
SMALL = {"rollouts": 20, "calls": 4, "worlds": 4, "packets": 1000}
SAID = re.compile(r"mean return of a validation call: (\S+) before, (\S+) after 20 \w+\n")


@pytest.mark.long  # compiles a loop
@pytest.mark.parametrize("name", sorted(path.name for path in HOME.glob("examples/*.py")))
def test_an_example_trains(name, capsys):
    main = runpy.run_path(str(HOME / "examples" / name))["main"]
    main(**SMALL)
    said = capsys.readouterr().out
    before, after = (float(number) for number in SAID.search(said).groups())
    assert math.isfinite(before) and before != after
    main(**SMALL)
    assert capsys.readouterr().out == said
