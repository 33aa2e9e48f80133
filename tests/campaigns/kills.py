"""SIGKILL at random instants of every kind of long work: after a restart, it ends with the files of an undisturbed run."""

import random
import shutil
import time

from campaigns import Case
from campaigns.work.pieces import WORK
from campaigns.work.processes import finish, kill, logged, message, results, start

KILLS = {"small": 2, "medium": 6, "full": 20}  # of each kind of work
RUNS = 4  # kills per run before it may end


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
    differ = [_difference(0, wanted, results(name, folder / "timed"))]
    shutil.rmtree(folder / "timed")
    instants, log = [], folder / "log.txt"
    while len(instants) < kills:
        home = folder / f"killed-{len(differ)}"
        for _ in range(min(RUNS, kills - len(instants))):
            process, wait_s = start(name, home), rng.uniform(0.2, 1.0) * took_s
            time.sleep(wait_s)
            if process.poll() is not None:  # it ended before the kill
                took_s *= 0.8
                break
            kill(process)
            instants.append(round(wait_s, 1))
        ended = logged(name, home, log)
        difference = _difference(ended, wanted, results(name, home))
        differ.append(f"{difference}: {message(log, home)}" if difference else "")
        shutil.rmtree(home)
    found = {"kills": len(instants), "after s": str(instants), "of s": round(took_s, 1), "results": len(wanted)}
    found |= {"runs alike": f"{differ.count('')} of {len(differ)}", "others": "; ".join(filter(None, differ))}
    return Case(name, status == 0 and bool(wanted) and not any(differ), found)


def _difference(status, wanted, found):
    """Return what a run ended with beside the results that are wanted; empty if nothing."""
    files = sorted(file for file in wanted.keys() | found.keys() if wanted.get(file) != found.get(file))
    return f"status {status}, {files}" if status or files else ""
