"""Names and folders of the agents that ship with vcgym, in data/agents; `vcgym.agents.published.export.load_agent` loads a folder."""

from importlib.resources import files
from pathlib import Path

_HOME = Path(str(files("vcgym.data").joinpath("agents")))


def shipped_names() -> list[str]:
    """Return the names of the shipped agents: algorithm and id, such as DQN-Call-v1."""
    return sorted(path.name for path in _HOME.iterdir() if path.is_dir())


def shipped_folder(name: str) -> Path:
    """Return the folder of a shipped agent.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in shipped_names():
        raise ValueError(f"agent is {name!r}; allowed: {', '.join(shipped_names())}")
    return _HOME / name
