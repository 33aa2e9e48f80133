"""Names of cached results under edits of sources, for tests of what is cached."""

from contextlib import contextmanager

import pytest

from vcgym.leaderboard.cache import file_name
from vcgym.network.kernels.compiling.sources import SOURCES, code_hash


def asked_for(module, function, *arguments):
    """The name that `function` asks the cache for."""
    keeps = "cached" if hasattr(module, "cached") else "cached_document"

    def ask(folder, key, make):
        raise InterruptedError(file_name(key, make.__module__))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, keeps, ask)
        with pytest.raises(InterruptedError) as asked:
            function(*arguments)
    return str(asked.value)


@contextmanager
def edited(sources):
    """Replace sources of modules, as the next process would find them after an edit."""
    with pytest.MonkeyPatch.context() as patch:
        for module, content in sources.items():
            patch.setitem(SOURCES, module, content)
        code_hash.cache_clear()
        yield
    code_hash.cache_clear()


def changed_by(name):
    """The modules of which an edit changes what `name` returns, without the first part of vcgym's."""
    before, changes = name(), set()
    for module, content in list(SOURCES.items()):
        with edited({module: content + b"\nedited = 1\n"}):
            if name() != before:
                changes.add(module.removeprefix("vcgym."))
    assert name() == before
    return changes


def is_same_with_other_docstrings(name):
    before, begin, end = name(), b'"""Another docstring."""\n\n# a comment\n', b'\n"""More."""\n'
    with edited({module: begin + content + end for module, content in SOURCES.items()}):
        return name() == before
