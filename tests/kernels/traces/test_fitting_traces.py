"""`vcgym fit`: traces with a known structure are fitted, drawn and compared; the reference are the numbers put in."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from vcgym.network.fitting.agreement import TOLERANCES
from vcgym.network.fitting.laws import RegimePath
from vcgym.network.fitting.traces import MIN_WINDOWS, PROBES, SHARES, drawn_us, fit_path, loss_of, observed, step_ms
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.trace import Trace
from vcgym.network.traces.trace_file import write_trace
from vcgym.network.worlds.world import blocks
from vcgym.scripts.importing.config import FitConfig
from vcgym.scripts.importing.fit import fit

SLOTS = 60_000  # ten minutes
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
    fit(folder / "traces", folder / "fitted.json", Console(file=printed, width=160))
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


def windows_ms(ms: np.ndarray) -> np.ndarray:
    return ms[: len(ms) // PROBES * PROBES].reshape(-1, PROBES)


def lag_1(ms: np.ndarray) -> np.ndarray:
    """Return the correlation of neighbours within each window."""
    centred = windows_ms(ms) - windows_ms(ms).mean(axis=1, keepdims=True)
    return (centred[:, 1:] * centred[:, :-1]).mean(axis=1) / (centred**2).mean(axis=1)


def test_narrow_windows_stay_rough_and_wide_ones_smooth() -> None:
    """The usual step and the correlation of neighbours agree in narrow and in wide windows, which no single correlation time can have."""
    draws = np.random.default_rng(8)
    wide = np.repeat(draws.random(SLOTS // 200) < 0.5, 200)
    smooth = np.empty(SLOTS)
    now, fresh = 0.0, draws.normal(size=SLOTS)
    for slot in range(SLOTS):
        now = 0.9 * now + np.sqrt(1.0 - 0.81) * fresh[slot]
        smooth[slot] = now
    measured = 40.0 + np.where(wide, 8.0 * smooth, draws.normal(size=SLOTS))
    law = fit_path(observed("a", traced(measured)))
    drawn = drawn_us((law,), SLOTS, lossless=True, seed=1)[0] / 1000.0
    for narrow in (True, False):
        steps, correlations = [], []
        for ms in (measured, drawn):
            chosen = (windows_ms(ms).std(axis=1) < 2.0) == narrow
            steps.append(np.median(np.abs(np.diff(windows_ms(ms), axis=1)).mean(axis=1)[chosen]))
            correlations.append(np.median(lag_1(ms)[chosen]))
        assert steps[1] == pytest.approx(steps[0], rel=0.15)
        assert correlations[1] == pytest.approx(correlations[0], abs=0.12)


def test_rises_stay_faster_than_falls() -> None:
    """A queue that fills in one slot and empties over ten is drawn as one."""
    draws, ms, queue = np.random.default_rng(9), np.empty(SLOTS), 0.0
    for slot in range(SLOTS):
        queue = max(queue - 2.0, 0.0) + (20.0 if draws.random() < 0.02 else 0.0)
        ms[slot] = 30.0 + queue + draws.uniform(0.0, 0.2)
    drawn = drawn_us((fit_path(observed("a", traced(ms))),), SLOTS, lossless=True, seed=1)[0] / 1000.0
    rises, falls = (np.sort(sign * np.diff(drawn))[-SLOTS // 100 :].mean() for sign in (1.0, -1.0))
    assert rises == pytest.approx(20.0, rel=0.2) and falls < 8.0


def played_of(law: RegimePath) -> np.ndarray:
    """Return (6 * SLOTS,) ms of a world of one path."""
    return drawn_us((law,), 6 * SLOTS, lossless=False, seed=3)[0] / 1000.0


def test_a_fit_finds_the_laws_put_in() -> None:
    """Of a drawn world: quartiles of the levels within 5 %, the chance to stay in a regime within 0.15, the step within 5 %."""
    ms = two_speeds_ms(4, 2 * SLOTS)
    law = fit_path(observed("a", traced(ms))).model_copy(update={"held": 0.3})
    again = fit_path(observed("b", traced(played_of(law))))
    middle = len(law.level_ms[0]) // 2
    np.testing.assert_allclose(*(np.mean(one.level_ms, axis=0)[middle - 3 : middle + 4 : 3] for one in (law, again)), rtol=0.05)
    np.testing.assert_allclose(*(np.mean(np.diag(one.change)) for one in (law, again)), atol=0.15)
    assert step_ms(played_of(again)) == pytest.approx(step_ms(played_of(law)), rel=0.05)
    assert (again.every_slots, again.window_slots) == (law.every_slots, law.window_slots) == (1, PROBES)


def test_losses_of_a_regime_are_found() -> None:
    """Losses in wide windows alone are drawn there alone."""
    draws = np.random.default_rng(3)
    wide = np.repeat(draws.random(SLOTS // 200) < 0.5, 200)
    lost = np.repeat(draws.random(SLOTS // 4) < 0.03, 4) & wide
    law = fit_path(observed("a", traced(40.0 + draws.normal(size=SLOTS) * np.where(wide, 5.0, 0.5), lost=lost)))
    assert max(law.loss[:2]) < 0.004 and min(law.loss[-2:]) == pytest.approx(0.03, abs=0.012)
    assert law.loss_run == pytest.approx(4.0, rel=0.1)


def test_a_sparse_trace_with_a_gap_is_fitted_to_what_was_probed() -> None:
    """Windows are ten probes long, a gap is neither loss nor level, and only steps between neighbouring probes count."""
    sent_us = np.arange(3000) * 200_000
    sent_us[1500:] += 65_000_000
    whole = two_speeds_ms(6, int(sent_us[-1]) // SLOT_US + 1)
    lost = np.random.default_rng(1).random(3000) < 0.036
    path = observed("x", traced(whole[sent_us // SLOT_US], sent_us, lost))
    law = fit_path(path)
    assert path.coverage.gaps == 1 and path.known.mean() == pytest.approx(600 / 665, abs=0.01)
    assert (law.every_slots, law.window_slots) == (20, pytest.approx(20 * PROBES / 0.964, rel=0.02))
    assert np.average(law.loss, weights=SHARES) == pytest.approx(0.036, rel=0.15)
    level = np.average(law.level_ms, axis=0, weights=SHARES)
    assert level[len(level) // 2] == pytest.approx(np.median(whole), rel=0.1)


def test_a_fit_that_does_not_agree_is_refused_but_can_be_looked_at(tmp_path: Path) -> None:
    """A delay that rises from the begin to the end of a trace is no law that is drawn again; nothing is written."""
    write_trace(traced(np.linspace(20.0, 500.0, SLOTS)), tmp_path / "odd" / "a.csv.gz")
    console, output = Console(file=(printed := io.StringIO()), width=160), tmp_path / "fitted.json"
    with pytest.raises(DataError, match=r"^fit of odd/a: .* measured is .*; allowed: .* to .*, since .* is drawn; without output="):
        fit(tmp_path / "odd", output, console)
    assert not output.exists()
    fit(tmp_path / "odd", None, console)
    assert "no" in printed.getvalue()


@pytest.mark.parametrize("delay_ms", [np.arange(SLOTS // 2) % 37.0, np.linspace(20.0, 500.0, SLOTS // 2)], ids=["alike", "odd"])
def test_the_word_of_a_row_follows_from_its_numbers(tmp_path: Path, delay_ms: np.ndarray) -> None:
    """A measured value agrees if, and only if, it lies from the lowest to the highest that is printed."""
    write_trace(traced(delay_ms), tmp_path / "of" / "a.csv.gz")
    fit(tmp_path / "of", None, Console(file=(printed := io.StringIO()), width=160))
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in printed.getvalue().splitlines() if line.startswith("│")]
    for _, name, _, measured, lowest, highest, word in rows:
        assert word == ("yes" if float(lowest) <= float(measured) <= float(highest) else "no"), name
    assert len(rows) == len(TOLERANCES)


def test_fit_refuses_too_few_answers_and_other_names_of_files(tmp_path: Path) -> None:
    """Lost slots do not count as samples; a constant delay with enough of them is fitted without jitter."""
    refused = rf"^trace one/a: windows of 50 probes with 25 answers is 29; allowed: at least {MIN_WINDOWS}, 1500 probes"
    with pytest.raises(DataError, match=refused):
        fit_path(observed("one/a", traced(np.full(1450, 20.0))))
    law = fit_path(observed("one/a", traced(np.full(1500, 20.0))))
    assert set(np.ravel(law.level_ms)) == {20.0} and set(np.ravel(law.excess_ms)) == {0.0} and set(law.loss) == {0.0}
    with pytest.raises(ValueError, match=r"output is 'fitted.csv'; allowed: a name ending in .json"):
        FitConfig(file=tmp_path, output=tmp_path / "fitted.csv")
