"""The programs `vcgym` and `python -m lab`: help, version, completion, and the files left by a repeated command."""

import inspect
import re
import subprocess
import sys
from pkgutil import resolve_name

import pytest
from typed import call, output_of

from lab.commands import LAB
from vcgym import __version__
from vcgym.scripts.console.program import VCGYM, main

LIGHT = """
import sys
from vcgym.scripts.console.program import main
sys.argv = {words}
main()
assert not {{'numba', 'hydra', 'torch'}} & set(sys.modules)
"""
SAID = [(["vcgym"], "leaderboard"), (["vcgym", "train", "--help"], "num_envs=null"), (["vcgym", "--version"], f"vcgym {__version__}")]


COMMANDS = [(program, name) for program in (VCGYM, LAB) for name in program.commands]


@pytest.mark.parametrize(("program", "name"), COMMANDS, ids=lambda one: getattr(one, "name", one))
def test_every_command_has_a_function_a_config_and_a_sentence(program, name):
    command = program.commands[name]
    assert program.keys(name) and 10 < len(command.about) < 90
    assert len(inspect.signature(resolve_name(command.function)).parameters) == 1


@pytest.mark.parametrize(("program", "name"), COMMANDS, ids=lambda one: getattr(one, "name", one))
def test_help_lists_the_keys_of_the_command(program, name):
    found, text = program.keys(name, deep=False), program.usage(name)
    assert found and len(found) == len({key.name for key in found}) and "hydra" not in text
    assert f"  {program.title(name)} key=value ..." in text
    lists = [key.name for key in program.keys(name) if key.allowed.startswith("list of")]
    assert not [one for one in lists if f"\n  {one}." in text], "a key below a list cannot be typed"
    keys = text.partition("Choices:")[0]
    assert len(re.findall(r"^  [\w.]+=", keys, re.MULTILINE)) == len(re.findall(r"^  [\w.]+=.*\n {6}\S", keys, re.MULTILINE))


def test_help_says_type_range_default_and_meaning():
    text = VCGYM.usage("leaderboard")
    assert "  threads=2  [integer at least 1, at most 256]\n      threads that share the calls" in text
    assert "  offsets=own  [own, common]" in text and "  ray.address=null  [text or null]" in text
    assert "  env=call  [call, call_cloud," in VCGYM.usage("train")
    assert "  algorithm.clip_range=0.2  [number above 0, below 1]" in VCGYM.usage("train")


@pytest.mark.parametrize(("words", "said"), SAID)
def test_help_imports_nothing_heavy(words, said):
    assert said in output_of(LIGHT.format(words=words))


def test_a_multirun_writes_under_outputs(tmp_path):
    call(tmp_path, "systems", "-m", "suite=order-v0")
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]
    assert (tmp_path / "outputs" / "multirun" / "systems").is_dir()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("vcgym lea", ["leaderboard"]),
        ("vcgym train st", ["study=", "steps="]),
        ("vcgym train algorithm=s", ["algorithm=sac"]),
        ("vcgym leaderboard suite=rmcat", ["suite=rmcat-v0", "suite=rmcat-v1"]),
    ],
)
def test_completion_is_a_static_script(tmp_path, line, offered):
    (tmp_path / "completion.sh").write_text(call(tmp_path, "--completion"))
    typed = f'COMP_WORDBREAKS= COMP_LINE="{line}" COMP_POINT={len(line)}; COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}'
    command = ["bash", "-c", f'. ./completion.sh; {typed}; PATH=; _vcgym; echo "${{COMPREPLY[@]}}"']
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == offered


@pytest.mark.parametrize(("name", "package", "extra"), [("sweep", "ray", "sweep"), ("call", "aiortc", "live")])
def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch, name, package, extra):
    def without(*words):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr("vcgym.scripts.console.program.check", lambda *words: [])
    monkeypatch.setattr("vcgym.scripts.console.command.run", without)
    monkeypatch.setattr(sys, "argv", ["vcgym", name])
    with pytest.raises(
        SystemExit, match=rf"needs the package {package}; type make develop in a checkout of vcgym, or pip install '\.\[{extra}\]' there"
    ):
        main()
