"""vcgym: the program behind every console command, such as `vcgym train steps=1000`.

The config of a command is imported to check and to explain its keys, its function only when it runs; so `--help` and `--version` are fast.
"""

import inspect
import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import requires
from pkgutil import resolve_name
from typing import NamedTuple

from pydantic import BaseModel

from vcgym import __version__
from vcgym.network.kernels.plugins import load_plugins
from vcgym.network.traces.refusal import MAX_LINE, one_line
from vcgym.scripts.console.arguments import check, meant
from vcgym.scripts.console.usage import Key, completion, keys_of, listing, yaml_of

EXTENSIONS = "vcgym.commands"
"""Group of entry points: the commands of an extension, as `commands_of` takes them, in a module that loads nothing."""


class Command(NamedTuple):
    """A command of a program.

    Attributes:
        config: class of its config, MODULE:NAME.
        function: what it runs with the config, MODULE:NAME; returns an integer as status, None for 0, or a float that a sweeper of hydra
            compares.
        about: its purpose, in one line.
        yaml: name of its YAML, if it has one.
    """

    config: str
    function: str
    about: str
    yaml: str


def commands_of(rooms: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]]) -> dict[str, Command]:
    """Return commands by name.

    Args:
        rooms: config, function and purpose of each command by its name, and the YAML if it has another name; by the modules of the configs
            and of the functions.
    """
    return {
        name: Command(f"{configs}:{config}", f"{functions}:{function}", about, (*yaml, name.replace("-", "_"))[0])
        for (configs, functions), commands in rooms.items()
        for name, (config, function, about, *yaml) in commands.items()
    }


class Program(NamedTuple):
    """A program of several commands.

    Attributes:
        name: what a user types.
        conf: package of the YAML files of the commands, each of choices and of differences from its config; most commands need none.
        commands: commands by name.
    """

    name: str
    conf: str
    commands: Mapping[str, Command]

    def title(self, command: str) -> str:
        """Return what a user types for a command."""
        return f"{self.name} {command}"

    def kind(self, command: str) -> type[BaseModel]:
        """Return the class of the config of a command."""
        found: type[BaseModel] = resolve_name(self.commands[command].config)
        return found

    def yaml(self, command: str) -> str:
        """Return the name of the YAML of a command."""
        return self.commands[command].yaml

    def keys(self, command: str, deep: bool = True) -> list[Key]:
        """Return the keys of a command, see `keys_of`."""
        return list(keys_of(self.kind(command), yaml_of(self.yaml(command), self.conf), deep))

    def usage(self, command: str) -> str:
        """Return the help of a command."""
        kind, title = self.kind(command), self.title(command)
        more = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:")[0].strip()
        keys = listing(kind, self.yaml(command), self.conf)
        runs = f"{title} -m key=1,2 runs once for each value. --cfg job prints the config as it is composed.\n"
        return "\n\n".join([f"{title}: {self.commands[command].about}.", more, f"  {title} key=value ...", keys, runs])

    def main(self) -> None:
        """Run the command named by the first argument, or say what there is."""
        if sys.argv[1:] in ([], ["--help"], ["-h"]):
            sys.stdout.write(self._listed())
        elif sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"vcgym {__version__}\n")
        elif sys.argv[1:] == ["--completion"]:
            sys.stdout.write(completion(self.name, {name: (self.keys(name), self.yaml(name)) for name in self.commands}, self.conf))
        else:
            self._run(sys.argv.pop(1))

    def _run(self, command: str) -> None:
        """Run a command with the arguments that are left, or say how to use it."""
        if command not in self.commands:
            close = "".join(f"; did you mean {name}?" for name in get_close_matches(command, self.commands, 1))
            sys.exit(f"{self.name}: command is {command!r}; allowed: {', '.join(self.commands)}{close}")
        if {"--help", "-h"} & set(sys.argv[1:]):
            sys.stdout.write(self.usage(command))
            return
        try:
            sys.argv[1:] = check(sys.argv[1:], self.keys(command), self.yaml(command), self.conf)
        except ValueError as error:
            sys.exit(self.refusal(command, str(error)))
        sys.argv[0] = self.title(command)
        try:
            run = resolve_name("vcgym.scripts.console.command:run")  # by name: it loads hydra, and takes a program
            run(self, command, resolve_name(self.commands[command].function))
        except ModuleNotFoundError as error:
            self.end_without(command, error)
            raise

    def refusal(self, command: str, text: str) -> str:
        """Return the line with which a command refuses: what is wrong, what is allowed, and what was probably meant."""
        hint = meant(text, [key.name for key in self.keys(command)])
        return f"{self.title(command)}: {one_line(text, MAX_LINE - len(hint))}{hint}"

    def end_without(self, command: str, error: ModuleNotFoundError) -> None:
        """End the program with one line if an extra of vcgym installs the missing package."""
        if extra := _extra_of(error.name or ""):
            how = f"make develop in a checkout of vcgym, or pip install '.[{extra}]' there"
            sys.exit(f"{self.title(command)}: needs the package {error.name}; type {how}")

    def _listed(self) -> str:
        lines = "\n".join(f"  {name:16} {command.about}" for name, command in self.commands.items())
        return f"{self.name} COMMAND key=value ... {self.name} COMMAND --help says what it does and lists its keys.\n\n{lines}\n"


def _extra_of(package: str) -> str | None:
    """Return the extra of vcgym that installs a package, the first that names it; None if no extra does."""
    named = (re.match(rf"{re.escape(package)}\b.*extra == .(\w+)", line) for line in requires("vcgym") or ())
    return next((match[1] for match in named if match), None)


_OWN = commands_of(
    {
        ("vcgym.leaderboard.evaluation.config", "vcgym.scripts.leaderboard"): {
            "leaderboard": ("LeaderboardConfig", "play_suite", "play a suite, print the ranks, write the page"),
            "page": ("PageConfig", "write_page", "write one page for all boards in a folder"),
            "export": ("ExportConfig", "write_table", "write a board as LaTeX or CSV"),
            "systems": ("SystemsConfig", "list_systems", "list the systems that play a suite, with rules, parameters and sources"),
            "series": ("BoardConfig", "draw_series", "draw systems over time, in test cases of RMCAT or in worlds of the suite"),
            "swaps": ("SwapsConfig", "compare_controls", "say which control explains the difference of two systems"),
            "fairness": ("FairnessConfig", "play_sharing", "let calls share a bottleneck, and print their shares"),
        },
        ("vcgym.leaderboard.evaluation.config", "vcgym.leaderboard.scoring.score"): {
            "score": ("ScoreConfig", "score", "score one rule file in seconds, in one line of JSON"),
        },
        ("vcgym.agents.config.training", "vcgym.scripts.training"): {
            "train": ("TrainConfig", "train", "train agents, one for each seed"),
            "evaluate": ("EvaluateConfig", "evaluate", "play a trained agent and print its return"),
            "offline-data": ("OfflineDataConfig", "record_sets", "play behaviour policies and write offline sets for Minari"),
            "sweep": ("SweepConfig", "sweep", "search PPO's learning rate and entropy coefficient"),
        },
        ("vcgym.leaderboard.tuning.tune_config", "vcgym.scripts.tune"): {
            "tune": ("TuneConfig", "tune", "search the parameters of rules on the training split"),
        },
        ("vcgym.scripts.importing.config", "vcgym.scripts.importing.command"): {
            "data": ("CatalogueConfig", "list_data", "list data and compare them with their cards, or download a set"),
            "import": ("ImportConfig", "import_data", "import measured delays or capacities"),
            "fit": ("FitConfig", "fit_data", "fit a scenario to traces"),
        },
        ("vcgym.scripts.zoo.config", "vcgym.scripts.zoo.command"): {
            "zoo": ("ZooConfig", "zoo", "train algorithms on environments, write table and picture; or search arguments"),
        },
        ("vcgym.leaderboard.forecasts.config", "vcgym.scripts.predictor"): {
            "predictor-data": ("PredictorDataConfig", "make_rows", "play sessions and write training rows for predictors"),
            "train-predictor": (
                "TrainPredictorConfig",
                "train_network",
                "train and publish the delay predictor of VCRoute",
            ),
        },
    }
)
_ADDED = {name: command for rooms in load_plugins(EXTENSIONS) for name, command in commands_of(rooms).items()}

VCGYM = Program("vcgym", "vcgym.conf", _OWN | _ADDED | _OWN)  # those of an extension are last, and none takes a name of these


def main() -> None:
    """Run the program `vcgym`."""
    VCGYM.main()


if __name__ == "__main__":
    main()
