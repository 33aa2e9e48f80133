"""The sections "step by step" of the users' pages: every block runs in order, with fewer steps, and prints what the page states; the
tracks; and the examples of CONTRIBUTING.md, in one environment."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typed import output_of

from lab.shipped import printed

PAGES = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r'^```(python|sh|toml)(?: title="([\w.]+)")?\n(.+?)^```', re.MULTILINE | re.DOTALL)
SMALL = "steps=512 num_envs=4 algorithm.n_steps=32 algorithm.batch_size=128 env.options.packets=1000"
SEARCH = f"import runpy; runpy.run_path('{PAGES.parent}/examples/{{}}.py')['main'](1, 4, share=8)"
SMALLER = {
    "study=tutorial": f"study=tutorial {SMALL}",
    "study=calm": f"study=calm {SMALL}",
    "train.study=sweep": "train.study=sweep " + " ".join(f"train.{one}" for one in SMALL.split()),
    "folder=outputs/few": f"folder=outputs/few {SMALL}",
    "folder=outputs/protecting": f"folder=outputs/protecting {SMALL}",
    "episodes=100": "episodes=3",
    "examples/search_constants.py": f"-c {shlex.quote(SEARCH.format('search_constants'))}",
    "examples/search_terms.py": f"-c {shlex.quote(SEARCH.format('search_terms'))}",
    "DRT-WM,VIA-BF,GRD+EWMA-tuned": "DRT-WM",
    "trials=4": "trials=2",
    "seconds=30": "seconds=2",
    "protect.py 40": "protect.py 2",
    "trial-00002": "trial-00000",
    ".venv/bin/python -m pip install --editable .": "export PYTHONPATH=$PWD",  # see `installed`
}


def smaller(command):
    return re.sub("|".join(map(re.escape, SMALLER)), lambda given: SMALLER[given[0]], command)


def follow(page, home):
    """Follow the section of a page in `home`, with fewer steps, and check that each line shown is printed; return the output."""
    return printed.follow(printed.sections()[page], home, smaller)[1]


def test_every_section_is_followed():
    assert set(printed.sections()) == {"envs", "train", "rank", "rules", "worlds", "scale", "live"}


def test_own_rule(tmp_path):
    output = " ".join(follow("rules", tmp_path).split())
    said = r"Your agent PATIENT, rank .*: R \d\d\.\d \[.*\], MOS \d\.\d\d\. Against .*-tuned\), the best tuned rule: [+-]\d+\.\d \["
    assert re.search(said, output)


def test_what_a_rule_may_do_holds_for_its_example(tmp_path):
    page = (PAGES / "rules.md").read_text(encoding="utf-8").partition("## What a rule may do")[2]
    ((_, name, content),) = BLOCK.findall(page.partition("\n## ")[0])
    (tmp_path / name).write_text(content)
    done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and -100.0 < float(done.stdout) < 0.0, done.stderr


def test_protect_a_call(tmp_path):
    output = follow("live", tmp_path)
    bare, protected = (call.partition("Error of arrival times")[0] for call in output.split("quantity")[1:3])
    share = r"\D+(\d\S*) %"
    assert float(re.search(f"bytes added{share}", bare)[1]) == 0.0 < float(re.search(f"bytes added{share}", protected)[1]) <= 100.0
    simulated = re.findall(r"^(\S+) within (\d+)%: (\S+)% added, \S+% never arrive, R [+-]\d+\.\d\d \+- \S+$", output, re.MULTILINE)
    assert [name for name, *_ in simulated] == ["RED1"] * 4 + ["COPY-HELD"] * 4
    assert all(float(added) <= float(budget) for _, budget, added in simulated)


def installed(home, pyproject):
    """Write the metadata that an installer would make of a package in `home`."""
    project = tomllib.loads(pyproject)["project"]
    offered = ((group, "".join(f"{name} = {place}\n" for name, place in of.items())) for group, of in project["entry-points"].items())
    metadata = home / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (metadata / "entry_points.txt").write_text("".join(f"[{group}]\n{lines}" for group, lines in offered))


def test_own_package(tmp_path):
    (pyproject,) = (content for kind, _, content in BLOCK.findall(printed.sections()["envs"]) if kind == "toml")
    installed(tmp_path, pyproject)
    shape, total, *_, trained = follow("envs", tmp_path).splitlines()
    assert "after 512 transitions" in trained
    assert shape == "(13,)"
    of_calls = [float(number) for number in total.strip("[]").split()]
    assert len(of_calls) == 2 and all(number <= 0.0 and number.is_integer() for number in of_calls)


TOGETHER = """
import numpy as np
from late_of_path import LateOfPath
from lazy import LazyRelayEnv
from two_roads import TwoRoads

world = {"scenario": TwoRoads, "mode": "paper", "packets": 600, "action": "discrete"}
call = LazyRelayEnv(features=(LateOfPath(),), **world)
observation, _ = call.reset(seed=0)
more = observation.size - LazyRelayEnv(**world).observation_space.shape[0]
print(more, *(float(call.step(np.int64(path))[1]) for path in (0, 1, 1, 0)))
"""


def test_examples_of_contributing_run_as_they_stand(tmp_path):
    page = (PAGES.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for _, name, content in BLOCK.findall(page):
        (tmp_path / name).write_text(content)
    said = output_of(TOGETHER, cwd=tmp_path).splitlines()[-1]
    assert [float(number) for number in said.split()] == [2.0, 0.0, -0.1, 0.0, -0.1]


def test_own_traces(tmp_path):
    follow("worlds", tmp_path)
    assert (tmp_path / "outputs" / "leaderboard" / "replay" / "report.html").exists()


def test_train_and_rank_and_then_read_the_result(tmp_path):
    assert "Your agent MINE" in follow("train", tmp_path)
    output = follow("rank", tmp_path)
    assert re.search(r"difference [+-]\d+\.\d \+- \d+\.\d over \d\d+ worlds", output)


def test_sweep_and_rank_one_of_its_agents(tmp_path):
    output = follow("scale", tmp_path)
    assert re.search(r"trial-0000[01]/seed-0/agent: learning_rate=\S+ ent_coef=\S+: validation return", output)
    assert "Your agent SWEPT" in output


@pytest.mark.long  # trains and searches
@pytest.mark.parametrize(
    ("track", "said"),
    [
        ("Generalise", r"regret to the best tuned rule of each kind: mean -?\d+\.\d\d \[.*\], worst -?\d+\.\d\d \(\w+ \w+\)"),
        ("Cost", r"wonderproxy correlated: R \d\d\.\d\d, .* to COPY-HELD, with \d\.\d % more bytes, and \d\.\d %"),
        ("Programs", r'(?s)"rule": "my_rule.py".*"rule": "found_terms.py".*"score": -?\d'),
    ],
)
def test_a_track_runs_as_typed(track, said, tmp_path):
    page = (PAGES / "tracks.md").read_text(encoding="utf-8")
    for _, name, content in BLOCK.findall(printed.sections()["rules"]):
        if name == "my_rule.py":
            (tmp_path / name).write_text(content)
    (section,) = re.findall(rf"^## {track}\n(.+?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert re.search(said, printed.follow(section, tmp_path, smaller)[1])
