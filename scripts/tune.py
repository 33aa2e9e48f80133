"""vcgym tune: search the parameters of rules on the training split and save the best as files for data/tuned."""

import logging
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter

from vcgym.agents.sweeps.search import Domain, ray_running
from vcgym.baselines.configured import class_named
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.tuning.tunable import space_of
from vcgym.leaderboard.tuning.tune_calls import CallTask, SenderTask, TuningTask, kinds_of
from vcgym.leaderboard.tuning.tune_config import RATE_REPLAY, REPLAY, TuneConfig
from vcgym.leaderboard.tuning.tune_pairs import tune_pairs
from vcgym.leaderboard.tuning.tuning import tune_system
from vcgym.network.scenarios.bottleneck.recipe import data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import require_space

log = logging.getLogger(__name__)


def tune(config: TuneConfig) -> None:
    """Search each system without a saved result and print the gains."""
    require_space(config.folder)
    spaces = load_spaces()
    with ray_running(config.workers, config.ray.address):
        for names, task, trials in tasks(config):
            for name, system in load_systems(names).items():
                study = tune_system(name, system, space_of(system, spaces), task, trials, config.seed, config.folder)
                found = study["left_out"]
                log.info(f"{task.name(name)}: {study['train']}, on kinds left out {found['gain']} [{found['low']}, {found['high']}]")
        for one in config.pairs.modes:
            best, count = tune_pairs(config, one, spaces), len(config.pairs.routers) * len(config.pairs.receivers)
            log.info(f"pairs, mode {one.mode}: {best} of {count} is the best on validation worlds")


def load_spaces() -> dict[str, dict[str, Domain]]:
    """Return the domain of each parameter of each rule of conf/tune_ranges.yaml, whose class is named as in a saved `_target_`.

    Raises:
        ValueError: a domain is malformed.
    """
    written = yaml.safe_load(files("vcgym.conf").joinpath("tune_ranges.yaml").read_text(encoding="utf-8"))
    spaces = TypeAdapter(dict[str, Annotated[dict[str, Domain], Field(min_length=1)]]).validate_python(written)
    return {class_named(name): space for name, space in spaces.items()}


def tasks(config: TuneConfig) -> list[tuple[list[str], TuningTask, int]]:
    """Return names of systems, the task that they are tuned on, and the number of trials: over paths, then each scenario of senders.

    Raises:
        DataError: the traces cannot be played.
    """
    sending = config.sending
    of_senders = [(sending.senders, _sender_task(config, scenario), sending.trials) for scenario in sending.scenarios]
    return [(config.systems, call_task(config), config.trials), *of_senders]


def call_task(config: TuneConfig) -> TuningTask:
    """Return the tuning task for systems over paths.

    Raises:
        DataError: the traces cannot be played.
    """
    traces = config.trace_files if config.scenario == REPLAY else ()
    card = Scenario(REPLAY, config.mode, config.packets, traces=traces).layout.card if traces else ""
    groups = {config.scenario: [f"{config.scenario} {config.mode}"]} if config.scenario else config.kinds
    return CallTask(config.worlds, config.validation_worlds, config.packets, kinds_of(groups), traces, card)


def _sender_task(config: TuneConfig, scenario: str) -> TuningTask:
    sending, traces = config.sending, config.trace_files
    if scenario == RATE_REPLAY:
        card = data_hash(SendingScenario(scenario, traces=traces))
        kinds = kinds_of({REPLAY: [f"{RATE_REPLAY} {REPLAY}"]})
        return SenderTask(sending.worlds, sending.validation_worlds, scenario, kinds, traces, card)
    return SenderTask(sending.worlds, sending.validation_worlds, scenario, kinds_of(sending.kinds[scenario]))
