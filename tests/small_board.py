"""A small board of two modes: a few rules and an agent whose results are known, in files as a run writes them, and its page."""

import numpy as np
from board_rows import cdf_rows, row

from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.report.page.data_cards import write_cards
from vcgym.leaderboard.report.publish import publish
from vcgym.leaderboard.results.cdf import GRID_MS, DelayCdf
from vcgym.leaderboard.results.files import DELAY_CDF, RESULTS, TIMELINE, write
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.scenarios.scenario import Scenario

MODES = ("correlated", "paper")
RULES = [
    "BestHistory-FixedLag60", "DRT-BF", "DRT-WM", "Direct-FixedLag", "RandomPath-WM", "RoundRobin-WM",
    "VCR-BF", "VCR-WM", "VIA-BF", "VIA-WM", "vcroute@10-WM",
]  # fmt: skip
SYSTEMS = [*RULES, "PPO Call <one>"]
WORLDS = 6


def write_board(folder):
    results, distributions, timelines = [], [], []
    for mode in MODES:
        for place, system in enumerate(SYSTEMS):
            results += [result(system, place, mode, seed) for seed in range(WORLDS)]
            within = np.floor(1000.0 / (1.0 + np.exp((120.0 + 8.0 * place - GRID_MS) / 20.0))).astype(np.int64)
            for seed in range(WORLDS):
                distributions += cdf_rows(system, mode, "places", f"A>B{seed}", DelayCdf(2 * within, 2000), ("event", "clocked"))
            timelines += [session(system, place, mode, seed) for seed in (0, 1)]
    write(RESULTS, results, folder / "results.parquet")
    write(DELAY_CDF, distributions, folder / "cdf.parquet")
    write(TIMELINE, timelines, folder / "timeline.parquet")
    write_cards(PATHS, [Scenario("wonderproxy", "paper", 100)], folder)
    publish(folder)
    return folder


def result(system, place, mode, seed):
    values = {column.name: (100 + place + seed if column.type == "int64" else 0.01 * place + 0.001 * seed) for column in CALL.metrics}
    identity = {
        "system": system, "kind": "rule" if system in RULES else "agent", "suite": "small", "suite_version": "1", "mode": mode,
        "scenario": "places", "stratum": "quiet" if seed % 2 else "user-node", "split": "test", "pair": f"A>B{seed}", "seed": seed,
        "card": "12ab34cd", "env": "vcgym/Call-v1", "packets": 6000, "delay_impairment": "reduced", "parameters": 12,
    }  # fmt: skip
    return row(CALL, **values | identity | {"g114_band": "<=150", "r": 85.0 - place + 0.1 * seed})


def session(system, place, mode, seed):
    """Two hundred bins of delay that rises in steps, on a path that changes every fifty."""
    bins = range(200)
    values = {
        "delay_median_ms": [120 + 8 * place + 30 * (one // 50) if one % 67 else -1 for one in bins],
        "delay_most_ms": [150 + 8 * place + 40 * (one // 50) if one % 67 else -1 for one in bins],
        "missing": [30 if one % 67 == 0 else 0 for one in bins],
        "path": [one // 50 % 2 * place for one in bins],
        "path_changes": [int(place > 0 and one > 0 and one % 50 == 0) for one in bins],
    }
    world = {"mode": mode, "scenario": "places", "stratum": "quiet" if seed % 2 else "user-node", "split": "test"}
    paths = ["direct", *(f"via {n}" for n in range(1, len(SYSTEMS)))]
    return {"system": system, **world, "pair": f"A>B{seed}", "seed": seed, "packets_per_bin": 30, "path_names": paths, **values}
