"""Failures of disks, folders, servers, caches, clocks, signals and values during long work: message, status, remaining files.

In every case, the same command restarted without the fault must end with the results of an undisturbed run.
"""

import shutil
import signal
import socket
import subprocess
import time
from functools import partial

from campaigns import Case
from campaigns.work.processes import finish, kill, logged, message, results, start
from campaigns.work.spoilers import VARIABLE

WORKS = ("training", "pair", "tuning", "leaderboard")
DISK_SHARES = {"small": (30, 70), "medium": tuple(range(10, 100, 20)), "full": tuple(range(5, 100, 5))}  # % of the files of the work
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FAILS, ANY = "not 0", "any"


def run(scale, folder):
    """Yield a case for each fault of each kind of work."""
    for name in WORKS:
        home = folder / name
        finish(name, home / "undisturbed")
        wanted = results(name, home / "undisturbed")
        _, took_s = finish(name, home / "timed")
        troubles = _of_any(scale, took_s, _files(home / "timed")) | (_of_training() if name == "training" else {})
        for trouble, (suffer, status) in troubles.items():
            yield _case(name, home, trouble, suffer, status, wanted)


def _files(folder):
    """Return the number of files and folders that a finished work left beside those of its tracking."""
    return sum("outputs" not in path.relative_to(folder).parts for path in folder.rglob("*"))


def _of_any(scale, took_s, files):
    """Return the faults of any work by title, each with its required exit status."""
    return {
        **{number.name: (partial(_signalled, number=number, after_s=0.6 * took_s), FAILS) for number in SIGNALS},
        "disk of 64 KiB": (partial(_on_disk, options="size=64k"), FAILS),
        **{
            f"disk full after {share} % of the files": (partial(_on_disk, options=f"size=1g,nr_inodes={files * share // 100}"), FAILS)
            for share in DISK_SHARES[scale]
        },
        "read-only folder": (partial(_on_disk, options="size=1g,ro"), FAILS),
        "spoiled kernel cache": (_with_spoiled_cache, 0),
        "clock that jumps by up to a day": (partial(logged, **{VARIABLE: "clock"}), 0),
        "two runs in one folder": (_twice, ANY),
    }


def _of_training():
    return {
        "observation that is NaN": (partial(logged, **{VARIABLE: "nan-observation"}), 1),
        "reward that is NaN": (partial(logged, **{VARIABLE: "nan-reward"}), 1),
        "no tracking server": (partial(logged, MLFLOW_TRACKING_URI="http://127.0.0.1:9"), 1),
        "tracking server that is silent": (_with_silent_server, 1),
    }


def _case(name, home, trouble, suffer, status, wanted):
    """Run with a fault, restart without it, and compare the results."""
    place, log = home / "place", home / "log.txt"
    place.mkdir(parents=True)
    began = time.monotonic()
    ended = suffer(name, place, log)
    took_s = time.monotonic() - began
    again, _ = finish(name, place)
    alike = again == 0 and results(name, place) == wanted
    shutil.rmtree(place)
    found = {"status": ended, "s": round(took_s, 1), "message": message(log, place), "started again": f"status {again}"}
    found["results"] = "as undisturbed" if alike else "others"
    as_said = status == ANY or (ended != 0 if status == FAILS else ended == status)
    return Case(f"{name}: {trouble}", alike and as_said, found)


def _signalled(name, home, log, number, after_s):
    """Send a signal after a while, earlier if the work had ended by then."""
    while True:
        with log.open("wb") as output:
            process = start(name, home, output)
            time.sleep(after_s)
            if process.poll() is None:
                kill(process, number)
                return process.returncode
        after_s /= 2
        shutil.rmtree(home)


def _on_disk(name, home, log, options):
    """Run on a separate disk, then keep its content, as if the disk had been made larger or writable."""
    disk = home.with_name("disk")
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
    try:
        with log.open("wb") as output:
            status = start(name, disk, output, cwd=home).wait()
        shutil.copytree(disk, home, dirs_exist_ok=True)
    finally:
        subprocess.run(["umount", disk], check=True)
        disk.rmdir()
    return status


def _with_spoiled_cache(name, home, log):
    """Empty a third of the files of a kernel cache and truncate the others to half."""
    cache = home / "cache"
    finish(name, home / "warm", NUMBA_CACHE_DIR=str(cache))
    for at, path in enumerate(sorted(cache.rglob("*.nb[ic]"))):
        path.write_bytes(b"" if at % 3 == 0 else path.read_bytes()[: path.stat().st_size // 2])
    return logged(name, home, log, NUMBA_CACHE_DIR=str(cache))


def _twice(name, home, log):
    with log.open("wb") as output:
        both = [start(name, home, output) for _ in range(2)]
        return max(process.wait() for process in both)


def _with_silent_server(name, home, log):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        return logged(name, home, log, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{silent.getsockname()[1]}")
