"""Evaluation as Ray tasks on this machine or on a cluster; the only module of the leaderboard that uses Ray.

Ray returns only the content of the cells, so machines need no shared folder. A task whose worker or machine is lost runs again elsewhere;
its result does not depend on the worker.
"""

from collections.abc import Iterator

import ray

from vcgym.agents.sweeps.search import ray_running
from vcgym.leaderboard.evaluation.cells.cells import Cell
from vcgym.leaderboard.evaluation.cells.playing import play_cells

RETRIES = 8  # retries of a task whose worker is lost; a task that raises is not retried


def play_on_ray(pieces: list[dict[str, Cell]], workers: int, address: str | None) -> Iterator[list[tuple[str, bytes]]]:
    """Yield the result of `vcgym.leaderboard.evaluation.cells.playing.play_cells` for each piece, in order of completion.

    Args:
        pieces: cells of one batch each, by the names of their files.
        workers: processes of a local Ray; ignored if `address` is given.
        address: address of a running cluster, "auto" for this machine's; None starts a local Ray.
    """
    with ray_running(workers, address):
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(play_cells)
        waiting = [task.remote(piece) for piece in pieces]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
