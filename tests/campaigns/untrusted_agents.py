"""Mutated agents, submissions, learned systems, predictors, scenario files, sessions, boards, checkpoints and studies.

Each is rejected in one line that names its file, or used; a changed checkpoint is rejected. No code is executed, no module that a config
names is imported, no board breaks, and no file outside the folder is touched.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from campaigns import Case
from campaigns.hostile.kinds import MADE, publish_agent, seal, user
from campaigns.hostile.mutations import mutated
from campaigns.hostile.watched import MAX_MESSAGE, Watch, added, run_child

FILES = {"small": 300, "medium": 1000, "full": 2600}  # of each kind
PER_CHILD = 1000
ONNX = Path(__file__).parents[1] / "contract" / "submissions" / "submission_onnx"
PATHS = 5
MODULES = ("this", "antigravity", "campaigns.kills", "no.such", "", "a:b")  # an import of the first two would print, and open a browser
BOARDS = 5
"""Fewer boards than other files, by this factor: each is ranked and drawn."""


def run(scale, folder):
    """Yield a case for each kind of folder."""
    for kind in ("agent", "submission", "onnx", *MADE):
        files = FILES[scale] // (BOARDS if kind == "board" else 1)
        starts = range(0, files, PER_CHILD)
        reports = [run_child(__name__, kind, start, min(PER_CHILD, files - start), folder / f"{kind}-{start}") for start in starts]
        found = added(reports)
        silent = found.get("taken", 0) if kind == "checkpoint" else 0
        yield Case(
            f"mutated {kind}", found["wrong"] == found["code executed"] == silent == 0 and found["longest message"] <= MAX_MESSAGE, found
        )


def _make(kind, folder):
    if kind == "onnx":
        shutil.copytree(ONNX, folder)
        return
    if kind in MADE:
        folder.mkdir()
        MADE[kind](folder)
        return
    publish_agent(folder)
    if kind == "submission":
        card = json.loads((ONNX / "card.json").read_text())
        del card["onnx"]
        card |= {"name": "mine", "weights": "agent.safetensors", "agent": json.loads((folder / "card.json").read_text())}
        (folder / "card.json").write_text(json.dumps(card))


def _user(kind, folder):
    """Return a function that loads a folder and decides on observations; an agent that fails in play is a verdict, not an error."""
    import gymnasium  # noqa: F401  (before the hook listens)

    import vcgym.envs  # noqa: F401
    from vcgym.agents.published.export import load_agent
    from vcgym.leaderboard.evaluation.cells.playing import EntrantError, Judged
    from vcgym.submissions.load import read

    rng = np.random.default_rng(2)

    def use():
        if kind == "agent":
            policy = load_agent(folder)
            width = len(policy.observation_space.low)
            try:
                policy.predict(rng.normal(size=(3, width)).astype(np.float32))
            except ValueError:
                return "taken, refused in play"
            return "taken"
        submission = read(folder)
        try:
            Judged(submission.published).predict(rng.normal(size=(3, PATHS * 9 + 12)).astype(np.float32))
        except EntrantError:
            return "taken, left out in play"
        return "taken"

    return use


def _child(kind, start, count, folder):
    whole, broken, victim = folder / "whole", folder / "broken", folder / "victim.txt"
    folder.mkdir(parents=True)
    _make(kind, whole)
    victim.write_text("kept")
    files = [path for path in sorted(whole.rglob("*")) if path.is_file() and path.stat().st_size]
    contents = {str(path.relative_to(whole)): path.read_bytes() for path in files}
    shutil.copytree(whole, broken)
    use, watch = user(kind, broken) if kind in MADE else _user(kind, broken), Watch(templates=kind == "board")
    use()
    for number in range(-40 if kind != "board" else -5, count):  # the first ones trigger Python's lazy imports
        rng = np.random.default_rng([number + 40, start])
        name = list(contents)[rng.integers(len(contents))]
        content, _ = mutated(name, contents[name], rng)
        if kind == "study" and number % 5 == 0:
            name, module = "config.json", MODULES[rng.integers(len(MODULES))]
            content = contents[name].replace(b"vcgym/Call-v1", f"{module}:vcgym/Call-v1".encode(), 1)
        if kind == "checkpoint" and _same(name, content, contents[name]):
            continue
        shutil.rmtree(broken)
        shutil.copytree(whole, broken)
        (broken / name).write_bytes(content)
        if kind in MADE and rng.random() < 0.7:
            seal(broken / name)
        if number < 0:
            try:
                use()
            except Exception:
                continue
        else:
            watch.attempt(str(broken), use)
            if {path.name for path in folder.iterdir()} != {"whole", "broken", "victim.txt"} or victim.read_text() != "kept":
                watch.wrong.append(f"touched {folder}: {name}")
    watch.report()


def _same(name, content, before):
    """Return True for a mutation without effect, such as the layout of JSON."""
    if name != "training.json" or content == before:
        return content == before
    try:
        return json.loads(content) == json.loads(before)
    except (ValueError, RecursionError):
        return False


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
