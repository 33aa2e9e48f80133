"""Systems by name: a published or tuned rule for each control of a call.

An entry of conf/systems.yaml lists the rules with their parameters and is a row of the leaderboard. A file in data/tuned has parameters
found by `vcgym tune`, with the tuning study; files in data/zoo are learned (`vcgym.baselines.zoo`).
`load_system("VCR-WM")` needs no configuration system.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vcgym.baselines.configured import is_rule, rule_from
from vcgym.baselines.controls.control import BOTTLENECK, CONTROLS, PATHS, PROTECTED
from vcgym.baselines.rule import facts_of, is_learned, is_oracle, require_rule
from vcgym.baselines.system_files import learned_folders, published, read_tuned, system_names, tuned_names
from vcgym.baselines.zoo import CARD, LEARNED, read_learned
from vcgym.network.traces.refusal import MAX_LINE, one_line, shown

TUNED = "-tuned"
"""Suffix of the names of tuned systems."""
ORACLE = "oracle_"
"""Prefix of the names of systems that receive what no location can know."""

MIN_FOUND = 100  # minimum number of shown characters of a fault
_CITED = re.compile(r"arXiv \d{4}\.\d{5}|RFC \d+|draft-[\w-]*\d|libwebrtc|(?:SIGCOMM|INFOCOM|JAIR|NeurIPS|WWW|ICML)(?: \d+,)? \d{4}")


@dataclass(frozen=True, init=False)
class System:
    """The rule of each control of a call: `System(Via(), WMJitter())`; a control that it lacks has none.

    The rule of a control is an attribute too, None if there is none: `system.path`.

    Attributes:
        chosen: the rules, in the order of the table of controls.
        pacing: pacing factor, the rate of transmission opportunities relative to the target bitrate; 0: spaced by the mean packet size.
        trained_packets: packets played in training; 0 for rules that are not learned.
        is_local: True for a user's own system, which no file of vcgym names.

    Args:
        rules: rules, each with the control of its class.
        pacing, trained_packets, is_local: the attributes.
        named: rules by control; None: the system lacks the control.

    Raises:
        TypeError: a value is no rule.
        ValueError: two rules have one control, or a rule has another control than its name.
    """

    chosen: tuple[Any, ...]
    pacing: float | None
    trained_packets: int
    is_local: bool

    def __init__(
        self, *rules: Any, pacing: float | None = None, trained_packets: int = 0, is_local: bool = False, **named: Any
    ) -> None:  # fmt: skip
        given = [(control, rule) for control, rule in named.items() if rule is not None]
        given += [(str(_control_of(rule)), rule) for rule in rules]
        for control, rule in given:
            if control not in CONTROLS or _control_of(rule) != control:
                raise ValueError(f"{control} = {rule!r}: allowed are rules of that control, one of {', '.join(CONTROLS)}")
        if len(found := dict(given)) < len(given):
            raise ValueError(f"System has {', '.join(control for control, _ in given)}: allowed is one rule of each control")
        chosen = tuple(found[control] for control in CONTROLS if control in found)
        self.__dict__.update(chosen=chosen, pacing=pacing, trained_packets=trained_packets, is_local=is_local)

    def __getattr__(self, name: str) -> Any:
        """Return the rule of a control."""
        if name not in CONTROLS:
            raise AttributeError(f"a system has no {name!r}; its controls are {', '.join(CONTROLS)}")
        return self.rules.get(name)

    @property
    def rules(self) -> dict[str, Any]:
        """The rules of the system by control."""
        return {str(_control_of(rule)): rule for rule in self.chosen}

    def fits(self, controls: Iterable[str]) -> bool:
        """Return True if it sets these controls alone, and each that a call must have."""
        required = {control for control in controls if CONTROLS[control].required}
        return required <= self.rules.keys() <= set(controls)

    def of(self, part: str) -> dict[str, Any]:
        """Return the rules of the controls of one part of a simulation."""
        return {control: rule for control, rule in self.rules.items() if CONTROLS[control].part == part}

    def replace(self, **changes: Any) -> "System":
        """Return a copy with other rules, by control, or other attributes; None: without the control."""
        others = {"pacing": self.pacing, "trained_packets": self.trained_packets, "is_local": self.is_local}
        return System(**{**self.rules, **others, **changes})

    @property
    def is_oracle(self) -> bool:
        """True if a rule receives what no location can know; such a system is never ranked."""
        return any(map(is_oracle, self.chosen))

    @property
    def is_learned(self) -> bool:
        """True if a rule is learned."""
        return any(map(is_learned, self.chosen))

    @property
    def plays(self) -> str:
        """Kind of its calls: over "paths", over a "bottleneck" without paths, "whole" calls over both, or those of an added stage."""
        parts = {CONTROLS[control].part for control in self.rules}
        if added := parts - {PATHS, BOTTLENECK, PROTECTED}:
            return added.pop()
        return BOTTLENECK if PATHS not in parts else "whole" if BOTTLENECK in parts else PATHS


def _control_of(rule: Any) -> str | None:
    return facts_of(type(rule)).control


def load_system(name: str) -> System:
    """Return a system.

    Raises:
        ValueError: the system does not exist, or its file names a control, rule or parameter that does not exist.
    """
    if name not in system_names():
        raise ValueError(f"systems has {name!r}; allowed: {', '.join(system_names())}")
    if name in published():
        system = build_system(f"conf/systems.yaml, {name}", _rules_of(name))
        return system.replace(trained_packets=sum(load_system(one).trained_packets for one in _taken_from(name)))
    if name in tuned_names():
        return build_system(f"data/tuned/{name}.json", read_tuned(name).system)
    return learned_system(learned_folders()[name], name)


def learned_system(folder: Path, name: str) -> System:
    """Return the learned system `name` in a folder (`vcgym.baselines.zoo`).

    Raises:
        ValueError: a file is missing or malformed, or names a control, rule or parameter that does not exist.
    """
    found = read_learned(folder, name)
    return build_system(str(folder / f"{name}.json"), found.rules).replace(trained_packets=found.file.trained_packets)


def load_systems(names: list[str]) -> dict[str, System]:
    """Return systems by name; see `load_system`."""
    return {name: load_system(name) for name in names}


def load_study(name: str) -> dict[str, Any]:
    """Return the study of a tuned or learned system."""
    return dict(read_tuned(name).study if name in tuned_names() else read_learned(learned_folders()[name], name).file.study)


def tuning_trials(name: str) -> int:
    """Return the number of tuning trials of system `name`, and of those whose rules it takes; 0 for published constants."""
    if name in tuned_names():
        return int(load_study(name)["budget"]["trials"])
    return sum(map(tuning_trials, _taken_from(name)))


def _taken_from(name: str) -> list[str]:
    """Return the names of the systems whose rules a system takes."""
    written = _rules_of(name) if name in published() else {}
    return list(dict.fromkeys(value for value in written.values() if isinstance(value, str) and not is_rule(value)))


def _rules_of(name: str) -> Any:
    """Return what conf/systems.yaml says of a system, without its words."""
    written = published()[name]
    return {key: value for key, value in written.items() if key not in ("label", "about")} if isinstance(written, Mapping) else written


def description(name: str) -> str:
    """Return one sentence that describes a system; for a tuned one it names the original system."""
    if name in published():
        return str(published()[name].get("about", ""))
    return read_tuned(name).card.description if name in tuned_names() else read_learned(learned_folders()[name], name).file.card.description


def sources(system: System) -> list[str]:
    """Return the papers, RFCs and code cited in the module docstrings of a system's rules."""
    heads = [inspect.getdoc(inspect.getmodule(type(rule))) or "" for rule in system.rules.values()]
    return list(dict.fromkeys(cited for head in heads for cited in _CITED.findall(head)))


def _check(system: System) -> None:
    for part in dict.fromkeys(CONTROLS[control].part for control in system.rules):
        needed = [control for control, row in CONTROLS.items() if row.part == part and row.required]
        if not system.rules.keys() >= set(needed):
            raise ValueError(f"{' and '.join(needed)} must be given together")
    for name, params in system.rules.items():
        require_rule(name, params, name)


def rule_of(written: Any, name: str, typed: bool = False) -> Any:
    """Return the rule of control `name`: of a class or a mapping, or that of a system by its name or by the folder of its training.

    Args:
        written: what describes the rule.
        name: the control.
        typed: the user typed it and may name a folder; a file, which may be somebody else's, names no folder, so none leads to another.

    Raises:
        ValueError: there is no such rule, or the system has none of this control.
    """
    if not isinstance(written, str) or is_rule(written):
        return rule_from(written, name)
    trained = typed and (Path(written) / f"{LEARNED}{CARD}").is_file()
    if not trained and written not in system_names():
        folder = f" and the folder of a learned one, with {LEARNED}{CARD}" if typed else "; a file cannot name a folder"
        raise ValueError(f"{name} = {shown(written)}: allowed are the name of a system, the class of a rule{folder}")
    system = learned_system(Path(written), LEARNED) if trained else load_system(written)
    if name not in system.rules:
        raise ValueError(f"{name} = {shown(written)}: that system has {', '.join(system.rules)}")
    return system.rules[name]


def build_system(file: str, written: Any) -> System:
    """Return the system that a mapping of controls describes; errors name `file`.

    Raises:
        ValueError: a control, rule or parameter does not exist.
    """
    try:
        if not isinstance(written, Mapping) or not written:
            raise ValueError(f"{written!r} names no control")
        if unknown := sorted(map(str, written.keys() - {*CONTROLS, "pacing"})):
            raise ValueError(f"unknown keys {unknown}")
        system = System(**{name: value if name == "pacing" else rule_of(value, name) for name, value in written.items()})
        rate = written.get("rate")
        if isinstance(rate, str) and not is_rule(rate) and "pacing" not in written:
            system = system.replace(pacing=load_system(rate).pacing)
        _check(system)
    except (TypeError, ValueError) as error:
        allowed = f"{', '.join(CONTROLS)}, each a class, or _target_ and its parameters, and pacing"
        room = max(MAX_LINE - len(f"{file}: ; allowed: {allowed}"), MIN_FOUND)
        raise ValueError(f"{file}: {one_line(str(error), room)}; allowed: {allowed}") from error
    return system
