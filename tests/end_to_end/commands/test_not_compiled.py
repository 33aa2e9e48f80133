"""A rule that does not compile: one line with file, line, function, cause and what to write instead; numba's text goes to a file."""

import importlib

import numpy as np
import pytest
from numba.core.errors import NumbaError

from vcgym.scripts.console.not_compiled import WHOLE, why_not_compiled

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
    with pytest.raises(NumbaError) as refused:
        importlib.import_module(name).play(np.arange(9.0))
    said = why_not_compiled(refused.value)
    place = f"{name}.py, line 11, function newest: `{line}`" if "missing" not in line else f"{name}.py, line 17, function play: "
    assert said.startswith(place) and instead in said and "\n" not in said and len(said) < 420
    assert str(WHOLE) in said and len((tmp_path / WHOLE).read_text()) > len(said)
