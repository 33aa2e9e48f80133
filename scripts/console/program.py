"""vcgym: the program behind every console command, such as `vcgym train steps=1000`.

A command is imported only when it runs, so `--help` and `--version` are fast.
"""

import importlib
import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import requires, version
from typing import NamedTuple

from vcgym.network.traces.refusal import MAX_LINE, one_line
from vcgym.scripts.console.arguments import check, meant
from vcgym.scripts.console.completion import completion
from vcgym.scripts.console.usage import keys_of, summary, usage


class Program(NamedTuple):
    """A program of several commands.

    Attributes:
        name: what a user types.
        conf: package of the YAML files, one for each command.
        modules: dotted name of the module of each command, by the name of its YAML; its function `main` is run.
    """

    name: str
    conf: str
    modules: Mapping[str, str]

    def title(self, command: str) -> str:
        """Return the full name of a command."""
        return f"{self.name} {command.replace('_', '-')}"

    def main(self) -> None:
        """Run the command named by the first argument, or say what there is."""
        if sys.argv[1:] in ([], ["--help"], ["-h"]):
            sys.stdout.write(self._listed())
        elif sys.argv[1:] == ["--version"]:
            _print_version()
        elif sys.argv[1:] == ["--completion"]:
            sys.stdout.write(completion(self.name, self.modules, self.conf))
        else:
            self.run(sys.argv.pop(1).replace("-", "_"))

    def run(self, command: str) -> None:
        """Run a command with the arguments that are left, or say how to use it."""
        if command not in self.modules:
            close = "".join(f"; did you mean {name.replace('_', '-')}?" for name in get_close_matches(command, self.modules, 1))
            sys.exit(f"{self.name}: command is {command!r}; allowed: {', '.join(self.modules).replace('_', '-')}{close}")
        if {"--help", "-h"} & set(sys.argv[1:]):
            sys.stdout.write(usage(command, self.modules[command], self.conf, self.title(command)))
        elif "--version" in sys.argv[1:]:
            _print_version()
        else:
            self._check(command)
            sys.argv[0] = self.title(command)
            try:
                importlib.import_module(self.modules[command]).main()
            except ModuleNotFoundError as error:
                self.end_without(command, error)
                raise

    def refusal(self, command: str, text: str) -> str:
        """Return the line with which a command refuses: what is wrong, what is allowed, and what was probably meant."""
        hint = meant(text, [key.name for key in keys_of(command, self.modules[command], self.conf, deep=True)])
        return f"{self.title(command)}: {one_line(text, MAX_LINE - len(hint))}{hint}"

    def end_without(self, command: str, error: ModuleNotFoundError) -> None:
        """End the program with one line if an extra of vcgym installs the missing package."""
        if extra := _extra_of(error.name or ""):
            how = f"make develop in a checkout of vcgym, or pip install '.[{extra}]' there"
            sys.exit(f"{self.title(command)}: needs the package {error.name}; type {how}")

    def _check(self, command: str) -> None:
        try:
            sys.argv[1:] = check(sys.argv[1:], command, self.modules[command], self.conf)
        except ValueError as error:
            sys.exit(self.refusal(command, str(error)))

    def _listed(self) -> str:
        lines = "\n".join(f"  {name.replace('_', '-'):16} {summary(module)}" for name, module in self.modules.items())
        return f"{self.name} COMMAND key=value ... {self.name} COMMAND --help says what it does and lists its keys.\n\n{lines}\n"


VCGYM = Program(
    "vcgym",
    "vcgym.conf",
    {name: f"vcgym.scripts.{name}" for name in ("leaderboard", "train", "evaluate", "sweep", "tune", "data")}
    | {"zoo": "vcgym.scripts.zoo.command"}
    | {name: f"vcgym.scripts.{name}" for name in ("predictor_data", "train_predictor")}
    | {name: f"vcgym.scripts.live.{name}" for name in ("call", "relay", "emulate", "measure")},
)


def main() -> None:
    """Run the program `vcgym`."""
    VCGYM.main()


def _extra_of(package: str) -> str | None:
    """Return the extra of vcgym that installs a package, the first that names it; None if no extra does."""
    named = (re.match(rf"{re.escape(package)}\b.*extra == .(\w+)", line) for line in requires("vcgym") or ())
    return next((match[1] for match in named if match), None)


def _print_version() -> None:
    sys.stdout.write(f"vcgym {version('vcgym')}\n")


if __name__ == "__main__":
    main()
