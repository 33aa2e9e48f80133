"""Parts of every training: its result, the values that identify it, and the checkpoint from which it goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.evaluate import Evaluation
from vcgym.agents.training import checkpoint

# Called with metric values by name and the number of transitions so far.
Log = Callable[[dict[str, float], int], None]


@dataclass(frozen=True)
class Trained:
    """Training result: folder of the published agent or learned system, number of transitions, and the last evaluation."""

    agent: Path
    steps: int
    validation: Evaluation


def newest_checkpoint(config: TrainConfig, seed: int) -> Path | None:
    """Return the newest checkpoint of a seed, or None.

    Raises:
        FileExistsError: there is one, and `config.resume` is false.
    """
    home = config.folder / f"seed-{seed}"
    newest = checkpoint.newest(checkpoint.folder_of(home))
    if newest is not None and not config.resume:
        raise FileExistsError(f"{home} holds a training (resume is {config.resume}); set resume=true or another folder")
    return newest


def identity_of(config: TrainConfig, seed: int) -> dict[str, Any]:
    """Return the values of a config that must be equal for a resumed training to equal an uninterrupted one."""
    parts: dict[str, Any] = {"seed": seed, "num_envs": config.num_envs, "steps": config.steps, "threads": config.threads}
    parts |= {"env.id": config.env.id}
    parts |= {f"env.options.{name}": value for name, value in config.env.model_dump(mode="json")["options"].items()}
    return parts | {f"algorithm.{name}": value for name, value in config.algorithm.model_dump(mode="json").items()}
