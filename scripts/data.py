"""vcgym-data: list, verify, import, download or make data. See conf/data.yaml."""

from rich.console import Console

from vcgym.scripts.console.command import command
from vcgym.scripts.importing.command import DataCommand, run


@command("data", DataCommand)
def main(config: DataCommand) -> int:
    """Run the command and print the result; return status 1 if a rebuilt file differs from the known one."""
    return run(config, Console() if Console().is_terminal else Console(width=160))


if __name__ == "__main__":
    main()
