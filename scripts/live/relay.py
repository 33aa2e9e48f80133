"""vcgym relay: forward datagrams of live calls along their source route. See docs/live.md."""

import logging

from vcgym.live.commands import relay
from vcgym.live.config import RelayConfig
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("relay", RelayConfig)
def main(config: RelayConfig) -> None:
    """Run the relay and print its address, then its counts."""
    node = relay(config, lambda address: log.info(f"relay at {address[0]}:{address[1]}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.counts.most_common()) or "nothing arrived")


if __name__ == "__main__":
    main()
