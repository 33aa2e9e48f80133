"""python -m lab protected-link: a link whose calls all protect themselves, against load. See lab/conf/protected_link.yaml."""

from typing import Annotated

from pydantic import Field
from rich.console import Console

from lab.commands import LAB
from lab.studies.protection.link import PLAIN_BPS, SCHEMES, play
from vcgym.agents.config.base import Config
from vcgym.leaderboard.report.table import markdown_table
from vcgym.scripts.console.command import command


class ProtectedLinkConfig(Config):
    """Calls over a drop-tail link; each scheme of `SCHEMES` has a row, each load a column.

    Attributes:
        loads: bytes of all calls without protection over those that the link carries.
        calls: number of calls.
        packets: packets of each.
        queue_ms: length of the queue at the rate of the link.
        loss: loss of each path behind the link.
        run: mean length of its runs in slots.
        seed: of departures and losses.
    """

    loads: Annotated[list[Annotated[float, Field(gt=0.0, le=10.0)]], Field(min_length=1)] = Field(
        default_factory=lambda: [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2]
    )
    calls: Annotated[int, Field(ge=1, le=1000)] = 20
    packets: Annotated[int, Field(ge=100, le=1_000_000)] = 12_000
    queue_ms: Annotated[float, Field(ge=1.0, le=10_000.0)] = 100.0
    loss: Annotated[float, Field(ge=0.0, le=0.5)] = 0.01
    run: Annotated[float, Field(ge=1.0, le=1000.0)] = 3.0
    seed: Annotated[int, Field(ge=0)] = 1


@command("protected_link", ProtectedLinkConfig, LAB)
def main(config: ProtectedLinkConfig) -> None:
    """Play each scheme at each load; print what is left of losses in %, and the mean time at the link in ms."""
    rows = []
    for scheme in SCHEMES:
        cells = []
        for load in config.loads:
            link_bps = config.calls * PLAIN_BPS / load
            shared = play(scheme, link_bps, config.calls, config.packets, config.queue_ms, config.loss, config.run, config.seed)
            cells.append(f"{100.0 * shared.left:.2f} / {shared.queued_ms:.1f}")
        rows.append([scheme.name, *cells])
    Console().print(markdown_table(["left % / ms", *map(str, config.loads)], rows, text=("left % / ms",)), highlight=False, soft_wrap=True)
