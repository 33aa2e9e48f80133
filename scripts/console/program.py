"""vcgym: the program behind every console command. `vcgym train steps=1000` equals `vcgym-train steps=1000`.

A command is imported only when it runs, so `--help` and `--version` are fast.
"""

import importlib
import sys
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path

from vcgym.scripts.console.usage import summary, usage

COMMANDS = {
    **{name: name for name in ("leaderboard", "train", "train_pair", "train_rate", "train_order", "evaluate", "sweep", "tune")},
    **{name: name for name in ("data", "headroom", "bench")},
    **{name: f"papers.{name}" for name in ("reproduce", "truth", "decision_value")},
    **{name: name for name in ("train_allocator", "train_predictor", "predictor_data", "oracle_check")},
    **{name: f"live.{name}" for name in ("call", "relay", "emulate", "measure")},
}
"""Module of each command, by its name in conf."""


def main() -> None:
    """Run the command named by the program's own name or else by its first argument."""
    called = Path(sys.argv[0]).name.removeprefix("vcgym-").replace("-", "_")
    if called not in COMMANDS:
        if sys.argv[1:] in ([], ["--help"], ["-h"]):
            sys.stdout.write(_listed())
            return
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"vcgym {version('vcgym')}\n")
            return
        called = sys.argv.pop(1).replace("-", "_")
        if called not in COMMANDS:
            close = "".join(f"; did you mean {name.replace('_', '-')}?" for name in get_close_matches(called, COMMANDS, 1))
            sys.exit(f"vcgym: command is {called!r}; allowed: {', '.join(COMMANDS).replace('_', '-')}{close}")
    if {"--help", "-h"} & set(sys.argv[1:]):
        sys.stdout.write(usage(called, COMMANDS[called]))
    elif "--version" in sys.argv[1:]:
        sys.stdout.write(f"vcgym {version('vcgym')}\n")
    else:
        sys.argv[0] = f"vcgym-{called.replace('_', '-')}"
        importlib.import_module(f"vcgym.scripts.{COMMANDS[called]}").main()


def _listed() -> str:
    lines = "\n".join(f"  {name.replace('_', '-'):16} {summary(module)}" for name, module in COMMANDS.items())
    return f"vcgym COMMAND key=value ..., or vcgym-COMMAND. vcgym COMMAND --help says what it does and lists its keys.\n\n{lines}\n"


if __name__ == "__main__":
    main()
