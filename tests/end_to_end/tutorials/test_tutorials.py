"""The sections "step by step" of the users' pages: every block runs in order, with fewer steps, and prints what the page states."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).parents[3] / "docs"
SECTION = re.compile(r"^## ([^\n]*step by step[^\n]*)\n(.+?)(?=^## )", re.MULTILINE | re.DOTALL | re.IGNORECASE)
SECTIONS = {page.stem: SECTION.findall(page.read_text(encoding="utf-8")) for page in sorted(PAGES.glob("*.md"))}
BLOCK = re.compile(r'^```(python|sh)(?: title="([\w.]+)")?\n(.+?)^```', re.MULTILINE | re.DOTALL)
SMALLER = {
    "steps=131072": "steps=512",
    "num_envs=16": "num_envs=4",
    "n_steps=64": "n_steps=32",
    "batch_size=256": "batch_size=128",
    "DRT-WM,GRD-WM,GRD+EWMA-tuned": "DRT-WM",
    "trials=4": "trials=2",
    "trial-00002": "trial-00000",
}


def follow(page, home):
    """Write each file and run each command of the section of a page in `home`; return what was printed."""
    ((_, section),) = SECTIONS[page]
    (home / ".venv").symlink_to(sys.prefix)
    known = {name: value for name, value in os.environ.items() if name not in ("VCGYM_DATA", "MLFLOW_TRACKING_URI")}
    printed = ""
    for kind, name, content in BLOCK.findall(section):
        if kind == "python":
            (home / name).write_text(content)
            continue
        command = re.sub("|".join(map(re.escape, SMALLER)), lambda given: SMALLER[given[0]], content)
        done = subprocess.run(["bash", "-e", "-c", command], cwd=home, env=known, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}{done.stdout[-2000:]}{done.stderr[-2000:]}"
        printed += done.stdout
    (home / ".venv").unlink()
    return printed


def test_every_section_is_followed():
    assert {page for page, sections in SECTIONS.items() if sections} == {"train", "rank", "rules", "worlds", "scale"}


def test_own_rule(tmp_path):
    printed = " ".join(follow("rules", tmp_path).split())
    said = r"Your agent PATIENT, rank .*: R \d\d\.\d \[.*\], MOS \d\.\d\d\. Against .* \(DRT-WM\), the best published .*: [+-]\d+\.\d \["
    assert re.search(said, printed)


def test_what_a_rule_may_do_holds_for_its_example(tmp_path):
    page = (PAGES / "rules.md").read_text(encoding="utf-8").partition("## What a rule may do")[2]
    ((_, name, content),) = BLOCK.findall(page.partition("\n## ")[0])
    (tmp_path / name).write_text(content)
    done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and float(done.stdout) > 0.0, done.stderr


def test_own_traces(tmp_path):
    follow("worlds", tmp_path)
    assert (tmp_path / "outputs" / "leaderboard" / "replay" / "report.html").exists()


def test_train_and_rank_and_then_read_the_result(tmp_path):
    assert "Your agent MINE" in follow("train", tmp_path)
    printed = follow("rank", tmp_path)
    assert re.search(r"difference [+-]\d+\.\d \+- \d+\.\d over \d\d+ worlds", printed)
    assert "152 of 152 agent results reproduced from logged actions." in printed


def test_sweep_and_rank_one_of_its_agents(tmp_path):
    printed = follow("scale", tmp_path)
    assert re.search(r"trial-0000[01]/seed-0/agent: learning_rate=\S+ ent_coef=\S+: validation return", printed)
    assert "Your agent SWEPT" in printed
