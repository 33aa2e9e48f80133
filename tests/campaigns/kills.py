"""SIGKILL at random instants of every kind of long work: started again, it ends with the files of an undisturbed run."""

import random
import shutil
import time

from campaigns._processes import finish, kill, results, start
from campaigns._work import WORK
from campaigns.case import Case

KILLS = {"small": 2, "medium": 5, "full": 17}  # of each kind of work
RUNS = 4  # kills that one run takes before it may end


def run(scale, folder):
    """Yield a case for each kind of work."""
    for name in WORK:
        yield _killed(name, KILLS[scale], folder / name)


def _killed(name, kills, folder):
    rng = random.Random(name)
    status, _ = finish(name, folder / "undisturbed")
    wanted = results(name, folder / "undisturbed")
    shutil.rmtree(folder / "undisturbed")
    _, took_s = finish(name, folder / "timed")  # with warm caches
    alike = [results(name, folder / "timed") == wanted]
    shutil.rmtree(folder / "timed")
    instants = []
    while len(instants) < kills:
        home = folder / f"killed-{len(alike)}"
        for _ in range(min(RUNS, kills - len(instants))):
            process, wait_s = start(name, home), rng.uniform(0.2, 1.0) * took_s
            time.sleep(wait_s)
            if process.poll() is not None:  # it was quicker than the one before
                took_s *= 0.8
                break
            kill(process)
            instants.append(round(wait_s, 1))
        ended, _ = finish(name, home)
        alike.append(ended == 0 and results(name, home) == wanted)
        shutil.rmtree(home)
    found = {"kills": len(instants), "after s": str(instants), "of s": round(took_s, 1), "results": len(wanted)}
    found["runs alike"] = f"{sum(alike)} of {len(alike)}"
    return Case(name, status == 0 and bool(wanted) and all(alike), found)
