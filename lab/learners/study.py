"""A study of learned pairs: one training per seed, each logged as a run nested in the study's and saved as a learned system."""

import hashlib
import logging
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import torch

from lab.learners.pair import Log, Turns, scenarios_of
from lab.learners.pair_config import PairConfig
from vcgym.agents.sweeps.search import ray_running
from vcgym.agents.tracking import registry
from vcgym.agents.tracking.progress import progress
from vcgym.agents.tracking.same_study import require_same_study
from vcgym.agents.tracking.tracking import Run, Tracking
from vcgym.baselines.systems import System, learned_system, load_system
from vcgym.baselines.zoo import CARD, LEARNED, WEIGHTS, save_learned
from vcgym.network.traces.plain_file import replace_file, require_space

log = logging.getLogger(__name__)

TITLE, MODEL = "Call-v1 learned pair", "vcgym-learned-pair"
START = "start"
"""Name of a pair before it learned anything, in the folder of its seed."""


class LearnedPair(NamedTuple):
    """Result of a training: folder of the seed, and mean R on the validation worlds after each half of a turn."""

    folder: Path
    validation_r: dict[str, float]


def run_pairs(config: PairConfig) -> list[LearnedPair]:
    """Train once per seed of `config` and log every run.

    Raises:
        FileExistsError: the folder holds a training and `config.resume` is false.
        ValueError: the folder holds a study of another config, or a kind of worlds or a reference does not exist.
        DataError: data is missing or broken, or the disk of the folder is almost full.
    """
    torch.set_num_threads(1)  # its layers are small: more threads are slower, and their number would change the sums
    config.data.export()
    cards = [scenario.layout.card for scenario in scenarios_of(config, config.kinds)]
    references = _references(config)
    require_same_study(config.folder, config)
    require_space(config.folder)
    begun = [seed for seed in config.seeds if (config.folder / f"seed-{seed}").exists()]
    if begun and not config.resume:
        raise FileExistsError(f"{config.folder} holds a training of seeds {begun} (resume is False); set resume=true or another folder")
    config.folder.mkdir(parents=True, exist_ok=True)
    replace_file(config.folder / "config.json", (config.model_dump_json(indent=2) + "\n").encode())
    tracking, data = Tracking(), hashlib.sha256(" ".join(cards).encode()).hexdigest()
    results = []
    runs = []
    tags = {"env": "vcgym/Call-v1", "algorithm": "learned pair", "study": config.study, "data_hash": data}
    processes = ray_running(config.workers, config.ray.address) if config.on_ray else nullcontext()
    with processes, tracking.run(f"{TITLE}: {config.study}", tags=tags, marker=config.folder / "mlflow_run") as study:
        study.config(config)
        for seed in config.seeds:
            home = config.folder / f"seed-{seed}"
            home.mkdir(exist_ok=True)
            marker = home / "mlflow_run"
            with tracking.run(f"{TITLE} seed {seed}", parent=study, tags=tags | {"seed": str(seed)}, marker=marker) as run:
                run.config(config.model_copy(update={"seeds": [seed]}))
                for kind, card in zip(config.kinds, cards, strict=True):
                    run.worlds(kind, card)
                results.append(_train(config, seed, home, references, run.metrics))
                _log_pair(run, home, results[-1].validation_r["end"])
                run.folder(home)
                runs.append(run)
        best, _ = max(zip(runs, results, strict=True), key=lambda one: one[1].validation_r["end"])
        study.server.ask(lambda: registry.set_champion(best, MODEL))
    return results


def _log_pair(run: Run, home: Path, validation_r: float) -> None:
    pair = learned_system(home, LEARNED)
    files = home / f"{LEARNED}{CARD}", home / f"{LEARNED}{WEIGHTS}"
    metrics = {"final/r": validation_r}
    run.server.ask(lambda: registry.log_model(run, MODEL, registry.pair(files), pair.trained_packets, metrics))


def _references(config: PairConfig) -> dict[str, System]:
    found = {name: load_system(name) for name in config.references}
    if senders := [name for name, system in found.items() if system.plays != "paths"]:
        raise ValueError(f"references has {senders}; allowed: systems with path and playout")
    return found


def _train(config: PairConfig, seed: int, home: Path, references: Mapping[str, System], log: Log) -> LearnedPair:
    with progress(f"{config.study} seed {seed}, millions of packets", 0) as report:
        lines: dict[str, float] = {}

        def on_metrics(metrics: dict[str, float], packets: int) -> None:
            log(metrics | {f"reference/{name.replace('+', ' ')}": r for name, r in lines.items()}, packets)
            report(packets // 1_000_000, " ".join(f"{name} {value:.2f}" for name, value in metrics.items()))

        turns = Turns(config, seed, home, on_metrics)
        for name, system in references.items():
            lines[name] = turns.validation_r(system.path, system.playout)
        _publish(home, START, turns, {"start": turns.validation_r(*turns.pair)} | lines)
        found = turns.play()
        _publish(home, LEARNED, turns, found | lines | turns.validation_by_kind(*turns.pair))
    return LearnedPair(home, found | lines)


def _publish(home: Path, name: str, turns: Turns, validation_r: dict[str, float]) -> None:
    config = turns.config
    study = {
        "config": config.decisive(),
        "seed": turns.seed,
        "budget": {"packets": turns.packets_played, "worlds": len(config.kinds) * config.calls},
        "validation_r": {stage: round(r, 3) for stage, r in validation_r.items()},
    }
    description = f"A learned router (a cost per path) and a learned lag (a network at the receiver), seed {turns.seed}"
    source = f"python -m lab train-pair on the training split of {', '.join(config.kinds)}"
    save_learned(home, name, turns.pair._asdict(), study, description, source)


def main(config: PairConfig) -> None:
    """Train the pairs and print their folders."""
    for pair in run_pairs(config):
        log.info(f"{pair.folder}: validation R " + ", ".join(f"{stage} {r:.2f}" for stage, r in pair.validation_r.items()))
