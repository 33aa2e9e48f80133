"""vcgym-data: list, verify, import, download or make data, as conf/data.yaml says."""

from rich.console import Console

from vcgym.scripts.console.command import command
from vcgym.scripts.importing.command import DataCommand, run


@command("data", DataCommand)
def main(config: DataCommand) -> int:
    """Do it and print what came of it; status 1 if what was made again is not what is known."""
    return run(config, Console() if Console().is_terminal else Console(width=160))


if __name__ == "__main__":
    main()
