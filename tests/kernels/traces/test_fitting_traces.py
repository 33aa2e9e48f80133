"""`vcgym-data do=fit`: a known scenario is sampled, written as traces, fitted and played; the reference are the numbers put in."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from vcgym.network.fitting.traces import MIN_SLOTS, correlation_time_ms, fit_path
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card, DataError, canonical_sha256
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace
from vcgym.network.worlds.world import blocks
from vcgym.scripts.importing.command import DataCommand, run

SLOTS = 90_000  # 15 minutes
TRUE = [  # per path: base, log_mean, log_sd, loss, loss_run
    {"base_ms": 40.0, "log_mean": math.log(3.0), "log_sd": 0.6, "loss": 0.0, "loss_run": 1.0},
    {"base_ms": 90.0, "log_mean": math.log(2.0), "log_sd": 0.9, "loss": 0.05, "loss_run": 4.0},
    {"base_ms": 15.0, "log_mean": math.log(0.5), "log_sd": 0.8, "loss": 0.01, "loss_run": 1.0},
]


def _scenario_file(folder: Path, tau_ms: float) -> Path:
    """Write the known scenario."""
    body = {"paths": ["a", "b", "c"], "pairs": {"one": [law | {"tau_ms": tau_ms} for law in TRUE]}}
    said = {"name": "known", "description": "", "source": "", "licence": "", "kind": "fitted", "units": "ms"}
    file = folder / "known.json"
    file.write_text(json.dumps({"card": said | {"sha256": canonical_sha256(body)}, **body}), encoding="utf-8")
    return file


def _traces(scenario: Scenario, folder: Path) -> None:
    """Write a sampled world as one trace per path, as `vcgym-measure` does."""
    world = scenario.world(1)
    world.start(0, scenario.draw("train", 3))
    card = Card(name="k", description="", source="", licence="", sha256="0" * 64, kind="synthesised", units="ms")
    delay_us = np.concatenate([*blocks(world, SLOTS)], axis=1)[:, :SLOTS].astype(np.int64)
    for name, row in zip(scenario.layout.path_names, delay_us, strict=True):
        write_trace(Trace(name, np.arange(SLOTS) * SLOT_US, row, card, round_trip=False), folder / "traces" / f"{name}.csv.gz")


@pytest.mark.parametrize("tau_ms", [50.0, 400.0])
def test_fit_finds_the_parameters_put_in_and_its_file_plays(tmp_path: Path, tau_ms: float) -> None:
    """Mean within 6 % of the mean excess, spread within 0.1, correlation time and runs of loss within 15 %, loss within 20 %."""
    _traces(Scenario(str(_scenario_file(tmp_path, tau_ms)), "correlated", SLOTS), tmp_path)
    output = tmp_path / "fitted.json"
    assert run(DataCommand(do="fit", file=tmp_path / "traces", output=output), Console()) == 0
    again = Scenario(str(output), "correlated", 1000)
    found = again.draw("validation", 0).parameters
    assert found["tau_ms"] == pytest.approx(tau_ms, rel=0.15)
    for index, law in enumerate(TRUE):
        excess_ms = math.exp(law["log_mean"] + law["log_sd"] ** 2 / 2.0)
        found_ms = found["base_ms"][index] + math.exp(found["log_mean"][index] + found["log_sd"][index] ** 2 / 2.0)
        assert found_ms == pytest.approx(law["base_ms"] + excess_ms, abs=0.06 * excess_ms)
        assert found["log_sd"][index] == pytest.approx(law["log_sd"], abs=0.1)
        assert found["loss"][index] == pytest.approx(law["loss"], rel=0.2)
        assert found["loss_run"][index] == pytest.approx(law["loss_run"], rel=0.15)
    assert again.pairs("train") == ["traces"] and again.layout.path_names == ("a", "b", "c")


@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.9, 0.999])
def test_correlation_time_is_that_of_an_autoregressive_process(persistence: float) -> None:
    """Within 25 % of -10 ms / ln(persistence) where that exceeds a slot, below half a slot for independent values."""
    draws = np.random.default_rng(1).normal(size=200_000)
    values = np.zeros(len(draws))
    for at in range(1, len(draws)):
        values[at] = persistence * values[at - 1] + draws[at] * math.sqrt(1.0 - persistence**2)
    found_ms = correlation_time_ms(np.exp(values))
    assert found_ms < 5.0 if persistence == 0.0 else found_ms == pytest.approx(-10.0 / math.log(persistence), rel=0.25)


def test_fit_refuses_too_few_answers_and_other_names_of_files(tmp_path: Path) -> None:
    """Lost slots do not count as samples; a constant delay with enough of them is fitted without queueing."""
    delay_us = np.full(MIN_SLOTS + 500, 20_000)
    delay_us[::5] = LOST
    with pytest.raises(DataError, match=rf"^trace one/a: answered slots of 10 ms is 2800; allowed: at least {MIN_SLOTS}"):
        fit_path("one/a", delay_us)
    law = fit_path("one/a", np.full(MIN_SLOTS, 20_000))
    assert law.base_ms == 20.0 and law.mean_ms < 20.02 and law.loss == 0.0
    with pytest.raises(ValueError, match=r"output is 'fitted.csv'; allowed with do=fit: a name ending in .json"):
        DataCommand(do="fit", file=tmp_path, output=tmp_path / "fitted.csv")
