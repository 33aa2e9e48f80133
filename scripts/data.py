"""vcgym-data: list, verify, import or download measured data, as conf/data.yaml says."""

from rich.console import Console

from vcgym.scripts.console.command import command
from vcgym.scripts.importing.command import DataCommand, run


@command("data", DataCommand)
def main(config: DataCommand) -> None:
    """Do it and print what came of it."""
    run(config, Console() if Console().is_terminal else Console(width=160))


if __name__ == "__main__":
    main()
