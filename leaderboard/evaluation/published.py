"""What is ranked: a pair of rules, or a published agent as the content of its folder, which any process on any machine can load."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Self

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
        """The agent in `folder` as it is now."""
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

