"""`vcgym score`: a rule in a file of its own, and what it says of a file that is broken at one of the stages."""

import json

import pytest
from typed import attempt

from vcgym.leaderboard.evaluation.config import ScoreConfig
from vcgym.leaderboard.scoring.score import score

HEAD = """
from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, Rows, record, rule


@record
class Call:
    path: int = 0
"""
RULE = """
@rule(Control.PATH, call=Call, learns=False)
class Mine(NamedTuple):
    patience: float = 1.0

    def init(self, call, start, key):
        call.path = np.argmin(start.mean_ms)

    def decide(self, call, now_us):
        {line}
"""
NEXT = HEAD.count("\n") + 1
GOOD = HEAD + RULE.format(line="return call.path")
OF_LINE = GOOD.splitlines().index("        return call.path") + 1
OF_CLASS = GOOD.splitlines().index("class Mine(NamedTuple):")
RAISE = "if call.path > -1: raise ValueError('no path')"
LOOP = "while call.path > -1: call.path = (call.path + 1) % 5"
BROKEN = {  # name -> content, what is said, line
    "no rule": (HEAD, "has 0 rules", None),
    "two rules": (GOOD + RULE.replace("Mine", "Other").format(line="return 0"), "with one of Mine, Other", None),
    "syntax": (HEAD + "x = = 1\n", "SyntaxError", NEXT),
    "raises at import": (HEAD + "x = {}['a']\n", "KeyError: 'a'", NEXT),
    "exits at import": (HEAD + "raise SystemExit(0)\n", "SystemExit: 0", NEXT),
    "wrong arguments": (GOOD.replace("now_us", "now"), "allowed is (self, call, now_us)", OF_CLASS),
    "reads a file": (HEAD + "x = open('/etc/hostname').read()\n", "open of '/etc/hostname' is refused", NEXT),
    "writes a file": (HEAD + "x = open('/tmp/scored', 'w')\n", "open of '/tmp/scored' is refused", NEXT),
    "opens a socket": (HEAD + "import socket\nx = socket.socket()\n", "socket.__new__ is refused", NEXT + 1),
    "starts a process": (HEAD + "import os\nos.system('true')\n", "os.system is refused", NEXT + 1),
    "loops at import": (HEAD + "while True: pass\n", "takes more than 1 s of processor time to play", NEXT),
    "takes memory": (HEAD + "x = np.ones(1 << 40)\n", "MemoryError", NEXT),
    "does not compile": (HEAD + RULE.format(line="return {0: 1}[0]"), "does not compile", OF_LINE),
    "returns a text": (HEAD + RULE.format(line="return 'one'"), "does not compile with what the rule returns", OF_CLASS),
    "raises while playing": (HEAD + RULE.format(line=f"{RAISE}\n        return 0"), "no path", OF_LINE),
    "loops for ever": (HEAD + RULE.format(line=f"{LOOP}\n        return 0"), "takes more than 1 s of processor time to play", OF_CLASS),
    "returns no path": (HEAD + RULE.format(line="return 1 << 40"), "SIGSEGV in stage play", OF_CLASS),
}


def scored(capsys, path, **limits):
    status = score(ScoreConfig(rule=str(path), **limits))
    (line,) = capsys.readouterr().out.splitlines()
    return status, json.loads(line)


@pytest.mark.timeout(600)
def test_one_file_has_one_score(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(GOOD + "print('said at import')\n")
    first, second = scored(capsys, path), scored(capsys, f"{path}:Mine")
    for status, found in (first, second):
        assert status == 0
        assert 0.0 < found.pop("seconds") < 5.0 < 120.0 > found.pop("compile_seconds") > 0.0
        del found["rule"]
    assert first == second
    found = first[1]
    assert (found["control"], found["suite"], found["measure"]) == ("path", "score-path-v0", "r")
    assert found["low"] < found["score"] < found["high"] and found["high"] - found["low"] < 2.0
    assert found["score"] == pytest.approx(sum(found["kinds"].values()) / len(found["kinds"]), abs=1e-5)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_told_in_one_line(name, tmp_path, capsys):
    content, said, line = BROKEN[name]
    path = tmp_path / "mine.py"
    path.write_text(content)
    status, found = scored(capsys, path, play_seconds=1.0)
    assert status == 1 and found.keys() == {"rule", "error", "line"}
    assert said in found["error"] and "\n" not in found["error"] and len(found["error"]) <= 300
    assert found["line"] == line
    assert [one.name for one in tmp_path.iterdir()] == ["mine.py"]


@pytest.mark.timeout(120)
def test_the_command_prints_the_line_and_has_status_1(tmp_path):
    answer = attempt(tmp_path, "score", "rule=none.py")
    assert answer.returncode == 1 and json.loads(answer.stdout)["error"].endswith("allowed: rule=FILE.py or rule=FILE.py:NAME")
    assert not list(tmp_path.iterdir())
