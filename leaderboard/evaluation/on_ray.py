"""Pieces of an evaluation as tasks of Ray, on this machine or on a cluster; the only module of the leaderboard that knows Ray.

Only the content of the cells travels back, through Ray, so machines need no folder in common. A task whose worker or machine is lost is
done again elsewhere; what it gives is the same, whoever does it.
"""

from collections.abc import Iterator

import ray

from vcgym.agents.sweeps.search import ray_running
from vcgym.leaderboard.evaluation.cells.cells import Cell
from vcgym.leaderboard.evaluation.cells.work_units import play_cells

RETRIES = 8  # of a task whose worker is lost; one that raises is not tried again


def play_on_ray(pieces: list[dict[str, Cell]], workers: int, address: str | None) -> Iterator[list[tuple[str, bytes]]]:
    """Yield the result of `vcgym.leaderboard.evaluation.cells.work_units.play_cells` for each piece, in the order in which they are done.

    Args:
        pieces: cells of one share each, by the names of their files.
        workers: processes of a Ray of our own; without effect if `address` is given.
        address: of a running cluster, "auto" for the one that this machine belongs to; None starts a Ray of our own.
    """
    with ray_running(workers, address):
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(play_cells)
        waiting = [task.remote(piece) for piece in pieces]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
