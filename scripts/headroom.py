"""vcgym-headroom: compute oracles on the worlds of a leaderboard run and the headroom of its systems. See conf/headroom.yaml."""

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.headroom.config import HeadroomConfig
from vcgym.leaderboard.headroom.run import worlds, write_headroom
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.call_columns import PUBLISHED
from vcgym.scripts.console.command import command


@command("headroom", HeadroomConfig)
def main(config: HeadroomConfig) -> None:
    """Compute the oracles and write the headroom."""
    config.data.export()
    played = results.read(results.RESULTS, config.results / "results.parquet")
    drawn, ranked = worlds(played, config.own_traces()), set(played["system"].to_pylist())
    published = load_systems([name for name in PUBLISHED if name in ranked])
    with progress("headroom", len(drawn)) as on_progress:
        page = write_headroom(config.results, drawn, published, config.folder, config.threads, on_progress)
    console = Console()
    console.print(f"Headroom: {config.results / 'headroom.md'}", soft_wrap=True)
    console.print(f"Report: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
