"""Texts and paths of any spelling: what a user types is what the config gets, through the check of the command and through hydra."""

import os

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from vcgym.agents.config.base import Config
from vcgym.scripts.console import arguments
from vcgym.scripts.console.command import build
from vcgym.scripts.console.program import VCGYM

NAMES = [
    "a[1]", "[a]", "a b", "a,b", "a=b", "it's", "say \"so\"", "'a'", "\"a\"", "a#b", "#a", "a;b", "a&b",
    "café", "数据", "007", "1e3", "20240501", "~x", "a$b", "$HOME", "${x}", "a${b", "\\${x}", "100%",
    "%d", "a\\b", "a\\", "\\", "C:\\new", "a:b", " a", "a ", "null", "true", "Yes", "nan", "1_000",
    "a(b)", "{a}", "{a: b}", "(", "!", "^", "a\tb", "a\nb", "+", "-", "=", "@a", "a|b", "*", "a?",
    "<a>", "`a`", "choice(a,b)", "é'\"\\'${[,",
]  # fmt: skip
"""Names of files and folders."""


def got(*words):
    """Return what hydra makes of the arguments that a command passes on."""
    command = words[0].replace("-", "_")
    passed = arguments.check(words[1:], command, VCGYM.modules[command], VCGYM.conf)
    read = OverridesParser.create()
    found = []
    for override in read.parse_overrides([word for word in passed if not word.startswith("-")]):
        values = override.sweep_string_iterator() if override.is_sweep_override() else [override.get_value_string()]
        found += [read.parse_override(f"{override.key_or_group}={value}").value() for value in values]  # as hydra's sweepers do
    config = OmegaConf.create({"values": found, "board": "outputs/board"})
    return OmegaConf.to_container(config, resolve=True)["values"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_path_of_any_name_is_taken_as_it_stands(here, name):
    (here / name).mkdir()
    (here / name / "card.json").touch()
    (here / name / "a.csv").touch()
    for command, key in (("data", "file"), ("leaderboard", "traces"), ("tune", "traces"), ("call", "world.traces"), ("evaluate", "agent")):
        assert got(command, f"{key}=./{name}") == [f"./{name}"]
        assert got(command, f"{key}={name}") == [None if name == "null" and key != "agent" else name]
    assert got("leaderboard", f"agents.MINE={name}", f"agents.ALSO=[{name},{name}]") == [name, [name, name]]
    assert got("leaderboard", f"traces=[{name},{name}]") == [[name, name]]
    assert got("train", f"env.options.playout=./{name}") == [f"./{name}"]


@pytest.mark.parametrize("name", NAMES)
def test_a_text_and_a_new_path_of_any_name_are_taken_as_they_stand(here, name):
    expected = name if name not in ("'a'", '"a"') else "a"  # quotes around the whole: as hydra reads them
    assert got("train", f"study={name}", f"folder=./{name}", f"data.root=./{name}") == [expected, f"./{name}", f"./{name}"]
    assert got("leaderboard", f"board=./{name}", f"output=./{name}") == [f"./{name}"] * 2
    if "," not in name and name == name.strip():
        assert got("train", "-m", f"folder=./{name},other") == [f"./{name}", "other"]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("leaderboard traces=null", [None]),
        ("leaderboard folder=${board}", ["outputs/board"]),
        ("leaderboard folder=${board}/${oc.env:NOTHING,x}", ["outputs/board/x"]),
        ("train folder=~/mine", [os.path.expanduser("~/mine")]),
        ("train -m study=one,two", ["one", "two"]),
        ("train -m study=choice(one,two)", ["one", "two"]),
        ("train study='one,two'", ["one,two"]),
        ("leaderboard agents.A=['one,two',three]", [["one,two", "three"]]),
        ("leaderboard agents.A=[]", [[]]),
        ("train env.options.scenario=/é/my.json steps=1e6", ["/é/my.json", 1e6]),
        ("train env.options.path=null", [None]),
    ],
)
def test_what_keeps_a_meaning(here, monkeypatch, typed, value):
    monkeypatch.setattr(arguments, "_refusal", lambda *_: None)  # none of these exist
    assert got(*typed.split()) == value


class Named(Config):
    """A config of one text."""

    text: str


@pytest.mark.parametrize("name", NAMES)
def test_the_config_gets_the_text(name):
    (text,) = got("train", f"study= {name}")
    composed = OmegaConf.create({"_target_": f"{__name__}.Named", "text": text.replace("\\${", "\\\\${").replace("${", "\\${")})
    assert composed.text == text
    assert build(composed, Named).text == text == f" {name}"
