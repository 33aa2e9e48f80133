"""Study of generalisation: ``python -m lab generalise`` trains PPO on Call, with few worlds, and with kinds of worlds left out.

Each agent plays validation worlds of every kind, and those with few training worlds these worlds too, next to the best tuned rule
(`vcgym.scripts.regret`). What is finished lies in `rows.csv` of the folder; a killed run goes on. The figures go to lab/notes/pictures.
"""

import csv
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pydantic import Field

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig, TrainConfig
from vcgym.agents.published.export import load_agent
from vcgym.agents.training.training import train
from vcgym.scripts.regret import compared

log = logging.getLogger(__name__)
PICTURES = Path(__file__).parents[1] / "notes" / "pictures"
COLUMNS = "training", "seed", "split", "kind", "worlds", "reference", "r", "above"


class GeneraliseConfig(Config):
    """Trainings over numbers of worlds of the first kind, over all kinds, and without each of them.

    Attributes:
        kinds: kinds of worlds, as "scenario mode".
        worlds: numbers of training worlds of the first kind; None: all.
        seeds: seeds of each training.
        algorithm: settings of PPO.
        num_envs: calls played in parallel.
        steps: decisions of a training.
        packets: length of a call in slots of 10 ms.
        episodes: worlds of each kind that an agent plays.
        folder: folder of agents and rows.csv.
    """

    kinds: Annotated[list[str], Field(min_length=2)] = Field(default=["wonderproxy correlated", "wonderproxy paper", "stress correlated"])
    worlds: list[Annotated[int, Field(ge=1)] | None] = Field(default=[1, 10, 100, 1000, None])
    seeds: Annotated[list[int], Field(min_length=1)] = Field(default=[0, 1, 2])
    algorithm: PPOConfig = Field(default_factory=PPOConfig)
    num_envs: Annotated[int, Field(ge=1)] = PPOConfig.num_envs
    steps: Annotated[int, Field(ge=1)] = PPOConfig.steps
    packets: Annotated[int, Field(ge=1)] = 6000
    episodes: Annotated[int, Field(ge=2)] = 100
    folder: AbsolutePath = Path("outputs/generalise")


class Training(NamedTuple):
    """A training by its name in the rows, and the options of its environment."""

    name: str
    options: dict[str, Any]


def trainings(config: GeneraliseConfig) -> Iterator[Training]:
    """Yield the trainings of a seed, those of the curve first."""
    for count in config.worlds:
        yield Training(f"{count or 'all'} worlds", {"scenario": config.kinds[:1], "worlds": count})
    yield Training("all kinds", {"scenario": config.kinds})
    for left_out in config.kinds:
        yield Training(f"without {left_out}", {"scenario": [kind for kind in config.kinds if kind != left_out]})


def played(config: GeneraliseConfig, one: Training, seed: int) -> list[dict[str, Any]]:
    """Train an agent, and return its rows."""
    usual = {"packets": config.packets}
    env = EnvConfig(options=one.options | usual)
    study = TrainConfig(
        env=env, algorithm=config.algorithm, num_envs=config.num_envs, steps=config.steps, resume=True,
        folder=config.folder / one.name.replace(" ", "-"),
    )  # fmt: skip
    agent = train(study, seed).agent
    rows = []
    every: tuple[Literal["validation", "train"], ...] = "validation", "train"
    for split, options in zip(every, (usual | {"scenario": config.kinds}, one.options | usual), strict=True):
        asked = EvaluateConfig(agent=agent, split=split, episodes=config.episodes)
        for found in compared(load_agent(agent), asked, EnvConfig(options=options)):
            above = found.r - found.rule_r
            cells = one.name, seed, split, found.kind, len(above), found.reference, found.r.mean(), above.mean()
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def read(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; none if it does not exist."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return [row | {name: float(row[name]) for name in ("r", "above")} for row in csv.DictReader(lines)]


def values(rows: list[dict[str, Any]], training: str, split: str, kind: str) -> np.ndarray:
    """Return R above the rule of each seed of a training on a kind."""
    return np.array([row["above"] for row in rows if (row["training"], row["split"], row["kind"]) == (training, split, kind)])


def draw(config: GeneraliseConfig, rows: list[dict[str, Any]], file: Path) -> None:
    """Draw R above the rule over the number of training worlds."""
    figure = Figure(figsize=(7.2, 4.0), dpi=100, layout="constrained")
    axes, names = figure.add_subplot(), [f"{count or 'all'} worlds" for count in config.worlds]
    for split, label, colour in (("validation", "worlds never seen", "#1f4ea1"), ("train", "training worlds", "#b8bec6")):
        found = [values(rows, name, split, config.kinds[0]) for name in names]
        middle, ends = np.array([one.mean() for one in found]), np.array([(one.min(), one.max()) for one in found]).T
        axes.errorbar(range(len(names)), middle, np.abs(ends - middle), label=f"{label}: mean, least and most of the seeds", color=colour)
    axes.axhline(0.0, color="#c83c28", linewidth=1.0, label="best tuned rule")
    axes.set_xticks(range(len(names)), [name.removesuffix(" worlds") for name in names])
    axes.set(xlabel="training worlds", ylabel="R above the best tuned rule", title=f"PPO on Call, {config.kinds[0]}")
    axes.legend(fontsize="small")
    axes.grid(color="#e8eaed")
    FigureCanvasAgg(figure).print_png(file)


def table(config: GeneraliseConfig, rows: list[dict[str, Any]]) -> str:
    """Return the table of R above the best tuned rule of each kind, mean and range over seeds, and of the regrets."""
    lines = [f"| training | {' | '.join(config.kinds)} | mean regret | worst |", f"| --- |{' ---: |' * (len(config.kinds) + 2)}"]
    for one in trainings(config):
        found = np.array([values(rows, one.name, "validation", kind) for kind in config.kinds])
        if found.size:
            cells = [f"{of_kind.mean():+.2f} ({of_kind.min():+.2f}, {of_kind.max():+.2f})" for of_kind in found]
            lines.append(f"| {one.name} | {' | '.join(cells)} | {-found.mean():.2f} | {-found.mean(axis=1).min():.2f} |")
    return "\n".join(lines)


def main(config: GeneraliseConfig) -> None:
    """Train and play what is missing; print the table, and draw the curve."""
    config.folder.mkdir(parents=True, exist_ok=True)
    file = config.folder / "rows.csv"
    for one in trainings(config):
        for seed in config.seeds:
            rows = read(file)
            if not any((row["training"], row["seed"]) == (one.name, str(seed)) for row in rows):
                new = not rows
                with file.open("a", encoding="utf-8", newline="") as lines:
                    writer = csv.DictWriter(lines, COLUMNS)
                    if new:
                        writer.writeheader()
                    writer.writerows(played(config, one, seed))
    log.info(table(config, read(file)))
    draw(config, read(file), PICTURES / "generalise.png")
