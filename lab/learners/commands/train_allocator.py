"""python -m lab train-allocator: search for an allocator of conferences."""

import logging

from lab.learners.allocator_config import AllocatorConfig
from lab.learners.conferences import train_allocator
from vcgym.agents.tracking.progress import progress

log = logging.getLogger(__name__)


def main(config: AllocatorConfig) -> None:
    """Search, and print utility and R on validation worlds."""
    with progress("allocators", config.trials) as on_progress:
        found = train_allocator(config, on_progress)
    log.info(f"{config.folder}: validation " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
