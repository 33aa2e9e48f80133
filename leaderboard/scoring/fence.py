"""Fence around a user's rule: limits of time and memory, and no files, sockets or processes. A fence and no sandbox: it stops accidents.

Within the fence an audit hook of Python refuses what a rule needs not, and timers of the system end the process with SIGPROF after its
processor time or SIGALRM after `WAIT` times as long. Compiling has a limit of its own: numba says when it compiles. What ends by a signal
can say nothing more, so the stage is told whenever it changes.
"""

import faulthandler
import os
import resource
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import vcgym
from vcgym.network.kernels.compiling.compile_time import compiling_told
from vcgym.network.traces.refusal import shown

COMPILING, PLAYING = "compile", "play"
MEMORY_BYTES, FILE_BYTES, WAIT = 3 << 30, 1 << 24, 10

_READS = ("os.listdir", "os.scandir")
_CHANGES = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "os.utime")
_NEVER = ("socket.", "subprocess.", "os.exec", "os.fork", "os.kill", "os.posix_spawn", "os.spawn", "os.system")
_PACKAGE = Path(vcgym.__file__).parent
_LIBRARIES: tuple[str | Path, ...] = (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), _PACKAGE, *_PACKAGE.iterdir())


class Fence:
    """Fence of this process, open until a rule is loaded or played within it.

    Attributes:
        left: processor time, in seconds, that each stage has left.

    Args:
        rule: file that may be read, besides Python's libraries and vcgym.
        own: folder in which files may be read and written.
        cache: folder of compiled code, which may be read.
        limits: processor time of each stage, in seconds.
        tell: function that gets the stage whenever it changes.
    """

    def __init__(self, rule: Path, own: Path, cache: Path, limits: Mapping[str, float], tell: Callable[[str], None]) -> None:
        self.left, self._limits, self._tell, self._closed, self._stage = dict(limits), limits, tell, False, PLAYING
        self._own = os.path.realpath(own)
        self._readable = [os.path.realpath(one) for one in (rule, own, cache, *_LIBRARIES)]
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.dont_write_bytecode = True
        sys.addaudithook(self._check)

    @contextmanager
    def closed(self, told: int) -> Iterator[None]:
        """Close the fence; if a signal ends the process, what Python did is written to the file descriptor `told`."""
        limits = {resource.RLIMIT_AS: MEMORY_BYTES, resource.RLIMIT_FSIZE: FILE_BYTES}
        before = {limit: resource.getrlimit(limit) for limit in limits}
        for number in (signal.SIGPROF, signal.SIGALRM):
            faulthandler.register(number, told, chain=True)
        for limit, value in limits.items():
            with suppress(ValueError, OSError):  # a system may lack the limit, or have a lower one
                resource.setrlimit(limit, (value, before[limit][1]))
        self._closed = True
        self._turn(PLAYING)
        try:
            with compiling_told(lambda compiles: self._turn(COMPILING if compiles else PLAYING)):
                yield
        finally:
            self._stop()
            self._closed = False
            for limit, values in before.items():
                resource.setrlimit(limit, values)

    def spent(self, stage: str) -> float:
        """Return the processor time of a stage, in seconds."""
        return self._limits[stage] - self.left[stage]

    def _turn(self, stage: str) -> None:
        self._stop()
        self._stage = stage
        self._tell(stage)
        signal.setitimer(signal.ITIMER_PROF, self.left[stage])
        signal.setitimer(signal.ITIMER_REAL, WAIT * self.left[stage])

    def _stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if left := signal.setitimer(signal.ITIMER_PROF, 0.0)[0]:
            self.left[self._stage] = left

    def _check(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what a rule needs not, as an audit hook (PEP 578).

        Raises:
            PermissionError: naming what was refused.
        """
        if not self._closed:
            return
        if event.startswith(_NEVER):
            raise PermissionError(f"{event} is refused; allowed in the file of a rule: no sockets, processes or signals")
        if event in _CHANGES or event in _READS or event == "open":
            writes = event in _CHANGES or (event == "open" and self._is_written(arguments))
            paths = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
            for path in paths:
                if isinstance(path, str | bytes | os.PathLike) and not self._allows(path, writes):
                    raise PermissionError(f"{event} of {shown(os.fsdecode(path))} is refused; allowed: Python's own libraries and vcgym")

    def _is_written(self, arguments: tuple[Any, ...]) -> bool:
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))

    def _allows(self, path: Any, writes: bool) -> bool:
        real = os.path.realpath(os.fsdecode(path))
        return any(real == one or real.startswith(f"{one}{os.sep}") for one in ([self._own] if writes else self._readable))
