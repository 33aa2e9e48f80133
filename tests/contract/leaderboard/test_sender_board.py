"""The board of senders works like the board of calls: corrected ranks, unranked oracles, every part of text and page."""

import io
import re

import numpy as np
import pyarrow as pa
import pytest
from board_rows import cdf_rows, row
from rich.console import Console

from vcgym.leaderboard.evaluation.bars import bar_of
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.publish import publish, publish_together
from vcgym.leaderboard.report.table import print_summary
from vcgym.leaderboard.report.words.sentences import beaten, by_kind, headline, of_tuned_rule
from vcgym.leaderboard.report.words.systems import in_words, with_id
from vcgym.leaderboard.results.cdf import GRID_MS, DelayCdf
from vcgym.leaderboard.results.files import DELAY_CDF, TIMELINE, results_of, write
from vcgym.leaderboard.results.kinds import RATE

RUNS = 20
KINDS = ("steps", "wifi")
DRAWS = np.random.default_rng(1).normal(0.0, 1.0, (len(KINDS), RUNS))
BAR = bar_of("rate-v0", "bottleneck")
SYSTEMS = {
    "oracle_rate": ("oracle", 2.0, 0.0), BAR: ("tuned", 1.2, 0.2), "PPO": ("agent", 1.0, 0.2),
    "GCC-WEBRTC": ("rule", 0.6, 0.3), "UNMOD": ("rule", 0.6, 0.31), "FIXED": ("rule", -0.2, 0.2),
}  # fmt: skip
"""Kind, mean and spread of the utility; GCC-WEBRTC and UNMOD are not apart."""


def rows(suite="rate"):
    made = []
    for number, (system, (kind, mean, spread)) in enumerate(SYSTEMS.items()):
        for k, link_kind in enumerate(KINDS):
            for seed in range(RUNS):
                own = 0.05 * np.random.default_rng([number, k, seed]).normal()
                utility = mean + spread * float(DRAWS[k, seed]) + own - k
                values = dict.fromkeys(RATE.metric, 0.1 + 0.01 * number) | {
                    "system": system, "kind": kind, "suite": suite, "suite_version": "v0", "mode": "bottleneck", "stratum": link_kind,
                    "pair": link_kind, "seed": seed, "utility": utility, "audio_on_time": 0.99 - 0.1 * number,
                    "delay_p95_ms": 100.0 + number,
                }  # fmt: skip
                unknown = {"capacity_error": np.nan} | ({"overestimate": np.nan} if link_kind == "wifi" else {})
                made.append(row(RATE, **values) | unknown)
    return made


def table(suite="rate"):
    return pa.Table.from_pylist(rows(suite), schema=results_of(RATE).schema)


@pytest.fixture(scope="module", autouse=True)
def whole_suites():
    """Both suites play these systems by default: the best published one is that of all, and a board of some has none."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("rate-v0", "order-v0"):
            patch.setitem(SUITES, name, SUITES[name]._replace(systems=tuple(SYSTEMS)))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rate-v0")
    write(results_of(RATE), rows(), folder / "results.parquet")
    within = np.minimum(1000, (GRID_MS * 2).astype(np.int64))
    made = [cdf_rows(system, "bottleneck", "rate", kind, DelayCdf(within, 1000), ("arrival",)) for system in SYSTEMS for kind in KINDS]
    write(DELAY_CDF, [row for of_kind in made for row in of_kind], folder / "cdf.parquet")
    write(TIMELINE, [], folder / "timeline.parquet")
    publish(folder)
    return folder


def test_systems_are_ranked_by_the_mean_of_the_suites_metric():
    (board,) = boards(table())
    assert [line.system for line in board.lines] == [
        BAR,
        "PPO",
        *sorted(("GCC-WEBRTC", "UNMOD"), key=lambda name: -np.mean([row["utility"] for row in rows() if row["system"] == name])),
        "FIXED",
    ]
    assert [line.rank for line in board.lines] == ["1", "2", "tied 3-4", "tied 3-4", "5"]
    for line in board.lines:
        mean = np.mean([row["utility"] for row in rows() if row["system"] == line.system])
        assert line.found[RATE.ranked_by].value == pytest.approx(mean)
    assert [stratum.name for stratum in board.strata] == list(KINDS)


@pytest.mark.parametrize("suite", ["rate", "order"])
def test_the_first_system_is_compared_with_the_best_published_one_kind_by_kind(suite):
    leads = {"steps": dict.fromkeys(("utility", "audio_on_time"), 99.0), "wifi": dict.fromkeys(("utility", "audio_on_time"), -9.0)}
    made = [row | (leads[row["stratum"]] if row["system"] == BAR else {}) for row in table(suite).to_pylist()]
    (board,) = boards(pa.Table.from_pylist(made, schema=table(suite).schema))
    first, where, _ = headline(board)
    assert first.startswith(f"{with_id(BAR)} is first of 5 systems")
    assert board.published in ("GCC-WEBRTC", "UNMOD")
    assert f"Against {with_id(board.published)}, the best published system of this board: +" in first
    assert where.startswith(f"Its lead over {in_words(board.published)} is largest in steps, +")
    assert where.endswith("; it is behind in wifi.")


def test_a_metric_counts_in_the_worlds_that_have_it():
    (board,) = boards(table())
    (line,) = [line for line in board.lines if line.system == "PPO"]
    assert line.cell(RATE.metric["overestimate"]) == "12.0"  # of the steps alone
    assert line.cell(RATE.metric["capacity_error"]) == "n/a"


def test_the_suite_chooses_the_metric():
    (board,) = boards(table("order"))
    assert board.columns.ranked_by == "audio_on_time"
    assert [line.system for line in board.lines] == [name for name in SYSTEMS if name != "oracle_rate"]
    assert board.axis is None


def test_an_oracle_sets_the_axis_and_has_no_rank():
    (board,) = boards(table())
    assert "oracle_rate" not in {line.system for line in board.lines}
    assert board.axis.zero in ("GCC-WEBRTC", "UNMOD") and board.axis.hundred == "oracle_rate"
    assert board.axis.scores["oracle_rate"].value == pytest.approx(100.0)
    assert board.axis.scores["PPO"].value == pytest.approx(100.0 * 0.4 / 1.4, abs=3.0)


def test_who_a_tuned_rule_beats_is_said_in_the_suites_metric():
    (board,) = boards(table())
    assert board.bar.system == BAR
    assert {line.system for line in beaten(board)} == {"PPO", "GCC-WEBRTC", "UNMOD", "FIXED"}
    assert re.search(rf"\(utility against {BAR}\): agent PPO \(-0\.\d\d \[-0\.\d\d, -0\.\d\d\]\)", of_tuned_rule(board))


def test_the_difference_to_the_bar_is_shown_kind_by_kind(folder):
    """A lead over all worlds can be one of a single kind: an agent that is ahead in steps and behind in wifi."""
    leads = {"steps": {"utility": 99.0}, "wifi": {"utility": -9.0}}
    made = [row | (leads[row["stratum"]] if row["system"] == "PPO" else {}) for row in rows()]
    (board,) = boards(pa.Table.from_pylist(made, schema=results_of(RATE).schema))
    assert board.lines[0].system == "PPO"
    (of_agent,) = by_kind(board)
    assert of_agent.startswith(f"By kind, agent PPO against {in_words(BAR)} (utility): ahead in steps (+9")
    assert re.search(r"\]\); behind in wifi \(-9\.\d\d \[-9\.\d\d, -9\.\d\d\]\)\.$", of_agent)
    assert of_tuned_rule(board).endswith(of_agent)
    console = Console(file=io.StringIO(), width=1000)
    print_summary([board], console)
    assert of_agent in console.file.getvalue()
    for page in ("leaderboard.md", "report.html"):
        text = (folder / page).read_text()
        assert f"utility /s less that of {in_words(BAR)} in each stratum [95 %]" in text
        assert f"By kind, agent PPO against {in_words(BAR)} (utility): behind in" in text


def test_text_has_every_system_and_the_kinds(folder):
    text = (folder / "leaderboard.md").read_text()
    assert all(text.count(f"| {name} |") >= 4 for name in SYSTEMS if name != "oracle_rate")
    assert "| system | steps 20 worlds | wifi 20 worlds |" in text
    assert "utility /s [95 %]" in text and "R of ITU-T" not in text
    screen = io.StringIO()
    print_summary(boards(table()), Console(file=screen, width=120))
    assert max(map(len, screen.getvalue().splitlines())) <= 120 and "\N{HORIZONTAL ELLIPSIS}" not in screen.getvalue()


def test_the_page_names_the_metric_and_has_no_part_of_a_call_over_paths(folder):
    page = (folder / "report.html").read_text()
    assert "every system played the same worlds. utility: " in page and "Delay: until received, kind by kind" in page
    assert "G.114" not in page and "One session over time" not in page
    assert page.count('data-value="PPO"') >= 5


def test_one_page_holds_suites_of_both_metrics(folder, tmp_path):
    other = tmp_path / "order-v0"
    other.mkdir()
    for name in ("cdf.parquet", "timeline.parquet"):
        (other / name).write_bytes((folder / name).read_bytes())
    write(results_of(RATE), rows("order"), other / "results.parquet")
    publish_together([folder, other], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "utility /s with 95 % interval" in page and "audio on time % with 95 % interval" in page
