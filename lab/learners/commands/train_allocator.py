"""python -m lab train-allocator: search for an allocator of conferences. See lab/conf/train_allocator.yaml."""

import logging

from lab.commands import LAB
from lab.learners.allocator_config import AllocatorConfig
from lab.learners.conferences import train_allocator
from vcgym.agents.tracking.progress import progress
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("train_allocator", AllocatorConfig, LAB)
def main(config: AllocatorConfig) -> None:
    """Search, and print utility and R on validation worlds."""
    with progress("allocators", config.trials) as on_progress:
        found = train_allocator(config, on_progress)
    log.info(f"{config.folder}: validation " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
