"""A process that reads hostile files under an audit hook, and its parent, which counts crashes and hangs."""

import builtins
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

MAX_MESSAGE = 300
WAIT_S = 3600  # far above what a child takes on a busy machine
_EXECUTES = (
    "exec", "compile", "code.__new__", "marshal.loads", "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen",
    "socket.connect", "ctypes.dlopen", "import",
)  # fmt: skip


class Watch:
    """Counts of the outcomes of files, and of code that was executed while reading them.

    Args:
        templates: jinja compiles its own templates meanwhile.
    """

    def __init__(self, templates: bool = False) -> None:
        self.expected = ("compile", "exec") if templates else ()
        self.counts, self.executed, self.wrong, self.longest = Counter[str](), Counter[str](), list[str](), 0
        self.watching, self.files = False, 0
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.watching and event in _EXECUTES and event not in self.expected and not _is_ours(event, arguments):
            self.executed[f"{event} {str(arguments[:1])[:80]}"] += 1

    def attempt(self, named: str, use: Callable[[], str]) -> None:
        """Use a file: an outcome by its name, or a refusal, which is a ValueError of one readable line that names `named`."""
        self.watching, self.files = True, self.files + 1
        try:
            outcome = use()
        except ValueError as error:
            message = str(error)
            self.watching = False
            self.longest = max(self.longest, len(message))
            self.counts["refused"] += 1
            if named not in message:
                self.wrong.append(f"names no file: {message[:200]}")
        except BaseException as error:
            self.watching = False
            self.wrong.append(f"{type(error).__name__}: {str(error)[:200]}")
        else:
            self.watching = False
            self.counts[outcome] += 1

    def report(self) -> None:
        """Print the counts for `run_child`."""
        sys.stdout.write(
            json.dumps(
                {"files": self.files, "counts": self.counts, "executed": self.executed, "wrong": self.wrong, "longest": self.longest}
            ) + "\n"
        )  # fmt: skip


def _is_ours(event: str, arguments: tuple[object, ...]) -> bool:
    """Return True for the import of what is there, and for an exception of compiled code, which numba unpickles when it raises it first."""
    if event == "import":
        return arguments[0] in sys.modules
    found = getattr(builtins, str(arguments[1]), None) if event == "pickle.find_class" and arguments[0] == "builtins" else None
    return isinstance(found, type) and issubclass(found, Exception)


def run_child(module: str, *arguments: object) -> dict[str, object]:
    """Run a module that ends with `Watch.report`; a crash or a hang counts as a finding."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"files": 0, "counts": {}, "executed": {}, "wrong": [f"hangs: {arguments}"], "longest": 0}
    if done.returncode:
        return {"files": 0, "counts": {}, "executed": {}, "wrong": [f"ended with {done.returncode}: {done.stderr[-300:]}"], "longest": 0}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def added(reports):
    """Return the sum of the reports of children, as columns of a case."""
    counts, executed, wrong = Counter(), Counter(), []
    for report in reports:
        counts.update(report["counts"])
        executed.update(report["executed"])
        wrong += report["wrong"]
    longest = max(report["longest"] for report in reports)
    found = {"files": sum(report["files"] for report in reports), **counts, "longest message": longest}
    return found | {"code executed": sum(executed.values()), "wrong": len(wrong), "first": "; ".join([*wrong[:3], *list(executed)[:3]])}
