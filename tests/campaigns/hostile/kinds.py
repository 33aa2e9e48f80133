"""Kinds of files that may be somebody else's: how a whole one is made, and what uses it."""

import hashlib
import json
import shutil

import numpy as np

SCORES = 33
TRAINING = {"format": 3}
HELD_LAW = {
    "level_ms": [30.0] * SCORES, "scale_ms": [1.0] * SCORES, "jitter": [-1.0] * 16 + [0.0] + [1.0] * 16, "level_held_ms": 1000.0,
    "scale_held_ms": 1000.0, "tau_ms": 100.0, "largest_ms": 80.0, "loss": 0.01, "loss_run": 2.0,
}  # fmt: skip
FIRST_LAW = {"base_ms": 20.0, "log_mean": 0.0, "log_sd": 0.5, "loss": 0.0, "loss_run": 1.0, "tau_ms": 100.0}
CARD = dict.fromkeys(("name", "description", "source", "licence", "units"), "test") | {"kind": "fitted", "sha256": "0" * 64}


def seal(path):
    """Let the hashes of a file with a card agree with its content, as somebody who forges it would."""
    from vcgym.network.traces.cards import canonical_sha256

    card = path.with_suffix(".json")
    try:
        body = json.loads(card.read_bytes())
        weights = card.with_suffix(".safetensors")
        if "weights_sha256" in body:
            body["weights_sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
        if "card" in body:
            body["card"]["sha256"] = canonical_sha256({key: value for key, value in body.items() if key != "card"})
        card.write_text(json.dumps(body))
    except (OSError, ValueError, TypeError, RecursionError):
        return


def _learned(folder):
    from vcgym.baselines.system_files import learned_folders

    for ending in (".json", ".safetensors"):
        shutil.copy(learned_folders()["learned"] / f"learned{ending}", folder / f"learned{ending}")


def _predictor(folder):
    from vcgym.network.traces.catalogue import shipped

    for name in ("predictor.json", "predictor.safetensors"):
        shutil.copy(shipped() / "predictor" / name, folder)


def _scenario(folder):
    from vcgym.network.traces.catalogue import shipped

    fitted = json.loads((shipped() / "measured_like.json").read_bytes())["laws"]["satellite"]
    for name, law in (("regimes", next(iter(fitted.values()))), ("held", HELD_LAW), ("first", FIRST_LAW)):
        body = {"card": CARD, "paths": ["direct", "relay"], "pairs": {"here-there": [law, law]}}
        (folder / f"{name}.json").write_text(json.dumps(body))
        seal(folder / f"{name}.json")


def _session(folder):
    from vcgym.live.protocol.session import Session

    one, two = ["127.0.0.1:1"], ["127.0.0.1:2", "127.0.0.1:3"]
    routes = {"feedback": one, "commands": one, "levels": two, "setup": one, "media": [one, two], "history": [[0.0, 0.0, 0.0]] * 2}
    Session(number=1, key="0" * 64, packets=100, seed=0, **routes).write(folder / "session.json")


def _board(folder):
    _rank(folder, "DRT-WM", "RR-WM", "GRD-WM")
    (folder / "left_out.json").write_text(json.dumps({"mine": "failed"}))
    (folder / "measured.json").write_text(json.dumps({"lines": ["Played: every trace as a whole."]}))


def _log(folder):
    """Make the results of an agent that a shipped system copies, with its actions."""
    from vcgym.leaderboard.evaluation.participants import shipped_agent
    from vcgym.leaderboard.evaluation.suites import prepare
    from vcgym.leaderboard.report.run import run_suite

    suite = tiny()
    run_suite(suite, prepare(suite), {"mine": shipped_agent("mine", "DQN-Call-v1", suite)}, folder, lambda done, note: None)
    for path in [*folder.iterdir()]:
        if path.name not in ("actions.parquet", "results.parquet"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _rows(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from vcgym.predictors.rows import COLUMNS

    values = {pa.string(): "train", pa.int64(): 1, pa.float64(): 5.0}
    rows = [{field.name: values[field.type] for field in COLUMNS} | {"packet": number} for number in range(50)]
    pq.write_table(pa.Table.from_pylist(rows, schema=COLUMNS), folder / "rows.parquet")


def publish_agent(folder):
    from untrained import publish_random_agent

    publish_random_agent(folder, seed=1, packets=100, action="discrete")


def _model():
    """Return the model of a small training."""
    from vcgym.agents.config.algorithms import PPOConfig
    from vcgym.agents.config.env import EnvConfig
    from vcgym.agents.config.training import TrainConfig
    from vcgym.agents.training.learners import build_model

    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=1, hidden=8)
    env = EnvConfig(id="vcgym/Call-v1", options={"packets": 230, "action": "discrete", "interval": 10})
    return build_model(TrainConfig(env=env, algorithm=ppo, num_envs=2, device="cpu"), seed=5)


def _checkpoint(folder):
    from vcgym.agents.training import checkpoint

    model = _model()
    model.learn(64)
    shutil.copytree(checkpoint.save(folder / "saved", model, TRAINING), folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "saved")


def _study(folder):
    from vcgym.agents.config.training import TrainConfig

    publish_agent(folder / "seed-0" / "agent")
    (folder / "config.json").write_text(TrainConfig().model_dump_json(indent=1))


MADE = {
    "learned": _learned, "predictor": _predictor, "scenario": _scenario, "session": _session, "rows": _rows, "log": _log, "board": _board,
    "checkpoint": _checkpoint, "study": _study,
}  # fmt: skip
"""Kind -> function that makes a whole file of it, or several, in an empty folder."""


def tiny():
    """Return a suite of three worlds."""
    from vcgym.leaderboard.evaluation.suites import Part, Suite

    return Suite("tiny", "v0", 200, (Part("wonderproxy", "correlated", 2), Part("wonderproxy", "paper", 1)))


def _rank(folder, *systems):
    """Rank systems, and beside several of them a user's own, on three worlds."""
    from vcgym.baselines.systems import load_systems
    from vcgym.leaderboard.evaluation.own.local_agent import local_agent
    from vcgym.leaderboard.evaluation.suites import prepare
    from vcgym.leaderboard.report.run import run_suite

    suite = tiny()
    parts, found = prepare(suite), load_systems(list(systems))
    if len(systems) > 1:
        found |= {"stay": local_agent(lambda observation: np.tile([0, 4], (len(observation), 1)), suite, parts, {"action": "relative"})}
    run_suite(suite, parts, found, folder, lambda done, note: None)


def user(kind, folder):
    """Return a function that uses all files of a kind in a folder, and returns "taken"."""
    from vcgym.agents.training import checkpoint
    from vcgym.baselines.systems import learned_system
    from vcgym.baselines.zoo import LEARNED
    from vcgym.leaderboard.evaluation.participants import study_agents
    from vcgym.leaderboard.evaluation.suites import SUITES
    from vcgym.leaderboard.report.publish import publish
    from vcgym.live.call.policies import live_policy
    from vcgym.live.protocol.session import read_session
    from vcgym.network.scenarios.scenario import Scenario
    from vcgym.predictors.published import load_network
    from vcgym.predictors.rows import read_rows
    from vcgym.submissions.verify import verify

    model = _model() if kind == "checkpoint" else None

    def scenario():
        for path in sorted(folder.glob("*.json")):
            found = Scenario(str(path), "correlated", 100)
            for pair in found.pairs("train"):
                found.world(1).start(0, found.draw("train", 1, pair))

    def study():
        live_policy(str(folder / "seed-0"))
        study_agents("sent", folder, SUITES["correlated-v0"])

    def board():
        publish(folder)
        _rank(folder, "DRT-WM")

    uses = {
        "learned": lambda: learned_system(folder, LEARNED), "predictor": lambda: load_network(folder), "scenario": scenario,
        "session": lambda: read_session(folder / "session.json"), "board": board,
        "checkpoint": lambda: checkpoint.load(folder, model, TRAINING), "study": study,
        "rows": lambda: read_rows(folder / "rows.parquet"), "log": lambda: verify(folder, lambda done, note: None, tiny()),
    }  # fmt: skip

    def use():
        uses[kind]()
        return "taken"

    return use
