"""Direct: always the direct path, arm 0."""

from typing import NamedTuple

from vcgym.baselines.rule import Control, rule


@rule(Control.PATH, learns=False)
class Direct(NamedTuple):
    def decide(self, now_us):
        return 0
