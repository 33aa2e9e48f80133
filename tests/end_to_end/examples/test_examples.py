"""Each file of `examples/` trains: small, and with the same result again."""

import math
import re
import runpy
from pathlib import Path

import pytest

HOME = Path(__file__).parents[3]
SMALL = {"rollouts": 20, "calls": 4, "worlds": 4, "packets": 1000}
CALLS = {"decisions": 1024, "calls": 2, "bottlenecks": 4}
SAID = re.compile(r"mean return of a validation call: (\S+) before, (\S+) after 20 \w+\n")


@pytest.mark.long  # compiles a loop
@pytest.mark.parametrize("name", ["evolution_strategies.py", "ppo.py", "reinforce.py"])
def test_an_example_trains(name, capsys):
    main = runpy.run_path(str(HOME / "examples" / name))["main"]
    main(**SMALL)
    said = capsys.readouterr().out
    before, after = (float(number) for number in SAID.search(said).groups())
    assert math.isfinite(before) and before != after
    main(**SMALL)
    assert capsys.readouterr().out == said


@pytest.mark.long  # compiles a loop
def test_agents_of_many_calls_train(capsys):
    main = runpy.run_path(str(HOME / "examples" / "many_calls.py"))["main"]
    main(**CALLS)
    said = capsys.readouterr().out
    assert re.fullmatch(r"world 0, 2 calls: \{'used': 0\.\d+, 'jain': \S+, 'least': \S+, 'queueing_ms': \S+\}\n", said)
    main(**CALLS)
    assert capsys.readouterr().out == said
