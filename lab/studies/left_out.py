"""Regret in worlds of kinds that an agent was not trained on: ``python -m lab.studies.left_out`` draws the kept table.

``python -m lab.studies.left_out all 5g ...`` first trains with all kinds and without each named group, plays the validation worlds of every
kind and keeps regrets: R of the best tuned rule of the kind, which choosing it on these worlds favours, less R of the agent. A training
takes about a minute of CPU time. `leo` needs VCGYM_DATA. Agents:

    rule    the tuned rule with the least regret (`vcgym.leaderboard.tuning.regret`) over the validation worlds of the other kinds
    pair    lag by gradient and prices of roughness by search, from nothing, hedged with running quantiles (`lab.learners`)
    PPO     path and lag inside the loop, by reward alone (`vcgym.agents.inside`)
"""

import csv
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lab.learners.experts import TEMPERATURE
from lab.learners.pair import Turns
from lab.learners.pair_config import PairConfig
from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.controllers.hedged_lag import HedgedLag
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.inside.learner import Learning
from vcgym.agents.inside.tasks import task_of
from vcgym.baselines.controls.control import PATHS
from vcgym.baselines.system_files import system_names, tuned_names
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.tuning.regret import chosen
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file

GROUPS: dict[str, list[str]] = yaml.safe_load(files("vcgym.conf").joinpath("tune.yaml").read_text(encoding="utf-8"))["kinds"]
"""Kinds of worlds, as "scenario mode", that are left out together."""
KINDS = [kind for kinds in GROUPS.values() for kind in kinds]
PACKETS, WORLDS = 4000, 120
RULES = tuple(name for name in system_names() if name in tuned_names() and load_system(name).plays == PATHS)
QUANTILES = (0.15, 0.15, 0.10)  # prior weights in the hedge; the network has the rest
TICKS = (-10, -3, -1, 0, 1, 3, 10)
TABLE, PICTURE = Path(__file__).with_name("left_out.csv"), Path(__file__).parents[2] / "lab/notes/pictures/left_out.png"
FOLDER = Path("outputs/left_out")


class Regret(NamedTuple):
    """Mean regret of an agent in a kind of worlds, seen in training and unseen, and how much more it is unseen; 95 % half widths."""

    agent: str
    group: str
    kind: str
    seen: float
    seen_half: float
    unseen: float
    unseen_half: float
    change: float
    change_half: float


@cache
def _calls(kind: str) -> TrainingCalls:
    name, mode = kind.split()
    return TrainingCalls.evenly(Scenario(name, mode, PACKETS), "validation", WORLDS)


@cache
def _of_rule(name: str, kind: str) -> NDArray[np.float64]:
    system = load_system(name)
    return _calls(kind).scores(system.path, system.playout)


def rule(kinds: Sequence[str]) -> System:
    """Return the tuned rule with the least regret over the validation worlds of `kinds`."""
    return load_system(RULES[chosen(np.array([[_of_rule(name, kind) for kind in kinds] for name in RULES]))])


def ppo(kinds: Sequence[str]) -> System:
    """Return path and lag by reward alone after 30 million decisions."""
    settings = InsidePPOConfig(kinds=list(kinds), worlds=150 * len(kinds))
    task = task_of(EnvConfig(id="vcgym/Call-v1", options={"packets": PACKETS, "reward": "impairment"}), settings.kinds)
    learning = Learning(task, settings, 4, 30_000_000, 0)
    while learning.decisions < learning.steps:
        learning.turn()
    return learning.system


def pair(kinds: Sequence[str]) -> System:
    """Return a router whose prices of roughness are searched in worlds of mode paper, if there are any, and a hedged lag."""
    rough_trials = 160 if any(kind.endswith(" paper") for kind in kinds) else 0
    config = PairConfig(
        worlds=list(kinds), packets=PACKETS, calls=32, validation_calls=2, lag_steps=500, calls_per_step=8, trials=0,
        rough_trials=rough_trials, chunks=4, threads=1, references=[],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        turns = Turns(config, 0, Path(folder), lambda metrics, packets: None)
        turns.play()
    path, lag = turns.pair
    first, second, last = (np.stack([layer]) for layer in lag[:3])
    return System(path, HedgedLag(first, second, last, np.array([1.0 - sum(QUANTILES), *QUANTILES]), TEMPERATURE))


AGENTS: dict[str, Callable[[Sequence[str]], System]] = {"rule": rule, "pair": pair, "PPO": ppo}


def measure(agent: str, left_out: str) -> None:
    """Train an agent without a group of kinds, and write R of the validation worlds of every kind into `FOLDER`."""
    torch.set_num_threads(1)
    system = AGENTS[agent]([kind for kind in KINDS if kind not in GROUPS.get(left_out, ())])
    scores = np.array([_calls(kind).scores(system.path, system.playout) for kind in KINDS])
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.save(FOLDER / f"{agent}-{left_out}.npy", scores)


def regrets(agent: str) -> Iterator[Regret]:
    """Yield the regrets of an agent in each kind whose group was measured."""
    seen = np.load(FOLDER / f"{agent}-all.npy")
    for group, kinds in GROUPS.items():
        if not (file := FOLDER / f"{agent}-{group}.npy").exists():
            continue
        unseen = np.load(file)
        for kind in kinds:
            row = KINDS.index(kind)
            bar = max((_of_rule(name, kind) for name in RULES), key=lambda r: float(r.mean()))
            samples = bar - seen[row], bar - unseen[row], seen[row] - unseen[row]
            yield Regret(agent, group, kind, *(round(value, 3) for one in samples for value in _estimate(one)))


def _estimate(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(values.size))


def kept() -> list[Regret]:
    """Return the kept table."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [Regret(agent, group, kind, *map(float, numbers)) for agent, group, kind, *numbers in rows]


def table(found: Sequence[Regret]) -> str:
    """Return the table of a page: a row for each kind, for each agent its regret seen and unseen."""
    by_agent = {agent: {one.kind: one for one in found if one.agent == agent} for agent in AGENTS}
    rows = [[kind, *(cell for of in by_agent.values() for cell in (_cells(of[kind]) if kind in of else ("", "")))] for kind in KINDS]
    return markdown_table(("kind", *(f"{agent}, {which}" for agent in AGENTS for which in ("seen", "unseen"))), rows, ("kind",))


def _cells(one: Regret) -> tuple[str, str]:
    change = f" ({one.change:+.2f} ± {one.change_half:.2f})" if one.change_half else ""
    return f"{one.seen:+.2f}", f"{one.unseen:+.2f}{change}"


def draw(found: Sequence[Regret], path: Path) -> None:
    """Draw the regret of each kind, seen and unseen, for each agent."""
    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    panels: Any = figure.subplots(1, len(AGENTS), sharey=True, sharex=True)
    for axes, agent in zip(panels, AGENTS, strict=True):
        of = [one for one in found if one.agent == agent]
        at = [-KINDS.index(one.kind) for one in of]
        axes.hlines(at, [one.seen for one in of], [one.unseen for one in of], color="#b8bec6", linewidth=1.5)
        for field, color, label in (("seen", "#1f4ea1", "trained on its kind"), ("unseen", "#c83c28", "its group left out")):
            values, halves = ([getattr(one, field + end) for one in of] for end in ("", "_half"))
            axes.errorbar(values, at, xerr=halves, fmt="o", color=color, markersize=4, elinewidth=0.8, label=label)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xticks(TICKS, list(map(str, TICKS)))
        axes.set(title=agent, xlabel="R of the best tuned rule less its R")
        axes.grid(color="#e8eaed")
    panels[0].set_yticks(-np.arange(len(KINDS)), KINDS)
    panels[0].legend(loc="upper left", fontsize=7)
    figure.savefig(path, dpi=75, metadata={"Software": None})


def main() -> None:
    """Measure the named groups and keep the table, if groups are named; draw the picture and print the table."""
    if groups := sys.argv[1:]:
        for agent in AGENTS:
            for group in groups:
                measure(agent, group)
        lines = [",".join(Regret._fields), *(",".join(map(str, one)) for agent in AGENTS for one in regrets(agent))]
        replace_file(TABLE, ("\n".join(lines) + "\n").encode())
    draw(kept(), PICTURE)
    print(table(kept()))


if __name__ == "__main__":
    main()
