"""A third-party package adds a router, a rate controller, a feature, a reward, a scenario and a command without changes to vcgym."""

import json
import shutil
from pathlib import Path

import pytest
from typed import attempt, call

HERE = Path(__file__).parent
FILES = ("stranger.py", "train.py", "rank.py")


@pytest.fixture
def installed(tmp_path):
    """A folder with the package and its entry points, as an installer leaves them."""
    for name in FILES:
        shutil.copy(HERE / name, tmp_path)
    metadata = tmp_path / "stranger-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    source = (HERE / "stranger.py").read_text()
    (metadata / "entry_points.txt").write_text(source.split('ENTRY_POINTS = """')[1].split('"""')[0])
    return tmp_path


def run(script, folder, python_path):
    return json.loads(call(folder, program=script.removesuffix(".py"), PYTHONPATH=python_path(folder)).splitlines()[-1])


def vcgym(words, folder, python_path):
    return attempt(folder, *words, PYTHONPATH=python_path(folder))


def test_an_agent_trains_with_everything_of_a_stranger(installed, python_path):
    found = run("train.py", installed, python_path)
    assert found["paths"][-1] == "late_of_path" and len(found["paths"]) == 10
    assert found["allowed"]
    assert found["target_kbps"] == pytest.approx(150.0)  # half of the 300 kbit/s that a call begins with
    assert found["router_paths"] == [0, 1]


def test_a_command_line_takes_a_rule_by_the_name_of_its_entry_point(installed, python_path):
    (installed / "typed.py").write_text(
        "import json, sys\n"
        "from hydra import compose, initialize_config_module\n"
        "from vcgym.agents.config.training import TrainConfig\n"
        "from vcgym.scripts.console.command import build, register\n"
        "from vcgym.scripts.console.program import VCGYM\n"
        "name = register(VCGYM, 'train')\n"
        "with initialize_config_module('vcgym.conf', version_base='1.3'):\n"
        "    paths = [f'env.options.path={{_target_: {name}}}' for name in ('newest-best', 'stranger.NewestBest')]\n"
        "    found = [build(compose(name, ['env=playout', path]), TrainConfig).env.options['path'] for path in paths]\n"
        "print(json.dumps([type(one).__name__ for one in found]))\n"
    )
    assert run("typed.py", installed, python_path) == ["NewestBest", "NewestBest"]


def test_the_program_runs_a_command_of_a_stranger(installed, python_path):
    with (installed / "stranger-1.0.dist-info" / "entry_points.txt").open("a") as entry_points:
        entry_points.write("[vcgym.commands]\nstranger = offered:COMMANDS\n")
    (installed / "offered.py").write_text("COMMANDS = {('greeting', 'greeting'): {'greet': ('GreetConfig', 'greet', 'greet somebody')}}\n")
    (installed / "greeting.py").write_text(
        "from vcgym.agents.config.base import Config\n"
        "class GreetConfig(Config):\n"
        "    name: str\n"
        "def greet(config):\n"
        "    print('Hello', config.name)\n"
    )
    for words, said in ((["--help"], "  greet            greet somebody\n"), (["greet", "name=Zoe"], "Hello Zoe\n")):
        answer = vcgym(words, installed, python_path)
        assert answer.returncode == 0 and said in answer.stdout, answer.stderr
    wrong = vcgym(["greet", "nam=Zoe"], installed, python_path)
    assert wrong.stderr == "vcgym greet: nam is no key of this command; --help lists those that are; did you mean name?\n"


def test_what_cannot_be_loaded_is_named_and_left_out_and_no_command_is_replaced(installed, python_path):
    with (installed / "stranger-1.0.dist-info" / "entry_points.txt").open("a") as entry_points:
        entry_points.write(
            "[vcgym.commands]\nbroken = absent:COMMANDS\nstranger = offered:COMMANDS\n[vcgym.stages]\nworse = failing:STAGE\n"
        )
    (installed / "offered.py").write_text("COMMANDS = {('greeting', 'greeting'): {'train': ('GreetConfig', 'greet', 'greet somebody')}}\n")
    (installed / "failing.py").write_text("raise RuntimeError('no licence\\nfile')\n")
    done = vcgym(["systems", "suite=conference-v0"], installed, python_path)
    assert done.returncode == 0 and "CELERITY" in done.stdout
    left_out = [line.partition(" is left out, since it cannot be loaded: ") for line in done.stderr.splitlines()]
    assert [(what, why) for what, _, why in left_out] == [
        ("the entry point broken = absent:COMMANDS of vcgym.commands", "ModuleNotFoundError No module named 'absent'"),
        ("the entry point worse = failing:STAGE of vcgym.stages", "RuntimeError no licence file"),
    ]
    listed = vcgym([], installed, python_path).stdout
    assert "train agents, one for each seed" in listed and "greet somebody" not in listed


def test_a_stranger_is_ranked(installed, python_path):
    found = run("rank.py", installed, python_path)
    assert found == {"stranger": {"NEW-WM": 3, "DRT-WM": 3}, "stranger-rate": {"HALF": 3, "FIXED": 3}}
    assert (installed / "stranger" / "report.html").is_file()
