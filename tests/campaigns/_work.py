"""Small pieces of every kind of long work, each a process: `python -m campaigns._work NAME FOLDER`. A restarted one resumes."""

import importlib
import signal
import sys
from pathlib import Path

from campaigns._spoilers import spoil

SYSTEMS = ("DRT-WM", "VIA-WM", "DRT-FIX")
TRAIN = (
    "env.id=vcgym/Playout-v0", "+env.options.packets=60", "num_envs=8", "steps=2048", "evaluate_every=8", "evaluation_episodes=3",
    "checkpoint_every=2", "device=cpu", "algorithm.n_steps=32", "algorithm.batch_size=64", "algorithm.n_epochs=2", "algorithm.hidden=8",
)  # fmt: skip


def _command(name, folder, *overrides):
    """Run a console command with its log below `folder`."""
    sys.argv = [f"vcgym-{name}", *overrides, f"hydra.run.dir={folder / 'log'}"]
    importlib.import_module(f"vcgym.scripts.{name}").main()


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
    """Tune one rule."""
    small = ("systems=[DRT-FIX]", "sending.senders=[]", "trials=5", "worlds=6", "validation_worlds=4", "packets=300", "workers=1")
    _command("tune", folder, *small, f"folder={folder / 'tuned'}")


def leaderboard(folder, *overrides):
    """Play a suite of two scenarios."""
    from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite

    SUITES["mini-v0"] = Suite("mini", "v0", 600, (Part("wonderproxy", "correlated", 4), Part("table1", "paper", 1)))
    small = ("suite=mini-v0", f"systems=[{','.join(SYSTEMS)}]", "train=null", "threads=1", f"folder={folder / 'run'}")
    _command("leaderboard", folder, *small, *overrides)


def headroom(folder):
    """Play oracles on the worlds of a suite."""
    from vcgym.baselines.systems import load_systems
    from vcgym.leaderboard.headroom.run import worlds, write_headroom
    from vcgym.leaderboard.results import files as results

    if not (folder / "run" / "leaderboard.md").exists():
        leaderboard(folder)
    played = results.read(results.RESULTS, folder / "run" / "results.parquet")
    references = {name: system for name, system in load_systems(SYSTEMS).items() if name != "DRT-FIX"}
    write_headroom(folder / "run", worlds(played), references, folder / "kept", 1, _quiet)


def predictor(folder):
    """Build rows and fit two methods on them."""
    from vcgym.baselines.systems import load_systems
    from vcgym.leaderboard.forecasts.config import DataPart, PredictorDataConfig, RowSet, TrainPredictorConfig
    from vcgym.leaderboard.forecasts.data import build
    from vcgym.leaderboard.forecasts.study import run_study
    from vcgym.predictors.study.dnn import Dnn
    from vcgym.predictors.study.simple import Linear

    parts = [DataPart(scenario="table1", mode="paper", seeds=1)]
    given = PredictorDataConfig(parts=parts, splits=["train"], packets=500, rows=1500, threads=1, folder=folder / "rows")
    build(given, load_systems(("DRT-WM", "VIA-WM")), _quiet)
    methods = {"dnn": Dnn(epochs=3, batch_size=64), "linear": Linear()}
    sets = {"both": RowSet(worlds=["*/paper"])}
    rows, study = folder / "rows" / "rows.parquet", folder / "study"
    run_study(TrainPredictorConfig(methods=methods, sets=sets, holdouts=["random"], seeds=[0, 1], rows=rows, folder=study, resume=True))


WORK = {one.__name__: one for one in (training, sweep, tuning, leaderboard, headroom, predictor)}
FINAL = {
    "training": ("study/seed-0/agent/*",),
    "sweep": ("sweep/agents/*/seed-0/agent/*", "sweep/agents/*/seed-0/checkpoints/*/*.safetensors"),
    "tuning": ("tuned/*.json",),
    "leaderboard": ("run/results.parquet", "run/cdf.parquet", "run/leaderboard.md", "run/*.html"),
    "headroom": ("run/[!t]*.parquet", "run/*.md", "run/*.html"),  # all but timing.parquet
    "predictor": ("rows/rows.parquet", "study/predictor/*", "study/tables/*"),
}
"""Files of each work that are its results."""

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
    spoil()
    WORK[sys.argv[1]](Path(sys.argv[2]))
