"""Small pieces of every kind of long work, each a process: `python -m campaigns.work.pieces NAME FOLDER`. A restarted one resumes."""

import signal
import sys
from pathlib import Path

from campaigns.work.spoilers import spoil
from lab.commands import LAB
from vcgym.scripts.console.program import VCGYM

SYSTEMS = ("DRT-WM", "VIA-WM", "DRT-FIX")
TRAIN = (
    "env.id=vcgym/Playout-v1", "+env.options.packets=60", "num_envs=8", "steps=2048", "evaluate_every=8", "evaluation_episodes=3",
    "checkpoint_every=2", "device=cpu", "algorithm.n_steps=32", "algorithm.batch_size=64", "algorithm.n_epochs=2", "algorithm.hidden=8",
)  # fmt: skip


def _command(name, folder, *overrides, program=VCGYM):
    """Run a command of a program with its log below `folder`."""
    sys.argv = [program.name, name, *overrides, f"hydra.run.dir={folder / 'log'}"]
    program.main()


def _quiet(done, note):
    pass


def training(folder):
    """Train one agent."""
    _command("train", folder, *TRAIN, f"folder={folder / 'study'}", "resume=true")


def sweep(folder, *overrides):
    """Sweep over two trials in sequence, so that the scheduler always sees the same order."""
    train = [override.replace("+env", "+train.env") if override.startswith("+") else f"train.{override}" for override in TRAIN]
    train += [f"train.folder={folder / 'sweep'}", "train.resume=true"]
    _command("sweep", folder, *train, "trials=2", "concurrent=1", *overrides)


def tuning(folder):
    """Tune one rule, then pairs of two routers and two receivers."""
    rules = ("systems=[DRT-FIX]", "sending.senders=[]", "pairs.routers=[DRT-WM,GRD-WM]", "pairs.receivers=[DRT-FIX,GRD-EWMAH]")
    rounds = "rounds: [{trials: 5, worlds: 6, left: 3}, {trials: 4, worlds: 8, left: 2}]"
    modes = f"pairs.modes=[{{mode: correlated, router: GRD-WM-tuned, receiver: DRT-EWMA-tuned, {rounds}}}]"
    small = ("trials=5", "worlds=6", "validation_worlds=4", "pairs.validation_worlds=4", "packets=300", "workers=1")
    _command("tune", folder, *rules, modes, *small, f"folder={folder / 'tuned'}")


def pair(folder):
    """Train a router and a lag in turns."""
    worlds = ("worlds=[wonderproxy correlated,table1 paper]", "packets=300", "calls=8", "validation_calls=5", "references=[DRT-WM]")
    lag = ("calls_per_step=8", "lag_steps=40", "hidden=8")
    router = ("trials=24", "rough_trials=12", "population=4", "chunks=2")
    _command("train-pair", folder, *worlds, *lag, *router, "threads=1", f"folder={folder / 'pair'}", "resume=true", program=LAB)


def leaderboard(folder, *overrides):
    """Play a suite of two scenarios, in the place of a known one: the command takes only names that it knows."""
    from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite

    SUITES["default"] = Suite("mini", "v0", 600, (Part("wonderproxy", "correlated", 4), Part("table1", "paper", 1)))
    small = ("suite=default", f"systems=[{','.join(SYSTEMS)}]", "train=null", "threads=1", f"folder={folder / 'run'}")
    _command("leaderboard", folder, *small, *overrides)


def headroom(folder):
    """Play oracles on the worlds of a suite."""
    from lab.studies.headroom.run import worlds, write_headroom
    from vcgym.baselines.systems import load_systems
    from vcgym.leaderboard.results import files as results

    if not (folder / "run" / "leaderboard.md").exists():
        leaderboard(folder)
    played = results.read(results.RESULTS, folder / "run" / "results.parquet")
    references = {name: system for name, system in load_systems(SYSTEMS).items() if name != "DRT-FIX"}
    write_headroom(folder / "run", worlds(played), references, folder / "kept", 1, _quiet)


def predictor(folder):
    """Build rows and train the network on them."""
    from vcgym.baselines.systems import load_systems
    from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig, TrainPredictorConfig
    from vcgym.leaderboard.forecasts.data import build
    from vcgym.leaderboard.forecasts.train import train_predictor
    from vcgym.predictors.dnn import Dnn

    parts = [DataPart(scenario="table1", mode="paper", seeds=1)]
    given = PredictorDataConfig(parts=parts, splits=["train"], packets=500, rows=1500, threads=1, folder=folder / "rows")
    build(given, load_systems(("DRT-WM", "VIA-WM")), _quiet)
    network, rows = Dnn(epochs=3, batch_size=64), folder / "rows" / "rows.parquet"
    train_predictor(TrainPredictorConfig(network=network, rows=rows, folder=folder / "network", resume=True), _quiet)


WORK = {one.__name__: one for one in (training, sweep, tuning, pair, leaderboard, headroom, predictor)}
FINAL = {
    "training": ("study/seed-0/agent/*",),
    "sweep": ("sweep/agents/*/seed-0/agent/*", "sweep/agents/*/seed-0/checkpoints/*/*.safetensors"),
    "tuning": ("tuned/*.json",),
    "pair": ("pair/seed-0/learned*", "pair/seed-0/*.safetensors", "pair/seed-0/*.jsonl"),
    "leaderboard": ("run/results.parquet", "run/cdf.parquet", "run/leaderboard.md", "run/*.html"),
    "headroom": ("run/[!t]*.parquet", "run/*.md", "run/*.html"),  # all but timing.parquet
    "predictor": ("rows/rows.parquet", "network/predictor/*"),
}
"""Files of each work that are its results."""

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it, and nohup SIGHUP
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    spoil()
    WORK[sys.argv[1]](Path(sys.argv[2]))
