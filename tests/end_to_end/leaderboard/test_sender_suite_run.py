"""A suite of senders from end to end: agents and rules play the same worlds, threads and Ray change nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from twins.sender_policy import OrderPolicy, RatePolicy
from twins.sender_records import WITH_RECORDS
from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.published.export import publish
from vcgym.agents.training.learners import build_model, snapshot
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.systems import System, load_systems
from vcgym.leaderboard.evaluation.kinds.sender import SENDER, play_sender
from vcgym.leaderboard.evaluation.participants import study_agents
from vcgym.leaderboard.evaluation.published import PublishedAgent
from vcgym.leaderboard.evaluation.suites import BOTTLENECK, Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.results.files import read, results_of
from vcgym.leaderboard.results.kinds import RATE as RATE_COLUMNS

RATE, ORDER = "vcgym/Rate-v1", "vcgym/SendOrder-v1"
SUITE = Suite("rate", "tiny", 0, tuple(Part("rate", BOTTLENECK, 2, stratum=kind) for kind in ("cubic", "wifi")), SENDER)
FILES = ("results.parquet", "cdf.parquet")
GCC = System(GccWebrtc(), Fifo(), pacing=2.5)


def gcc(folder):
    return RatePolicy(GccWebrtc())


def sbpn(folder):
    return OrderPolicy(Sbpn())


@pytest.mark.parametrize(
    ("scenario", "kind", "sender", "agent"),
    [
        ("rate", "cubic", GCC, (gcc, RATE, {"action": "exact", "interval": 1, "order": Fifo(), "pacing": 2.5})),
        (
            "order", "rtt80-q32", System(Tfrc(), Sbpn(), pacing=0.0),
            (sbpn, ORDER, {"action": "discrete", "interval": 1, "rate": Tfrc(), "overflow": Fifo(), "pacing": 0.0}),
        ),
    ],
    ids=["rate", "order"],
)  # fmt: skip
def test_an_agent_that_acts_as_a_rule_has_the_rules_row(scenario, kind, sender, agent):
    """The same worlds, packets, metrics and delays, bit for bit."""
    part = Part(scenario, BOTTLENECK, 3, stratum=kind)
    ((_, drawn),) = prepare(SUITE._replace(parts=(part,)))
    which = SUITE.kind.worlds(part, drawn)
    load, env, arguments = agent
    published = PublishedAgent(load, (), WITH_RECORDS[env], tuple(sorted(arguments.items())))
    expected = play_sender(sender, SUITE.kind.draw(part, drawn, which))
    found = SENDER.play_policy(published, published.policy(), part, drawn, which)
    assert [call.metrics for call in found.calls] == [call.metrics for call in expected.calls]
    assert [call.delays["arrival"].packets_within.tolist() for call in found.calls] == [
        call.delays["arrival"].packets_within.tolist() for call in expected.calls
    ]


def study(folder, env_id, seeds=(0,), **options):
    """A finished study of agents that have learned nothing."""
    config = TrainConfig(
        env=EnvConfig(id=env_id, options=options), algorithm=PPOConfig(n_steps=16, batch_size=32, hidden=8), num_envs=2, seeds=list(seeds),
        device="cpu", folder=folder,
    )  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(config.model_dump_json())
    for seed in seeds:
        model = build_model(config, seed)
        home, agent = folder / f"seed-{seed}" / "agent", snapshot(model, config)
        publish(home, agent, algorithm="PPO", steps=0, seed=seed, config_hash="0")
    return folder


def quiet(done, what):
    pass


def run(folder, systems, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vcgym.leaderboard.report.run.publish", lambda folder: folder)
        run_suite(SUITE, prepare(SUITE), systems, folder, quiet, **how)
    return {name: (folder / name).read_bytes() for name in FILES}


def test_rules_and_agents_play_a_suite_and_threads_change_nothing(tmp_path):
    systems = {"GCC": GCC, **load_systems(["FIXED", "oracle_rate"]), **study_agents("PPO", study(tmp_path / "study", RATE), SUITE)}
    results = run(tmp_path / "board", systems)
    assert run(tmp_path / "other", systems, threads=2) == results
    found = read(results_of(RATE_COLUMNS), tmp_path / "board" / "results.parquet").to_pylist()
    assert {row["system"]: row["kind"] for row in found} == {"GCC": "rule", "FIXED": "rule", "oracle_rate": "oracle", "PPO": "agent"}
    assert [row["throughput_kbps"] for row in found if (row["system"], row["stratum"]) == ("FIXED", "wifi")] == pytest.approx(
        [1000, 1000], rel=0.03
    )


def test_a_worker_of_ray_gives_the_same_bytes(tmp_path):
    systems = load_systems(["FIXED"])
    assert run(tmp_path / "ray", systems, workers=1) == run(tmp_path / "here", systems)


def test_a_study_that_cannot_play_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"agents\.PPO: .*config\.json is not the config of a study"):
        study_agents("PPO", tmp_path, SUITE)
    other = study(tmp_path / "other", RATE, seeds=(0, 1))
    assert list(study_agents("PPO", other, SUITE)) == ["PPO seed 0", "PPO seed 1"]
    config = json.loads((other / "config.json").read_text())
    config["env"] = {"id": "vcgym/Playout-v1", "options": {}}
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"is of vcgym/Playout-v1; allowed: vcgym/Rate-v1, vcgym/SendOrder-v1"):
        study_agents("PPO", other, SUITE)
    unfinished = study(tmp_path / "unfinished", ORDER, action="discrete", interval=1)
    (unfinished / "seed-0" / "agent" / "card.json").unlink()
    with pytest.raises(ValueError, match=r"card\.json: file is 'No such file or directory'"):
        study_agents("PPO", unfinished, SUITE)


def test_the_command_plays_agents(tmp_path):
    study(tmp_path / "study", ORDER, action="discrete", interval=1)
    script = Path(tmp_path / "short.py")
    script.write_text(
        "from vcgym.leaderboard.evaluation.suites import SUITES\n"
        "suite = SUITES['order-v0']\n"
        "SUITES['order-v0'] = suite._replace(parts=tuple(part._replace(seeds=2) for part in suite.parts[:2]))\n"
        "from vcgym.scripts.console.program import main\n"
        "main()\n"
    )
    command = [sys.executable, str(script), "leaderboard", "suite=order-v0", "systems=[SBPN2]", "agents.PPO=study", "folder=board"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "board" / "leaderboard.md").read_text()
    assert "Your agent PPO" in done.stdout and "No tuned rule was played" not in said  # the reference plays
    names = {line.split("|")[2].strip() for line in (tmp_path / "board" / "leaderboard.md").read_text().splitlines() if line.count("|") > 3}
    assert {"PPO", "SBPN2"} <= names
    assert (tmp_path / "board" / "report.html").is_file()
