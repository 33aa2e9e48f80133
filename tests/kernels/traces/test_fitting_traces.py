"""`vcgym-data do=fit`: traces with a known structure are fitted, drawn and compared; the reference are the numbers put in."""

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from vcgym.network.fitting.traces import MIN_WINDOWS, fit_path, held_ms, loss_of, observed, step_ms
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card, DataError, canonical_sha256
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace
from vcgym.network.worlds.correlated import CorrelatedWorld
from vcgym.network.worlds.world import WorldDraw, blocks
from vcgym.scripts.importing.command import DataCommand, run

SLOTS = 60_000  # ten minutes
OLDER = [  # per path: base, log_mean, log_sd, loss, loss_run
    {"base_ms": 40.0, "log_mean": math.log(3.0), "log_sd": 0.6, "loss": 0.0, "loss_run": 1.0, "tau_ms": 50.0},
    {"base_ms": 90.0, "log_mean": math.log(2.0), "log_sd": 0.9, "loss": 0.05, "loss_run": 4.0, "tau_ms": 400.0},
    {"base_ms": 15.0, "log_mean": math.log(0.5), "log_sd": 0.8, "loss": 0.01, "loss_run": 1.0, "tau_ms": 60.0},
]
CARD = Card(name="k", description="", source="", licence="", sha256="0" * 64, kind="synthesised", units="ms")


def two_speeds_ms(seed: int, slots: int = SLOTS, jitter_ms: float = 2.0) -> np.ndarray:
    """Return (slots,) ms: a level of 20 to 40 ms that changes every 15 s, and exponential jitter that differs from slot to slot."""
    draws = np.random.default_rng(seed)
    level = np.repeat(draws.uniform(20.0, 40.0, slots // 1500 + 1), 1500)[:slots]
    return level + draws.exponential(jitter_ms, slots)


def traced(delay_ms: np.ndarray, sent_us: np.ndarray | None = None, lost: np.ndarray | None = None) -> Trace:
    delay_us = np.rint(1000.0 * delay_ms).astype(np.int64)
    if lost is not None:
        delay_us[lost] = LOST
    return Trace("t", np.arange(len(delay_us)) * SLOT_US if sent_us is None else sent_us, delay_us, CARD, round_trip=False)


def played_us(file: Path, slots: int, seed: int = 3) -> np.ndarray:
    """Return (paths, slots) of a world of a scenario file."""
    scenario = Scenario(str(file), "correlated", slots)
    world = scenario.world(1)
    world.start(0, scenario.draw("train", seed))
    return np.concatenate([*blocks(world, slots)], axis=1)[:, :slots].astype(np.int64)


def fitted(traces: dict[str, Trace], folder: Path) -> tuple[Path, str]:
    """Fit the traces of one pair; return the scenario file and what was printed."""
    for name, trace in traces.items():
        write_trace(trace, folder / "traces" / f"{name}.csv.gz")
    printed = io.StringIO()
    assert run(DataCommand(do="fit", file=folder / "traces", output=folder / "fitted.json"), Console(file=printed, width=160)) == 0
    return folder / "fitted.json", printed.getvalue()


def test_a_fit_keeps_the_slow_level_the_fast_jitter_and_the_losses(tmp_path: Path) -> None:
    """Step and deviation within 10 and 20 % of those measured; an older fit of one speed kept a fraction of the step."""
    draws = np.random.default_rng(5)
    lost = np.repeat(draws.random(SLOTS // 4) < 0.03, 4)  # runs of 4 slots and more
    measured = {"a": traced(two_speeds_ms(1)), "b": traced(two_speeds_ms(2, jitter_ms=0.8), lost=lost)}
    file, printed = fitted(measured, tmp_path)
    for row, trace in zip(played_us(file, 4 * SLOTS), measured.values(), strict=True):
        wanted_ms, found_ms = (series[series != LOST] / 1000.0 for series in (trace.one_way_delay_us, row))
        assert step_ms(found_ms) == pytest.approx(step_ms(wanted_ms), rel=0.1)
        assert found_ms.std() == pytest.approx(wanted_ms.std(), rel=0.2)
        assert found_ms.mean() == pytest.approx(wanted_ms.mean(), rel=0.05)
        (share, run_slots), (drawn, drawn_slots) = (loss_of(series == LOST) for series in (trace.one_way_delay_us, row))
        assert drawn == pytest.approx(share, rel=0.2) and drawn_slots == pytest.approx(run_slots, rel=0.2)
    assert "traces/b: a probe in 100 % of slots, one per 10 ms" in printed
    assert "jitter between probes 10 ms apart is not measured" in printed
    assert all(f"{name}" in printed for name in ("step, ms", "deviation, ms", "run of losses, slots", "concealed, %"))
    again = Scenario(str(file), "correlated", 1000)
    assert again.pairs("train") == ["traces"] and again.layout.path_names == ("a", "b")


def test_what_is_drawn_is_fitted_again(tmp_path: Path) -> None:
    """A fit to a drawn world finds its laws: times within a factor of 1.5, quartiles of the laws within 10 %."""
    law = fit_path(observed("a", traced(two_speeds_ms(4, 2 * SLOTS))))
    file, _ = fitted({"a": traced(two_speeds_ms(4, 2 * SLOTS))}, tmp_path)
    again = fit_path(observed("b", traced(played_us(file, 6 * SLOTS)[0] / 1000.0)))
    assert law.level_held_ms == pytest.approx(15_000.0, rel=0.5)
    assert again.level_held_ms / law.level_held_ms == pytest.approx(1.0, abs=0.5)
    for name in ("level_ms", "scale_ms"):
        quartiles = (getattr(one, name)[13:20:3] for one in (law, again))
        np.testing.assert_allclose(*quartiles, rtol=0.1)


def test_a_sparse_trace_with_a_gap_is_fitted_to_what_was_probed() -> None:
    """Windows are ten probes long, a gap is neither loss nor level, and only steps between neighbouring probes count."""
    sent_us = np.arange(3000) * 200_000
    sent_us[1500:] += 65_000_000
    whole = two_speeds_ms(6, int(sent_us[-1]) // SLOT_US + 1)
    lost = np.random.default_rng(1).random(3000) < 0.036
    path = observed("x", traced(whole[sent_us // SLOT_US], sent_us, lost))
    law = fit_path(path)
    assert path.coverage.gaps == 1 and path.known.mean() == pytest.approx(600 / 665, abs=0.01)
    assert law.loss == pytest.approx(0.036, rel=0.15) and law.tau_ms < 200.0
    assert law.level_ms[16] == pytest.approx(np.median(whole), rel=0.1)


@pytest.mark.parametrize("mean_ms", [3000.0, 20_000.0])
def test_the_time_of_a_held_value_is_found(mean_ms: float) -> None:
    """From windows of a second, of which a tenth is left out."""
    draws = np.random.default_rng(2)
    values = draws.normal(size=20_000)[np.cumsum(draws.random(20_000) < 1000.0 / mean_ms)]
    kept = np.flatnonzero(draws.random(20_000) < 0.9)
    assert held_ms(kept, values[kept], 1000.0) == pytest.approx(mean_ms, rel=0.25)


def test_a_fit_that_does_not_agree_is_refused_but_can_be_looked_at(tmp_path: Path) -> None:
    """A constant delay with a single stall of three seconds is no law that is drawn again; nothing is written."""
    delay_ms = np.full(SLOTS, 20.0)
    delay_ms[30_000:30_300] = 500.0 - np.arange(300)
    write_trace(traced(delay_ms), tmp_path / "odd" / "a.csv.gz")
    console, output = Console(file=(printed := io.StringIO()), width=160), tmp_path / "fitted.json"
    with pytest.raises(DataError, match=r"^fit of odd/a: .* drawn is .*; allowed: .* as measured, within .*without output="):
        run(DataCommand(do="fit", file=tmp_path / "odd", output=output), console)
    assert not output.exists()
    assert run(DataCommand(do="fit", file=tmp_path / "odd"), console) == 0
    assert "no" in printed.getvalue()


def test_fit_refuses_too_few_answers_and_other_names_of_files(tmp_path: Path) -> None:
    """Lost slots do not count as samples; a constant delay with enough of them is fitted without jitter."""
    with pytest.raises(DataError, match=rf"^trace one/a: windows of 1 s with 5 answers is 29; allowed: at least {MIN_WINDOWS}, 30 s"):
        fit_path(observed("one/a", traced(np.full(2900, 20.0))))
    law = fit_path(observed("one/a", traced(np.full(3000, 20.0))))
    assert set(law.level_ms) == {20.0} and set(law.jitter) == {0.0} and law.loss == 0.0
    with pytest.raises(ValueError, match=r"output is 'fitted.csv'; allowed with do=fit: a name ending in .json"):
        DataCommand(do="fit", file=tmp_path, output=tmp_path / "fitted.csv")


def test_a_file_of_an_older_fit_plays_as_before(tmp_path: Path) -> None:
    """Lognormal queueing with the median correlation time of its paths, bit for bit."""
    body = {"paths": ["a", "b", "c"], "pairs": {"one": OLDER}}
    said = {"name": "known", "description": "", "source": "", "licence": "", "kind": "fitted", "units": "ms"}
    file = tmp_path / "known.json"
    file.write_text(json.dumps({"card": said | {"sha256": canonical_sha256(body)}, **body}), encoding="utf-8")
    never = np.zeros(3, np.int64)
    laws = {name: np.array([law[name] for law in OLDER]) for name in OLDER[0]}
    wanted = {**laws, "tau_ms": 60.0, "bad_from": never, "bad_to": never, "shift_every_s": np.inf}
    world = CorrelatedWorld(1, np.arange(3)[:, None])
    seed = Scenario(str(file), "correlated", 2000).draw("train", 3).seed
    world.start(0, WorldDraw("one", "fitted", seed, wanted))
    np.testing.assert_array_equal(played_us(file, 2000), np.concatenate([*blocks(world, 2000)], axis=1)[:, :2000])
