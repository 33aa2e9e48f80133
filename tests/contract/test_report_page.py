"""The leaderboard as a page, in Markdown and on a terminal: every system, the same bytes for the same files, nothing from a network."""

import io
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from vcgym.leaderboard.board import boards
from vcgym.leaderboard.cdf import GRID_MS, DelayCdf, cdf_rows
from vcgym.leaderboard.columns import METRICS
from vcgym.leaderboard.report import publish, render
from vcgym.leaderboard.results import DELAY_CDF, RESULTS, read, write
from vcgym.leaderboard.table import print_boards

MODES = ("correlated", "paper")
RULES = [
    "BestHistory-FixedLag60", "DRT-BF", "DRT-WM", "Direct-FixedLag", "RandomPath-WM", "RoundRobin-WM",
    "VCR-BF", "VCR-WM", "VIA-BF", "VIA-WM", "vcroute@10-WM",
]  # fmt: skip
SYSTEMS = [*RULES, "PPO Call <one>"]
WORLDS = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaderboard")
    results, distributions = [], []
    for mode in MODES:
        for place, system in enumerate(SYSTEMS):
            results += [result(system, place, mode, seed) for seed in range(WORLDS)]
            within = np.floor(1000.0 / (1.0 + np.exp((120.0 + 8.0 * place - GRID_MS) / 20.0))).astype(np.int64)
            batch = dict.fromkeys(("event", "clocked"), DelayCdf(within, 1000))
            distributions += cdf_rows(system, mode, [batch, batch])
    write(RESULTS, results, folder / "results.parquet")
    write(DELAY_CDF, distributions, folder / "cdf.parquet")
    publish(folder)
    return folder


def result(system, place, mode, seed):
    identity = {
        "system": system, "kind": "rule" if system in RULES else "agent", "suite": "small", "suite_version": "1", "mode": mode,
        "scenario": "places", "stratum": "quiet" if seed % 2 else "user-node", "split": "test", "pair": f"A>B{seed}", "seed": seed,
        "card": "12ab34cd", "env": "vcgym/Call-v0", "packets": 6000, "latency_from_rtt": "full" if mode == "paper" else "half",
        "clocked_input": "arrival", "delay_impairment": "reduced",
        "training_decisions": 0 if system in RULES else 1_000_000, "tuning_trials": 0, "parameters": 12,
    }  # fmt: skip
    values = {column.name: (100 + place + seed if column.type == "int64" else 0.01 * place + 0.001 * seed) for column in METRICS}
    return identity | values | {"g114_band": "<=150", "r": 85.0 - place + 0.1 * seed}


def test_publishing_twice_gives_the_same_bytes(folder, tmp_path):
    for name in ("results.parquet", "cdf.parquet"):
        shutil.copy(folder / name, tmp_path / name)
    publish(tmp_path)
    for name in ("report.html", "leaderboard.md"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_tables_are_in_order_of_rank(folder):
    for board in boards(read(RESULTS, folder / "results.parquet")):
        assert [line.standing.system for line in board.lines] == SYSTEMS
        assert [line.rank for line in board.lines] == [str(place) for place in range(1, len(SYSTEMS) + 1)]
        assert board.worlds == WORLDS
        assert board.lines[0].bands == {"<=150": 1.0, "150-400": 0.0, ">400": 0.0}


def test_strata_stand_by_themselves(folder):
    for board in boards(read(RESULTS, folder / "results.parquet")):
        assert [(stratum.name, stratum.worlds) for stratum in board.strata] == [("quiet", 3), ("user-node", 3)]
        quiet, user = board.strata
        assert quiet.r["DRT-BF"].value == pytest.approx(85.0 - 1 + 0.1 * 3)  # seeds 1, 3, 5
        assert user.r["DRT-BF"].value == pytest.approx(85.0 - 1 + 0.1 * 2)
        assert [quiet.standings[system].rank_low for system in SYSTEMS] == list(range(1, len(SYSTEMS) + 1))
        assert quiet.shown("DRT-BF") == "84.30 (2)"
    assert "84.30 (2)" in (folder / "report.html").read_text()


def test_the_natural_mix_is_a_board_of_its_own():
    natural = [result(s, SYSTEMS.index(s), "correlated", seed) | {"stratum": "natural"} for s in SYSTEMS[:3] for seed in range(4)]
    declared = [result(s, SYSTEMS.index(s), "correlated", 9 + seed) for s in SYSTEMS[:3] for seed in range(2)]
    found = boards(pa.Table.from_pylist(natural + declared, schema=RESULTS.schema))
    assert [(board.mode, board.worlds, len(board.strata)) for board in found] == [("correlated", 2, 2), ("correlated-natural", 4, 0)]
    assert found[1].conditions["strata"] == "natural"


def test_terminal_tables_fit_120_columns_and_lose_nothing(folder):
    screen = io.StringIO()
    print_boards(boards(read(RESULTS, folder / "results.parquet")), Console(file=screen, width=120))
    text = screen.getvalue()
    assert max(map(len, text.splitlines())) <= 120
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert all(text.count(f" {system} ") == 4 * len(MODES) for system in SYSTEMS)
    assert "85.25 [" in text


def test_markdown_has_all_rows_and_what_a_number_needs_beside_it(folder):
    text = (folder / "leaderboard.md").read_text()
    for mode in MODES:
        assert f"## Mode {mode} ({WORLDS} worlds)" in text
    for fact in ("suite: small 1", "seeds: 6 (0 to 5)", "data card: 12ab34cd", "environment: vcgym/Call-v0", "delay impairment: reduced"):
        assert text.count(f"- {fact}\n") == len(MODES)
    assert all(text.count(f"| {system} |") == 4 * len(MODES) for system in SYSTEMS)


def test_a_system_without_a_distribution_is_named(folder):
    table = read(DELAY_CDF, folder / "cdf.parquet")
    lacking = table.filter([name != "DRT-BF" for name in table["system"].to_pylist()])
    with pytest.raises(ValueError, match=r"no event delay distribution in mode 'correlated' for systems \['DRT-BF'\]"):
        render(boards(read(RESULTS, folder / "results.parquet")), lacking)


def test_batches_of_a_distribution_add_up(folder):
    table = read(DELAY_CDF, folder / "cdf.parquet")
    assert table["packets_sent"].unique().to_pylist() == [2000]
    first = table.filter(pc.field("system") == SYSTEMS[0])
    assert dict(zip(first["delay_ms"].to_pylist(), first["packets_within"].to_pylist(), strict=False))[120.0] == 1000


@pytest.mark.browser
def test_the_page_opens_alone_with_all_rows_and_sorts(folder, visit):
    page = visit(folder / "report.html")
    for mode in MODES:
        rows = page.locator(f"#mode-{mode} table.board tbody tr")
        names = f"#mode-{mode} table.board tbody th"
        assert page.locator(names).evaluate_all("cells => cells.map(cell => cell.dataset.value)") == SYSTEMS
        assert rows.locator("svg.interval circle").count() == len(SYSTEMS)
        assert page.locator(f"#mode-{mode} .board tr.agent").count() == page.locator(f"#mode-{mode} .strata tr.agent").count() == 1
        assert page.locator(f"#mode-{mode} .curves svg").count() == 2
        assert page.locator(f"#mode-{mode} .legend li").count() == len(SYSTEMS)
        head = page.locator(f"#mode-{mode} table.board thead button").get_by_text("R", exact=True)
        for wanted in (SYSTEMS[::-1], SYSTEMS):  # ascending in R first, then descending
            head.click()
            assert page.locator(names).evaluate_all("cells => cells.map(cell => cell.dataset.value)") == wanted
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
