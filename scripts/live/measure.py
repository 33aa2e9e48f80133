"""vcgym-measure: probe pairs of hosts or paths of a session at 10 ms and write traces. See conf/measure.yaml and docs/live.md."""

import logging

from vcgym.live.commands import measure
from vcgym.live.config import MeasureConfig
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("measure", MeasureConfig)
def main(config: MeasureConfig) -> None:
    """Measure and print the files."""
    for file in measure(config):
        log.info(file)


if __name__ == "__main__":
    main()
