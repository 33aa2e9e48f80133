"""Mutated checkpoints are rejected by their hash.

Configs of studies, mutated or with an environment whose module an import would run, are rejected or used; no module is imported.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from campaigns.case import Case
from campaigns.hostile.mutations import mutated
from campaigns.hostile.watched import MAX_MESSAGE, Watch, added, run_child
from campaigns.untrusted_agents import publish_agent

FILES = {"small": 100, "medium": 500, "full": 1250}  # of each kind; with those of untrusted_agents more than 10,000
PER_CHILD = 500
NAMES = ("state.pt", "training.json")
MODULES = ("this", "antigravity", "campaigns.kills", "no.such", "", "a:b")  # an import of the first two would print, and open a browser


def run(scale, folder):
    """Yield a case for changed checkpoints, and one for configs of studies."""
    for kind in ("changed", "study"):
        starts = range(0, FILES[scale], PER_CHILD)
        reports = [run_child(__name__, kind, start, min(PER_CHILD, FILES[scale] - start), folder / f"{kind}-{start}") for start in starts]
        found = added(reports)
        silent = found.get("taken", 0) if kind == "changed" else 0
        held = found["wrong"] == found["code executed"] == silent == 0 and found["longest message"] <= MAX_MESSAGE
        yield Case("configs of studies" if kind == "study" else f"{kind} checkpoints", held, found)


def _model(folder):
    from vcgym.agents.config.algorithms import PPOConfig
    from vcgym.agents.config.env import EnvConfig
    from vcgym.agents.config.training import TrainConfig
    from vcgym.agents.training.learners import build_model

    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=1, hidden=8)
    env = EnvConfig(id="vcgym/Call-v1", options={"packets": 230, "action": "discrete", "interval": 10})
    return build_model(TrainConfig(env=env, algorithm=ppo, num_envs=2, device="cpu", folder=folder), seed=5)


def _child(start, count, folder):
    import torch

    from vcgym.agents.training import checkpoint

    torch.set_num_threads(1)
    folder.mkdir(parents=True)
    model = _model(folder)
    model.learn(64)
    whole = checkpoint.save(folder / "whole", model, {"format": 3})
    contents = {name: (whole / name).read_bytes() for name in NAMES}
    broken = Path(shutil.copytree(whole, folder / "broken"))
    checkpoint.load(broken, model, {"format": 3})
    watch = Watch()
    for number in range(count):
        rng = np.random.default_rng([number, start])
        name = NAMES[rng.integers(2)]
        content, _ = mutated(name, contents[name], rng)
        if not _same(name, content, contents[name]):
            shutil.copytree(whole, broken, dirs_exist_ok=True)
            (broken / name).write_bytes(content)
            watch.attempt(str(broken), lambda: checkpoint.load(broken, model, {"format": 3}) or "taken")
    watch.report()


def _studies(start, count, folder):
    from vcgym.agents.config.training import TrainConfig
    from vcgym.leaderboard.evaluation.participants import study_agents
    from vcgym.leaderboard.evaluation.suites import SUITES
    from vcgym.live.call.policies import live_policy

    (folder / "seed-0").mkdir(parents=True)
    publish_agent(folder / "seed-0" / "agent")
    whole, path = TrainConfig().model_dump_json(indent=1).encode(), folder / "config.json"

    def use():
        live_policy(str(folder / "seed-0"))
        study_agents("sent", folder, SUITES["correlated-v0"])
        return "taken"

    watch = Watch()
    for number in range(-1, count):
        rng = np.random.default_rng([number + 1, start])
        path.write_bytes(whole if number < 0 else mutated("config.json", whole, rng)[0])
        if number % 5 == 0:
            path.write_bytes(whole.replace(b"vcgym/Call-v1", f"{MODULES[rng.integers(len(MODULES))]}:vcgym/Call-v1".encode(), 1))
        use() if number < 0 else watch.attempt(str(path), use)
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
    kind, start, count, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    _studies(start, count, folder) if kind == "study" else _child(start, count, folder)
