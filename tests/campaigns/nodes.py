"""A node of a two-node Ray cluster is killed under a sweep and under a leaderboard run: both end with the results of an undisturbed run."""

import os
import threading
import time

from campaigns import Case
from campaigns.work import pieces
from campaigns.work.processes import TESTS, finish, results

RUNS = {"small": 1, "medium": 3, "full": 10}  # of each kind of work


def run(scale, folder):
    """Yield a case for each kind of work and run."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    work = {
        "sweep": lambda home, address: pieces.sweep(home, f"ray.address={address}", "concurrent=2"),
        "leaderboard": lambda home, address: pieces.leaderboard(home, f"ray.address={address}"),
    }
    for name, start in work.items():
        home = folder / name
        _, took_s = finish(name, home / "undisturbed")
        wanted = results(name, home / "undisturbed")
        for number in range(RUNS[scale]):
            yield _case(name, start, home / f"lost-{number}", took_s * (number + 1) / (RUNS[scale] + 1), wanted)


def _case(name, start, home, after_s, wanted):
    from ray.cluster_utils import Cluster

    home.mkdir(parents=True)
    os.chdir(home)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = cluster.add_node(num_cpus=1)
    lost = threading.Timer(after_s, cluster.remove_node, (node,), {"allow_graceful": False})
    lost.start()
    began, ended = time.monotonic(), ""
    try:
        start(home, cluster.address)
    except (Exception, SystemExit) as error:
        ended = f"{type(error).__name__}: {error}"[:200]
    lost.join()
    cluster.shutdown()
    alike = not ended and results(name, home) == wanted
    found = {"node killed after s": round(after_s, 1), "ended after s": round(time.monotonic() - began, 1), "message": ended}
    return Case(name, alike, found | {"results": "as undisturbed" if alike else "others"})
