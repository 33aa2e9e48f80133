"""vcgym emulate: play a world in real time between the parties of a live call, and write their session file. See docs/live.md."""

import logging

from vcgym.live.commands import emulate
from vcgym.live.config import EmulateConfig
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("emulate", EmulateConfig)
def main(config: EmulateConfig) -> None:
    """Run the emulator and print its address, then its counts."""
    node = emulate(config, lambda address: log.info(f"emulator at {address[0]}:{address[1]}, session in {config.session}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.relay.counts.most_common()) or "nothing arrived")


if __name__ == "__main__":
    main()
