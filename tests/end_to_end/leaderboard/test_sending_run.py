"""A suite of senders from end to end: agents play the rules' own worlds, a killed run goes on, and the tuned-rule gate speaks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vcgym.agents.config.algorithms import PPOConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.published.export import publish
from vcgym.agents.training.learners import build_model, snapshot
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.baselines.schedulers.sbpn import Sbpn
from vcgym.baselines.sender_policy import OrderPolicy, RatePolicy
from vcgym.leaderboard.evaluation.published import Published
from vcgym.leaderboard.sending import cells
from vcgym.leaderboard.sending.entrants import AgentSender, play_agent, study_agents
from vcgym.leaderboard.sending.gate import gate, said
from vcgym.leaderboard.sending.rollout import Sender, play_sender
from vcgym.leaderboard.sending.run import run_suite
from vcgym.leaderboard.sending.suites import SendingSuite, links
from vcgym.network.scenarios.sending_scenarios import SendingScenario

RATE, ORDER = "vcgym/Rate-v0", "vcgym/SendOrder-v0"
SUITE = SendingSuite("rate-v0", ("rate",), 2, "utility", "GCC-WEBRTC")


def gcc(folder):
    return RatePolicy(GccWebrtc())


def sbpn(folder):
    return OrderPolicy(Sbpn())


@pytest.mark.parametrize(
    ("scenario", "kind", "sender", "agent"),
    [
        ("rate", "cubic", Sender(GccWebrtc(), Fifo(), 2.5), (gcc, RATE, {"action": "exact", "order": Fifo(), "pacing": 2.5})),
        ("order", "rtt80-q32", Sender(Tfrc(), Sbpn(), 0.0), (sbpn, ORDER, {"rate": Tfrc(), "pacing": 0.0, "empty_place": "refuse"})),
    ],
    ids=["rate", "order"],
)
def test_an_agent_that_acts_as_a_rule_has_the_rules_row(scenario, kind, sender, agent):
    """The same worlds, packets and metrics, to the last bit."""
    worlds = SendingScenario(scenario)
    load, env_id, arguments = agent
    entrant = AgentSender(Published(load, ()), env_id, tuple(sorted((arguments | {"observation": "records"}).items())))
    expected = play_sender(sender, links(worlds, kind, 3), worlds.traces, worlds.flows)
    assert play_agent(entrant, worlds, kind, 3) == expected


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


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    senders = {"GCC": Sender(GccWebrtc(), Fifo(), 2.5), **study_agents("PPO", study(tmp_path / "study", RATE))}
    played, told = [], []
    play = cells._played

    def until(many):
        def or_stop(cell):
            if len(played) == many:
                raise KeyboardInterrupt
            played.append((cell.name, cell.kind))
            return play(cell)

        return or_stop

    monkeypatch.setattr(cells, "_played", until(5))
    with pytest.raises(KeyboardInterrupt):
        run_suite(SUITE, [SendingScenario("rate")], senders, tmp_path / "board", lambda done, what: told.append(what))
    assert len(list((tmp_path / "board" / "cells").iterdir())) == 5
    monkeypatch.setattr(cells, "_played", until(99))
    results = run_suite(SUITE, [SendingScenario("rate")], senders, tmp_path / "board", lambda done, what: told.append(what))
    assert sorted(played) == sorted({*played}) and len(played) == 8
    whole = run_suite(SUITE, [SendingScenario("rate")], senders, tmp_path / "other", lambda done, what: None)
    assert results.equals(whole)
    assert (tmp_path / "board" / "sending.parquet").read_bytes() == (tmp_path / "other" / "sending.parquet").read_bytes()
    assert "No tuned rule was played" in (tmp_path / "board" / "sending.md").read_text()
    broken = next((tmp_path / "board" / "cells").iterdir())
    broken.write_bytes(b"half")
    with pytest.raises(ValueError, match=r"is not a complete cell file; delete it to recompute"):
        run_suite(SUITE, [SendingScenario("rate")], senders, tmp_path / "board", lambda done, what: None)


def test_the_gate_names_agents_first(tmp_path):
    untrained = study_agents("PPO", study(tmp_path / "study", RATE, seeds=(0, 1)))
    assert list(untrained) == ["PPO seed 0", "PPO seed 1"]
    worse = Sender(GccWebrtc(growth=1.0), Fifo(), 2.5)
    senders = {"GCC-rate-tuned": Sender(GccWebrtc(), Fifo(), 2.5), "worse-rate-tuned": worse, **untrained}
    results = run_suite(SUITE, [SendingScenario("rate")], senders, tmp_path / "board", lambda done, what: None)
    found = gate(SUITE, results, [], list(untrained))
    assert found.tuned == "GCC-rate-tuned"
    assert {other.system: other.kind for other in found.others} == {"worse-rate-tuned": "rule", **dict.fromkeys(untrained, "agent")}
    assert said(SUITE, results, [], list(untrained)).startswith("The best tuned rule is GCC-rate-tuned.")


def test_a_study_that_cannot_play_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"agents\.PPO: .*config\.json is no study's config"):
        study_agents("PPO", tmp_path)
    other = study(tmp_path / "other", RATE)
    config = json.loads((other / "config.json").read_text())
    config["env"] = {"id": "vcgym/Playout-v0", "options": {}}
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"is of vcgym/Playout-v0; allowed: vcgym/Rate-v0, vcgym/SendOrder-v0"):
        study_agents("PPO", other)
    unfinished = study(tmp_path / "unfinished", ORDER, empty_place="newest")
    (unfinished / "seed-0" / "agent" / "card.json").unlink()
    with pytest.raises(ValueError, match=r"card\.json is no agent's card"):
        study_agents("PPO", unfinished)


def test_the_command_plays_agents(tmp_path):
    study(tmp_path / "study", ORDER, empty_place="newest")
    script = Path(tmp_path / "short.py")
    script.write_text(
        "import sys\n"
        "from vcgym.leaderboard.sending import suites\n"
        "suites.SENDING_SUITES['order-v0'] = suites.SENDING_SUITES['order-v0']._replace(runs=2)\n"
        "from vcgym.scripts.sending import main\n"
        "main()\n"
    )
    command = [sys.executable, str(script), "senders=[SBPN2]", "+agents.PPO=study", "folder=board"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "PPO" in done.stdout and "No tuned rule was played" in done.stdout
    assert np.isin(["PPO", "SBPN2"], [line.split("|")[2].strip() for line in (tmp_path / "board" / "sending.md").read_text().splitlines()
                                      if line.count("|") > 3]).all()  # fmt: skip
