"""vcgym data: list, verify, import or download data, or fit a scenario to them. See conf/data.yaml."""

from rich.console import Console

from vcgym.scripts.console.command import command
from vcgym.scripts.importing.command import DataCommand, run


@command("data", DataCommand)
def main(config: DataCommand) -> int:
    """Run the command, print the result, and return the status."""
    return run(config, Console() if Console().is_terminal else Console(width=160))


if __name__ == "__main__":
    main()
