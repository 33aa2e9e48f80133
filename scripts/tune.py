"""vcgym tune: search the parameters of rules on the training split and save the best as files for data/tuned."""

import logging
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, TypeAdapter

from vcgym.agents.sweeps.search import Domain, ray_running
from vcgym.baselines.configured import class_named, target
from vcgym.baselines.systems import System, load_study, load_system, load_systems
from vcgym.leaderboard.tuning.pair_files import save_pairs
from vcgym.leaderboard.tuning.tunable import space_of
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import RATE_REPLAY, REPLAY, PairModeConfig, PairsConfig, TuneConfig
from vcgym.leaderboard.tuning.tune_pairs import Round, Rules, receiver_name, router_name, tune_pairs
from vcgym.leaderboard.tuning.tuning import Search, TuningTask, save, tune_system
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import require_space

log = logging.getLogger(__name__)


def tune(config: TuneConfig) -> None:
    """Search each system without a saved result and print the gains."""
    require_space(config.folder)
    spaces, systems, senders = load_spaces(), load_systems(config.systems), load_systems(config.sending.senders)
    with ray_running(config.workers, config.ray.address):
        for name, pair in systems.items():
            _tune(name, pair, space_of(pair, spaces), call_task(config), Search(config.trials, config.seed), config.folder)
        for task in sender_tasks(config):
            for name, sender in senders.items():
                _tune(name, sender, space_of(sender, spaces), task, Search(config.sending.trials, config.seed), config.folder)
        for one in config.pairs.modes:
            rules, pairs = _rules(config.pairs, one), pair_task(config, one)
            rounds = [Round(each.trials, each.worlds, each.left) for each in one.rounds]
            studied = tune_pairs(rules, spaces, _known(config.pairs.starts), pairs, rounds, config.seed, config.folder)
            save_pairs(studied, pairs, pair_judge(config, one), rounds, config.seed, config.folder)
            log.info(f"pairs, mode {one.mode}: {studied.best} of {len(studied.expected)} is the best on validation worlds")


def load_spaces() -> dict[str, dict[str, Domain]]:
    """Return the domain of each parameter of each rule of conf/tune_ranges.yaml, whose class is named as in a saved `_target_`.

    Raises:
        ValueError: a domain is malformed.
    """
    written = yaml.safe_load(files("vcgym.conf").joinpath("tune_ranges.yaml").read_text(encoding="utf-8"))
    spaces = TypeAdapter(dict[str, Annotated[dict[str, Domain], Field(min_length=1)]]).validate_python(written)
    return {class_named(name): space for name, space in spaces.items()}


def call_task(config: TuneConfig) -> TuningTask:
    """Return the tuning task for systems over paths.

    Raises:
        DataError: the traces cannot be played.
    """
    traces = config.trace_files if config.scenario == REPLAY else ()
    card = Scenario(REPLAY, config.mode, config.packets, traces=traces).layout.card if traces else ""
    groups = {config.scenario: [f"{config.scenario} {config.mode}"]} if config.scenario else config.kinds
    return CallTask(config.worlds, config.validation_worlds, config.packets, kinds_of(groups), traces, card)


def sender_tasks(config: TuneConfig) -> list[TuningTask]:
    """Return the tuning task of each scenario of senders.

    Raises:
        DataError: the traces cannot be played.
    """
    return [_sender_task(config, scenario) for scenario in config.sending.scenarios]


def _sender_task(config: TuneConfig, scenario: str) -> TuningTask:
    sending, traces = config.sending, config.trace_files
    if scenario == RATE_REPLAY:
        card = data_hash(SendingScenario(scenario, traces=traces))
        kinds = kinds_of({REPLAY: [f"{RATE_REPLAY} {REPLAY}"]})
        return SenderTask(sending.worlds, sending.validation_worlds, scenario, kinds, traces, card)
    return SenderTask(sending.worlds, sending.validation_worlds, scenario, kinds_of(sending.kinds[scenario]))


def pair_task(config: TuneConfig, one: PairModeConfig) -> CallTask:
    """Return the tuning task for pairs in a mode, with the worlds of the first round."""
    pairs = config.pairs
    groups = {pairs.scenario: [f"{pairs.scenario} {one.mode}"]}
    return CallTask(one.rounds[0].worlds, pairs.validation_worlds, pairs.packets, kinds_of(groups))


def pair_judge(config: TuneConfig, one: PairModeConfig) -> CallTask:
    """Return the task that judges pairs of a mode: the other kinds of this mode, and measured ones."""
    every = [kind for kinds in config.kinds.values() for kind in kinds if kind != f"{config.pairs.scenario} {one.mode}"]
    others = [kind for kind in every if kind.split()[1] in (one.mode, REPLAY)]
    return CallTask(config.worlds, config.validation_worlds, config.packets, kinds_of({one.mode: others}))


def _rules(config: PairsConfig, one: PairModeConfig) -> Rules:
    """Return the routers and receivers to be paired, by their short names."""
    return Rules(
        {router_name(name): load_system(name).path for name in config.routers},
        {receiver_name(name): load_system(name).playout for name in config.receivers},
        System(load_system(one.router).path, load_system(one.receiver).playout),
    )


def _known(names: list[str]) -> dict[str, Any]:
    """Return the rules of tuned systems by class; if two have the same class, the rule of the better system."""
    known: dict[str, Any] = {}
    for name in sorted(names, key=lambda name: -load_study(name)["validation"]["r_tuned"]):
        for rule in load_system(name).rules.values():
            known.setdefault(target(rule), rule)
    return known


def _tune(name: str, system: Any, space: Mapping[str, Domain], task: TuningTask, how: Search, folder: Path) -> None:
    tuned = tune_system(name, system, space, task, how, folder)
    save(tuned, task, folder)
    left_out = tuned.study["left_out"]
    log.info(f"{task.name(name)}: {tuned.study['train']}, on kinds left out {left_out['gain']} [{left_out['low']}, {left_out['high']}]")
