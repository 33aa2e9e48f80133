"""Senders as YAML: each file of conf/sender names a rate rule, an order rule and a pacing, and so a line of the board."""

from importlib.resources import files

import yaml

from vcgym.baselines.configured import rule_from
from vcgym.baselines.rule import Control, require_rule
from vcgym.leaderboard.evaluation.cost import TUNED
from vcgym.leaderboard.sending.rollout import Sender

ORACLE = "oracle_"


def load_senders(names: list[str] | None, scenario: str | None = None) -> dict[str, Sender]:
    """Senders by name; None: every file of conf/sender, or with `scenario` all but those that were tuned for another one.

    Raises:
        ValueError: no such file, a key that is not rate, order or pacing, a rule or parameters that do not exist, an oracle under
            another name.
    """
    folder = files("vcgym.conf").joinpath("sender")
    known = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    senders = {}
    fits = {name for name in known if scenario is None or not name.endswith(TUNED) or name.endswith(f"-{scenario}{TUNED}")}
    for name in sorted(fits) if names is None else names:
        if name not in known:
            raise ValueError(f"senders has {name!r}; allowed: {', '.join(sorted(known))}")
        try:
            written = yaml.safe_load(known[name].read_text(encoding="utf-8"))
            rules = {lever: rule_from(rule, lever) for lever, rule in written.items() if lever != "pacing"}
            senders[name] = Sender(**rules, **{key: value for key, value in written.items() if key == "pacing"})
            require_rule("rate", senders[name].rate, Control.RATE)
            require_rule("order", senders[name].order, Control.ORDER)
        except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"conf/sender/{name}.yaml: {error}; allowed: rate and order with their parameters, and pacing") from error
        if senders[name].is_oracle != name.startswith(ORACLE):
            raise ValueError(f"conf/sender/{name}.yaml: allowed are oracles called {ORACLE}..., and no other rule called so")
    return senders
