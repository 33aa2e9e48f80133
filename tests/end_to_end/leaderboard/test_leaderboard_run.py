"""The leaderboard from systems to page on a tiny suite: rules, rules from YAML and a published agent on the same worlds."""

import gymnasium
import numpy as np
import pytest
import torch

from vcgym.agents.evaluation.environments import observation_parts
from vcgym.agents.networks.observation import count_items, network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.networks.set_net import SetNet
from vcgym.agents.published.export import publish
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.systems import System, load_systems
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.kinds.paths import play_rules
from vcgym.leaderboard.evaluation.participants import published_agent
from vcgym.leaderboard.evaluation.published import AGENT_ENV, LOGGED_FORM
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.results.files import DELAY_CDF, RESULTS, read

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "correlated", 2), Part("wonderproxy", "paper", 1)))
MODES = [part.mode for part in SUITE.parts]
HIDDEN = 8


LOGGED, RELATIVE = tuple(LOGGED_FORM.items()), (("action", "relative"),)


def untrained_agent(folder, form=LOGGED):
    """An agent of random weights that decides in a form of `Call`, published and loaded."""
    env = gymnasium.make_vec(AGENT_ENV, num_envs=1, packets=SUITE.packets, **dict(form))
    observed, acted, parts = env.single_observation_space, env.single_action_space, observation_parts(env)
    torch.manual_seed(3)
    network = network_for(parts, output_count(acted), HIDDEN, "tanh")
    tensors = {name: tensor.numpy() for name, tensor in SetNet(network, count_items(parts)).state_dict().items()}
    agent = AgentPolicy(AGENT_ENV, tuple(parts), observed, acted, network, tensors)
    publish(folder, agent, algorithm="none", steps=0, seed=3, config_hash="0" * 16)
    return published_agent(folder, form)


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    rules = {"Direct, 30 ms": System(Direct(), FixedLag(30.0)), **load_systems(["DRT-WM", "RR-WM"])}
    homes = tmp_path_factory.mktemp("agents")
    return rules | {"Untrained <agent>": untrained_agent(homes / "one"), "Relative agent": untrained_agent(homes / "other", RELATIVE)}


def run(systems, folder, threads):
    told = []
    run_suite(SUITE, prepare(SUITE), systems, folder, lambda done, what: told.append(done), threads)
    cells = len(plan(SUITE, prepare(SUITE), systems))
    assert told == [*range(cells + 1), cells]  # before the first, after each, and before ranking
    return folder


@pytest.fixture(scope="module")
def folder(systems, tmp_path_factory):
    return run(systems, tmp_path_factory.mktemp("leaderboard"), threads=1)


@pytest.fixture(scope="module")
def found(folder):
    return read(RESULTS, folder / "results.parquet").to_pylist()


def test_another_order_and_more_threads_give_the_same_bytes(systems, folder, tmp_path):
    again = run(dict(reversed(systems.items())), tmp_path, threads=2)
    for name in ("results.parquet", "cdf.parquet", "report.html", "leaderboard.md"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_every_system_meets_every_world_and_they_are_the_same_worlds(systems, found):
    wanted = [(part.mode, *world) for part, scenario in prepare(SUITE) for world in SUITE.kind.worlds(part, scenario)]
    assert len(wanted) == len(set(wanted)) > len(SUITE.parts)
    met = {name: [(row["mode"], row["pair"], row["seed"], row["stratum"]) for row in found if row["system"] == name] for name in systems}
    assert sum(map(len, met.values())) == len(found)
    for of_system in met.values():
        assert sorted(world[:3] for world in of_system) == sorted(wanted)
        assert of_system == met["DRT-WM"]  # strata too
    assert {row["system"]: row["kind"] for row in found} == {name: "agent" if "agent" in name else "rule" for name in systems}


def test_rows_hold_what_the_totals_of_the_calls_give(systems, found):
    rows = {(row["system"], row["mode"], row["seed"]): row for row in found}
    for name, system in systems.items():
        for part, scenario in prepare(SUITE):
            which = SUITE.kind.worlds(part, scenario)
            if isinstance(system, System):
                totals = next(play_rules([system], scenario, SUITE.kind.draw(part, scenario, which))).calls.totals
            else:
                totals = SUITE.kind.play_policy(system, system.policy(), part, scenario, which).calls.totals
            ticks = totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed
            delay_ms, percent = totals.offset_us_sum / ticks / 1000.0, 100.0 * totals.ticks_concealed / ticks
            impairment = 0.024 * delay_ms + 0.11 * np.maximum(0.0, delay_ms - 177.3) + 95.0 * percent / (percent + 25.1)
            price = totals.impairment_sum + 378.5 * totals.ticks_concealed
            for number, (_, seed) in enumerate(which):
                row = rows[name, part.mode, seed]
                assert row["r"] == pytest.approx(max(0.0, 93.2 - impairment[number]), rel=1e-12)
                assert row["return_emodel"] == pytest.approx((93.2 * ticks[number] - price[number]) / 100.0, rel=1e-12)
                assert row["path_changes"] == totals.path_changes[number]
    assert len({row["r"] for row in found}) > len(found) // 2  # systems and worlds differ


def test_the_page_and_the_distributions_name_every_system(systems, folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(name.replace("<", "&lt;").replace(">", "&gt;") in page for name in systems)
    assert "<agent>" not in page
    distributions = read(DELAY_CDF, folder / "cdf.parquet").to_pylist()
    of_each = {(row["system"], row["mode"], row["accounting"]) for row in distributions}
    assert of_each == {(name, mode, accounting) for name in systems for mode in MODES for accounting in ("event", "clocked")}


@pytest.mark.browser
def test_the_page_of_a_real_run_opens_with_all_rows(systems, folder, visit):
    page = visit(folder / "report.html")
    for board in boards(read(RESULTS, folder / "results.parquet")):
        shown = page.locator(f"#mode-{board.mode} table.board tbody:not([hidden])")
        names = shown.locator("th").evaluate_all("cells => cells.map(cell => cell.dataset.value)")
        assert names == [line.system for line in board.lines]
        assert sorted(names) == sorted(systems)
        assert shown.locator("tr.agent").count() == 2
