"""Each file of `examples/` trains or searches: small, and with the same result again."""

import math
import re
import runpy
from pathlib import Path

import pytest

from vcgym.leaderboard.scoring.child import load_rule
from vcgym.leaderboard.scoring.suites import score_rules

HOME = Path(__file__).parents[3]
SMALL = {"rollouts": 20, "calls": 4, "worlds": 4, "packets": 1000}
CALLS = {"decisions": 1024, "calls": 2, "bottlenecks": 4}
SEARCHES = {"search_constants.py", "search_terms.py"}
SMALL_SEARCH = {"generations": 2, "children": 4, "share": 8}
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


@pytest.mark.long  # compiles loops
@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_a_search_finds_a_rule_and_finds_it_again(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(HOME / "examples" / name))
    best = example["main"](**SMALL_SEARCH)
    said = capsys.readouterr().out
    first, last = (float(score) for score in re.findall(r"rules scored, best (\S+) R", said))
    assert first <= last and "on validation worlds" in said
    found = example["made"](best) if "made" in example else best
    scores = [score_rules([found], share=SMALL_SEARCH["share"])[0][0].value]
    if name == "search_terms.py":
        scores.append(score_rules([load_rule(tmp_path / "found_terms.py", "")], share=SMALL_SEARCH["share"])[0][0].value)
    assert scores == pytest.approx([last] * len(scores), abs=6e-4)
    example["main"](**SMALL_SEARCH)
    assert capsys.readouterr().out == said
