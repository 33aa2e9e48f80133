"""lab/notes/truth.md: the statements of the truth table in every kind of world, and the ranking of the systems by the correlation time.

The same results give the same bytes, of page and figure. In the words of the page a claim

lower        holds: the interval is below 0;            reversed: above 0;                   else it does not hold
equal        holds: it is within the accepted range;    else it does not hold
not higher   holds: its upper end is in that range;     reversed: its lower end is beyond;   else it does not hold
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from lab.papers.judge import CANNOT, HIGHER, LARGER, REPRODUCED, REVERSED, SMALLER, judge
from lab.papers.vcroute.measures import Material, MissingError, measured, of_pairs
from lab.papers.vcroute.outcomes import MIN_WORLDS, STATISTICS, Setting
from lab.papers.vcroute.statements import REFERENCE, Change, StatisticFigure, VCRouteStatement, load_claims, scenario_of
from vcgym.leaderboard.report.figure import as_svg, strokes, style
from vcgym.leaderboard.report.table import markdown_table, render
from vcgym.leaderboard.results.cdf import ACCOUNTINGS
from vcgym.leaderboard.results.columns import interval_text
from vcgym.leaderboard.results.kinds import CALL
from vcgym.leaderboard.statistics import Estimate, Paired, difference, differences, pair_worlds, rank

Results = Sequence[tuple[Setting, pa.Table]]
Played = Sequence[tuple[Setting, Material]]

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "no value"
NEGLIGIBLE_DELAY, NEGLIGIBLE_LOSS = 0.01, 0.001
ABOUT = "wonderproxy"
PICTURE = "ranking_by_correlation.svg"
RANKED_BY = {
    "event_end_to_end_delay_mean_ms": "mean delay, event",
    "clocked_end_to_end_delay_mean_ms": "mean delay, clocked",
    "r": "R of the call",
}


def page(results: Results, seeds: int, packets: int) -> str:
    """Return the whole page as Markdown from the results of each played setting."""
    percent = {"delay": 5.0, "loss": 1.0, "slight": 100.0 * NEGLIGIBLE_DELAY, "rare": 100.0 * NEGLIGIBLE_LOSS}
    sections = []
    for title, family in (("WonderProxy", "wonderproxy"), ("Cloud", "cloud"), ("Scale", "synthetic-")):
        played = [(setting, Material(None, table, None)) for setting, table in results if setting.about.startswith(family)]
        looked_at = {setting.about for setting, _ in played}
        statements = [one for one in load_claims() if scenario_of(one) in looked_at]
        claims = [one for one in statements if isinstance(one.measure, Change)]
        numbers = [one for one in statements if isinstance(one.measure, StatisticFigure)]
        if claims:
            sections += [f"## {title}\n", *(_claims(claims, played, accounting) for accounting in ACCOUNTINGS)]
        if numbers:
            sections += [_numbers(numbers, played, accounting) for accounting in ACCOUNTINGS]
        sections += [_systems(played)] if played else []
    content = {**percent, "seeds": seeds, "packets": packets, "least": MIN_WORLDS, "sections": [*sections, *ranking(results)]}
    return render(Path(__file__).with_name("truth.md.j2"), **content)


def _claims(claims: Iterable[VCRouteStatement], played: Played, accounting: str) -> str:
    heading = f"### Claims, {accounting}\n\n"
    rows = [[_said(one), one.published, *_cells(one, played, accounting, claim_cell)] for one in claims]
    return heading + markdown_table(["claim", "published", *_labels(played)], rows, text=("claim", "published"))


def _numbers(numbers: Iterable[VCRouteStatement], played: Played, accounting: str) -> str:
    heading = f"### Numbers, {accounting}: ours beside the published, bold where within\n\n"
    rows = [[_named(one), one.published, *_cells(one, played, accounting, number_cell)] for one in numbers]
    return heading + markdown_table(["number", "published", *_labels(played)], rows, text=("number", "published"))


def _labels(played: Played) -> list[str]:
    return list(dict.fromkeys(setting.label for setting, _ in played))


def _cells(
    statement: VCRouteStatement, played: Played, accounting: str, cell: Callable[[VCRouteStatement, Estimate], str]
) -> list[str]:  # fmt: skip
    """Return the cell of each label; "" if the setting has none of the statement's pairs."""
    found = {}
    for setting, material in played:
        if setting.about == scenario_of(statement):
            with suppress(MissingError):
                found[setting.label] = cell(statement, measured(statement.measure, material, accounting))
    return [found.get(label, "") for label in _labels(played)]


def _said(statement: VCRouteStatement) -> str:
    measure = statement.measure
    assert isinstance(measure, Change)
    what = {"mean_ms": "mean delay", "p50_ms": "median delay", "loss": "loss"}[measure.statistic]
    words = f"{measure.system} {statement.rule} {'than' if statement.rule != 'equal' else 'to'} {measure.reference}, {what}"
    where = [measure.scenario] * measure.scenario.startswith("synthetic") + [measure.pair.removeprefix("*-")] * (measure.pair != "*")
    return f"{words} ({', '.join(where)})" if where else words


def _named(statement: VCRouteStatement) -> str:
    measure = statement.measure
    assert isinstance(measure, StatisticFigure)
    return f"{measure.system} {measure.pair}, {measure.statistic.removesuffix('_ms').replace('_', ' ')}"


def claim_cell(statement: VCRouteStatement, change: Estimate) -> str:
    """Return the verdict in the page's words, the size relative to the published one, and the change in percent or points."""
    word, size = in_words(statement, change)
    bold = f"**{word}**" if word == HOLDS and size in ("", "larger") else word
    return f"{bold} {size} {interval_text(change, 1, 100.0, '+')}".replace("  ", " ")


def in_words(statement: VCRouteStatement, change: Estimate) -> tuple[str, str]:
    """Return the judge's verdict as a word of the page, and the comparison of the size.

    Returns:
        HOLDS, FAILS, REVERSED or UNKNOWN; for a claim that something is lower also "negligible" if the whole interval is within
        `NEGLIGIBLE_DELAY` or `NEGLIGIBLE_LOSS` of zero, else "smaller" or "larger" if it excludes the published size, else "".
        The size of a change of loss is not compared: the paper does not state whether it means percent or points.
    """
    assert isinstance(statement.measure, Change)
    loss = statement.measure.statistic == "loss"
    verdict, reason = judge(statement, change)
    sizes = {SMALLER: "smaller", LARGER: "larger"}
    if verdict == CANNOT:
        return UNKNOWN, ""
    word = REVERSED if reason in (REVERSED, HIGHER) else HOLDS if verdict == REPRODUCED or reason in sizes else FAILS
    if statement.rule != "lower" or word == FAILS:
        return word, ""
    if max(-change.low, change.high) < (NEGLIGIBLE_LOSS if loss else NEGLIGIBLE_DELAY):
        return word, "negligible"
    return word, "" if loss else sizes.get(reason, "")


def number_cell(statement: VCRouteStatement, ours: Estimate) -> str:
    """Return a value, in bold if it is in the accepted range; its interval is ignored."""
    assert isinstance(statement.measure, StatisticFigure)
    verdict, _ = judge(statement, Estimate(ours.value, ours.value, ours.value))
    if verdict == CANNOT:
        return "n/a"
    share = STATISTICS[statement.measure.statistic].unit == "%"
    value = f"{100.0 * ours.value:.2g} %" if share else f"{ours.value:.0f}"
    return f"**{value}**" if verdict == REPRODUCED else value


def _systems(played: Played) -> str:
    """Return a table of the means of every system in every setting, and their differences to the reference."""
    rows = []
    for setting, material in played:
        paired = pair_worlds(of_pairs(material.results, "*"))
        where = f"{setting.scenario}, {setting.label} ({paired.row.shape[1]})"
        rows += [[where, system, *_means(paired, system)] for system in paired.systems]
    heading = f"### Systems: mean end-to-end delay and loss, and the change to {REFERENCE}\n\n"
    columns = [f"{accounting} {what}" for accounting in ACCOUNTINGS for what in ("delay", "loss")]
    return heading + markdown_table(["worlds", "system", *columns], rows, text=("worlds", "system"))


def _means(paired: Paired, system: str) -> Iterator[str]:
    """Yield the cells: delay and loss, accounting by accounting."""
    for accounting in ACCOUNTINGS:
        for statistic in ("mean_ms", "loss"):
            column, loss = STATISTICS[statistic].column.format(accounting), statistic == "loss"
            mean = float(paired.results[column].to_numpy()[paired.row[paired.systems.index(system)]].mean())
            shown = f"{100.0 * mean:.2f} %" if loss else f"{mean:.0f} ms"
            change = interval_text(difference(paired, column, system, REFERENCE, relative=not loss), 1, 100.0, "+")
            yield shown if system == REFERENCE else f"{shown} ({change})"


def ranking(results: Sequence[tuple[Setting, pa.Table]]) -> list[str]:
    """Return Markdown parts: per measure a table of ranks, systems by settings, if its scenario was played."""
    chosen = [(setting, table) for setting, table in results if setting.about == ABOUT]
    if not chosen:
        return []
    parts = [f"## How the ranking moves with the correlation time\n\n![What each system gains, by correlation time]({PICTURE})\n"]
    for metric, what in RANKED_BY.items():
        better = CALL.metric[metric].better
        places = {setting.label: {line.system: line for line in rank(pair_worlds(table), metric, better)} for setting, table in chosen}
        systems = sorted(next(iter(places.values())))
        rows = [[system, *(lines[system].ranks for lines in places.values())] for system in systems]
        heading = f"### Rank by {what}: interquartile mean over worlds, a range where they do not tell\n\n"
        parts.append(heading + markdown_table(["system", *places], rows, text=("system",)))
    return parts


def picture(results: Sequence[tuple[Setting, pa.Table]]) -> str:
    """Return SVG of the gain of each system over `REFERENCE` by correlation time with 95 % intervals; "" without correlated worlds."""
    chosen = [(setting, pair_worlds(table)) for setting, table in results if setting.about == ABOUT and setting.mode == "correlated"]
    if not chosen:
        return ""
    drawn = strokes(dict.fromkeys(set(chosen[0][1].systems) - {REFERENCE}, "rule"))
    with style():
        figure = Figure(figsize=(10.5, 3.4), layout="constrained", facecolor="white")
        for axes, (metric, what) in zip(figure.subplots(1, len(RANKED_BY)), RANKED_BY.items(), strict=True):
            changes = [differences(paired, metric, REFERENCE) for _, paired in chosen]
            for index, (system, stroke) in enumerate(drawn.items()):
                value, low, high = np.array([change[system] for change in changes]).T
                # Taus are evenly spaced, because they span three decades and begin at 0. Systems are side by side.
                x = np.arange(len(chosen)) + 0.12 * (index - (len(drawn) - 1) / 2)
                bars = np.maximum(0.0, (value - low, high - value))
                axes.errorbar(x, value, bars, color=stroke.colour, marker="o", markersize=3.5, linewidth=1.2, label=system)
            axes.axhline(0.0, color="#444444", linewidth=0.8)
            unit = CALL.metric[metric].unit
            axes.set_title(f"{what}{', ' + unit if unit else ''}, against {REFERENCE}", loc="left", fontsize=10.0)
            axes.set_xticks(range(len(chosen)), [f"{setting.arguments['tau_ms']:g}" for setting, _ in chosen])
            axes.set_xlabel("correlation time, ms")
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.spines[:].set_visible(False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False)
        return as_svg(figure)
