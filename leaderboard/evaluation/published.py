"""What is ranked: a pair of rules, or a published agent as the content of its folder, which any process on any machine can load."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import gymnasium
from gymnasium.envs.registration import load_env_creator

from vcgym.leaderboard.evaluation.rollout import Policy, RulePair

AGENT_ENV = "vcgym/Call-v0"


class Published(NamedTuple):
    """A published agent.

    Attributes:
        load: makes the policy from such a folder; a function of a module, so that another process finds it by its name.
        files: name and content of each file of the folder, by name.
    """

    load: Callable[[Path], Policy]
    files: tuple[tuple[str, bytes], ...]

    @classmethod
    def of(cls, folder: Path, load: Callable[[Path], Policy]) -> Self:
        """Return the agent in `folder` as it is now."""
        return cls(load, tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir())))

    def policy(self) -> Policy:
        """Load it.

        Raises:
            ValueError: as `load` does.
        """
        with TemporaryDirectory(prefix="vcgym-agent-") as folder:
            for name, content in self.files:
                (Path(folder) / name).write_bytes(content)
            return self.load(Path(folder))


System = RulePair | Published


def env_class(env_id: str) -> Any:
    """Return the class that a registered id names: code that plays an agent, imported by name alone."""
    entry = gymnasium.spec(env_id).vector_entry_point
    return load_env_creator(entry) if isinstance(entry, str) else entry

