"""vcgym measure: probe pairs of hosts or paths of a session at 10 ms and write traces. See docs/live.md."""

import logging

from vcgym.live.call.stats import seconds_shown
from vcgym.live.commands import measure
from vcgym.live.config import MeasureConfig
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("measure", MeasureConfig)
def main(config: MeasureConfig) -> None:
    """Measure; print the files, and the series without one."""
    with seconds_shown("probing") as on_slot:
        files, silent = measure(config, on_slot)
    for file in files:
        log.info(file)
    for name in silent:
        log.info(f"{name}: nothing arrived, no trace")


if __name__ == "__main__":
    main()
