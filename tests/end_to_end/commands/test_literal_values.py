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
    passed = arguments.check(words[1:], VCGYM.keys(words[0]), VCGYM.yaml(words[0]), VCGYM.conf)
    read = OverridesParser.create()
    found = []
    for override in read.parse_overrides([word for word in passed if not word.startswith("-")]):
        values = override.sweep_string_iterator() if override.is_sweep_override() else [override.get_value_string()]
        found += [read.parse_override(f"{override.key_or_group}={value}").value() for value in values]  # as hydra's sweepers do
    config = OmegaConf.create({"values": found, "suite": "outputs/board"})
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
    keys = (("fit", "file"), ("leaderboard", "traces"), ("tune", "traces"), ("call", "world.traces"), ("evaluate", "agent"))
    for command, key in keys:
        assert got(command, f"{key}=./{name}") == [f"./{name}"]
        assert got(command, f"{key}={name}") == [None if name == "null" and key not in ("agent", "file") else name]
    assert got("leaderboard", f"agents.MINE={name}", f"agents.ALSO=[{name},{name}]") == [name, [name, name]]
    assert got("leaderboard", f"traces=[{name},{name}]") == [[name, name]]
    assert got("train", f"env.options.playout=./{name}") == [f"./{name}"]
    if name != "'a'" and name != '"a"' and name == name.strip():
        assert got("leaderboard", f"agents={{MINE: {name}, ALSO: ./{name}}}") == [{"MINE": name, "ALSO": f"./{name}"}]
        if not {"{", ","} <= set(name):
            assert got("leaderboard", "-m", f"agents={{MINE: ./{name}}}") == [{"MINE": f"./{name}"}]


@pytest.mark.parametrize("name", NAMES)
def test_a_text_and_a_new_path_of_any_name_are_taken_as_they_stand(here, name):
    expected = name if name not in ("'a'", '"a"') else "a"  # quotes around the whole: as hydra reads them
    assert got("train", f"study={name}", f"folder=./{name}", f"data.root=./{name}") == [expected, f"./{name}", f"./{name}"]
    assert got("submit", f"folder=./{name}", f"submission=./{name}") == [f"./{name}"] * 2
    if "," not in name and name == name.strip():
        assert got("train", "-m", f"folder=./{name},other") == [f"./{name}", "other"]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("leaderboard traces=null", [None]),
        ("leaderboard folder=${suite}", ["outputs/board"]),
        ("leaderboard folder=${suite}/${oc.env:NOTHING,x}", ["outputs/board/x"]),
        ("train folder=~/mine", [os.path.expanduser("~/mine")]),
        ("train -m study=one,two", ["one", "two"]),
        ("train -m study=choice(one,two)", ["one", "two"]),
        ("train study='one,two'", ["one,two"]),
        ("leaderboard agents.A=['one,two',three]", [["one,two", "three"]]),
        ("leaderboard agents.A=[]", [[]]),
        ("train env.options.scenario=/é/my.json steps=1e6", ["/é/my.json", 1e6]),
        ("train env.options.path=null", [None]),
        ("leaderboard agents={}", [{}]),
        ("leaderboard agents={A:['one,two',three],B:'it'}", [{"A": ["one,two", "three"], "B": "it"}]),
        ("leaderboard agent_options={A:{features:[é=1,2],say:'x,y'}}", [{"A": {"features": ["é=1", 2], "say": "x,y"}}]),
        ("train env.options.scenario={_target_:x,file:/é#1.json}", [{"_target_": "x", "file": "/é#1.json"}]),
        ("train -m env.options.scenario={file:é,n:1},b;c steps=range(start=1,stop=3)", [{"file": "é", "n": 1}, "b;c", 1, 2]),
    ],
)
def test_what_keeps_a_meaning(here, monkeypatch, typed, value):
    monkeypatch.setattr(arguments, "_refusal", lambda *_: None)  # none of these exist
    assert got(*typed.split()) == value


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("agents.Zoë=a", "agents.Zoe"), ("agents.数据=a", "agents.NAME"), ("agents.007=a", "agents.NAME"), ("agents.a[1]=a", "agents.a_1"),
        ("agents.my name=a", "agents.my_name"), ("agents={Zoë: a}", "agents.Zoe"), ("agents={a b: a, c: a}", "agents.a_b"),
    ],
)  # fmt: skip
def test_a_name_that_no_key_can_have_is_refused_with_one_that_works(here, typed, spelled):
    (here / "a").mkdir()
    with pytest.raises(ValueError, match=rf"^agents\..* has characters that no key has; .*; type {spelled}=\.\.\.$"):
        got("leaderboard", typed)
    assert got("leaderboard", f"{spelled}=a") == ["a"]


class Named(Config):
    """A config of one text."""

    text: str


@pytest.mark.parametrize("name", NAMES)
def test_the_config_gets_the_text(name):
    (text,) = got("train", f"study= {name}")
    composed = OmegaConf.create({"_target_": f"{__name__}.Named", "text": text.replace("\\${", "\\\\${").replace("${", "\\${")})
    assert composed.text == text
    assert build(composed, Named).text == text == f" {name}"
