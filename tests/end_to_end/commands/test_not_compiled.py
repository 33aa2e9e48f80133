"""A rule that does not compile: one line with file, line, function, cause and what to write instead; numba's text goes to a file."""

import importlib

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.network.kernels.compiling.not_compiled import WHOLE, NotCompiledError, why_not_compiled

RULE = """
from typing import NamedTuple

import numpy as np

from vcgym.baselines.rule import Control, allocate, decide, init, rule, update


@rule(Control.PATH)
class Median(NamedTuple):
    share: float = 0.5


@allocate.register(Median)
def _allocate(params, sessions, paths):
    return np.zeros((sessions, 9))


@init.register(Median)
def _init(params, state, s, start, key):
    state[s] = 0.0


@update.register(Median)
def _update(params, state, s, record):
    state[s, 0] = record.path


@decide.register(Median)
def _decide(params, state, s, now_us):
    return int(np.quantile(state[s], params.share))
"""

MODULE = """
import numpy as np

from vcgym.network.kernels.jit import kernel

NAMES = {{"a": 1.0}}


@kernel
def newest(window, share):
    {line}
    return value


@kernel
def play(window):
    return newest(window, 0.9)
"""


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("value = np.quantile(window, share)", "it makes an array or a list"),
        ("value = np.apply_along_axis(abs, 0, window)[0]", "numba does not have it; write a loop"),
        ("value = window.argpartition(3)", "numba does not have it; write a loop"),
        ("value = sorted([x for x in window])[3]", "it makes an array or a list"),
        ("value = missing * 2.0", "a compiled function knows numbers"),
        ("value = 'a' if share > 1 else 1.0", "a variable has two types"),
    ],
)
def test_one_line_says_where_what_and_what_instead(tmp_path, monkeypatch, line, instead):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"rule_{abs(hash(line))}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(line=line))
    with pytest.raises(NotCompiledError) as refused:
        importlib.import_module(name).play(np.arange(9.0))
    said = str(refused.value)
    place = f"{name}.py, line 11, function newest: `{line}`" if "missing" not in line else f"{name}.py, line 17, function play: "
    assert said.startswith(place) and instead in said and "\n" not in said and len(said) < 420
    assert str(WHOLE) in said and len((tmp_path / WHOLE).read_text()) > len(said)


def test_an_environment_with_such_a_rule_says_it_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "median_rule.py").write_text(RULE)
    mine = importlib.import_module("median_rule").Median()
    calls = gymnasium.make("vcgym/Playout-v1", path=mine, scenario="table1", mode="paper", packets=200)
    with pytest.raises(NotCompiledError) as refused:
        calls.reset(seed=0)
    said = str(refused.value)
    assert said.startswith("median_rule.py, line 31, function _decide: `return int(np.quantile(state[s], params.share))`")
    assert "loop over the state" in said and "\n" not in said and len(said) < 420 and refused.value.__cause__ is None


def test_a_class_without_a_function_is_told_to_register_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = why_not_compiled(TypeError("No implementation of function Function(<function init at 0x7f>) found for signature:"))
    assert said.startswith("function init does not compile") and "a class lacks it; register one" in said
