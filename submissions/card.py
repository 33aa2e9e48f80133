"""The card of a submission, and its required content for `vcgym/Call-v1`; a model of the Bandwidth Estimation Challenge needs little."""

import math
from pathlib import Path
from typing import Annotated, Literal, Self

from gymnasium import spaces
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from vcgym.agents.networks.observation import ObservedPart, network_for
from vcgym.agents.published.export import AgentCard
from vcgym.agents.published.spaces import describe
from vcgym.baselines.controls.control import Control
from vcgym.envs.call.features.call import CALL_FEATURES
from vcgym.envs.call.features.observe import call_layout
from vcgym.envs.call.features.path import PATH_FEATURES
from vcgym.envs.environments.vector.actions import LEVELS
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError
from vcgym.leaderboard.evaluation.published import AGENT_ENV, is_beside
from vcgym.network.traces.refusal import faults, shown
from vcgym.submissions.onnx_policy import INPUTS, NEXT, OUTPUTS, PATHS, Interface

ORACLE = "oracle_"  # prefix of hindsight oracles, which are never ranked
Line = Annotated[str, StringConstraints(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
MAX_PATHS, MAX_HIDDEN = 1000, 512
MAX_STATE_TENSORS, MAX_STATE_AXES, MAX_STATE_NUMBERS = 16, 3, 1 << 18


class OnnxCard(BaseModel):
    """Environment and features of `policy.onnx`.

    Attributes:
        env_id: id of the environment.
        path_features: names of the features of one path, in the order of the model's input.
        call_features: names of the features of the call, in the order of the model's input.
        levels: number of scored levels.
        steps: transitions in training.
        path, playout: a system whose rule sets that control; at most one of them, and the model then scores only the other control.
        state: shape of each state tensor within a call, with "paths" for the number of paths.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    env_id: str
    path_features: list[str]
    call_features: list[str]
    levels: int
    steps: Annotated[int, Field(ge=0)]
    path: str | None = None
    playout: str | None = None
    state: dict[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")], list[int | Literal["paths"]]] = {}

    @property
    def rules(self) -> dict[Control, str]:
        """Systems whose rules set controls that the model does not."""
        return {control: name for control in OUTPUTS if (name := getattr(self, control)) is not None}

    @property
    def interface(self) -> Interface:
        """Inputs and outputs of the model."""
        scores = tuple(output for control, output in OUTPUTS.items() if control not in self.rules)
        return Interface(scores, {name: tuple(shape) for name, shape in self.state.items()})


class BandwidthCard(BaseModel):
    """A `policy.onnx` with the interface of the Bandwidth Estimation Challenge; `steps`: decisions in training."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    steps: Annotated[int, Field(ge=0)]


class SubmissionCard(BaseModel):
    """Content of card.json of a submission.

    Attributes:
        name: name on the leaderboard; must not have the prefix of oracles.
        authors, description, licence: one line each.
        weights: name of the weights file.
        agent: with agent.safetensors: the card published by training, unchanged.
        onnx: with policy.onnx: environment and features of the model; or
        bandwidth: with policy.onnx: a model of the Bandwidth Estimation Challenge.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal[1]
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}$")]
    authors: Line
    description: Line
    licence: Line
    weights: Literal["agent.safetensors", "policy.onnx"]
    agent: AgentCard | None = None
    onnx: OnnxCard | None = None
    bandwidth: BandwidthCard | None = None

    @model_validator(mode="after")
    def _says_what_it_is(self) -> Self:
        if self.name.startswith(ORACLE):
            raise ValueError(f"name is {self.name!r}; allowed: one that does not begin with {ORACLE!r}")
        described = ("agent.safetensors", self.agent), ("policy.onnx", self.onnx), ("policy.onnx", self.bandwidth)
        if [name for name, card in described if card is not None] != [self.weights]:
            allowed = "'agent' with agent.safetensors alone, 'onnx' or 'bandwidth' with policy.onnx alone"
            raise ValueError(f"weights is {self.weights!r}; allowed: {allowed}")
        return self


def parse_card(path: Path, content: bytes) -> SubmissionCard:
    """Parse and check the card in `content`.

    Raises:
        RefusedError: it is malformed, or has another environment, other features or other actions.
    """
    try:
        card = SubmissionCard.model_validate_json(content)
    except ValidationError as error:
        raise RefusedError(path, faults(error), "the fields of SubmissionCard") from None
    if card.agent is not None:
        _refuse_other_agent(path, card.agent)
    if card.onnx is not None:
        _refuse_other_model(path, card.onnx)
    return card


def _refuse_other_agent(path: Path, card: AgentCard) -> None:
    paths = (card.observation[0].items or 0) if card.observation else 0
    hidden = card.network.trunk[-1]
    for field, value, maximum in (("observation.0.items", paths, MAX_PATHS), ("network.trunk.outputs", hidden.outputs, MAX_HIDDEN)):
        if not 1 <= value <= maximum:
            raise RefusedError(path, f"agent.{field} is {value}", f"1 to {maximum}")
    parts = call_parts(paths)
    _refuse_other(path, "agent.env_id", card.env_id, AGENT_ENV)
    _refuse_other(path, "agent.observation", *([part.model_dump() for part in found] for found in (card.observation, parts)))
    _refuse_other(path, "agent.observation_space", card.observation_space, describe(call_layout(("",) * paths).box))
    _refuse_other(path, "agent.action_space", card.action_space, describe(spaces.MultiDiscrete([paths, LEVELS])))
    network = network_for(parts, paths + LEVELS, hidden.outputs, hidden.activation)
    _refuse_other(path, "agent.network", card.network.model_dump(), network.model_dump())
    _refuse_other(path, "agent.squashed", card.squashed, False)


def call_parts(paths: int) -> list[ObservedPart]:
    """Return the parts of an observation of `vcgym/Call-v1` with `paths` paths and discrete actions."""
    of_path, of_call = ([feature.name for feature in features] for features in (PATH_FEATURES, CALL_FEATURES))
    return [ObservedPart(name="paths", items=paths, features=of_path), ObservedPart(name="call", features=of_call)]


def _refuse_other_model(path: Path, card: OnnxCard) -> None:
    _refuse_other(path, "onnx.env_id", card.env_id, AGENT_ENV)
    _refuse_other(path, "onnx.path_features", card.path_features, [feature.name for feature in PATH_FEATURES])
    _refuse_other(path, "onnx.call_features", card.call_features, [feature.name for feature in CALL_FEATURES])
    _refuse_other(path, "onnx.levels", card.levels, LEVELS)
    if len(card.rules) == len(OUTPUTS):
        given = " and ".join(f"onnx.{control} is {shown(name)}" for control, name in card.rules.items())
        raise RefusedError(path, given, "at least one control that the model sets")
    for control, name in card.rules.items():
        if not is_beside(name):
            raise RefusedError(path, f"onnx.{control} is {shown(name)}", "a system with path and playout, as DRT-WM, and no oracle")
    _refuse_state(path, card)


def _refuse_state(path: Path, card: OnnxCard) -> None:
    if len(card.state) > MAX_STATE_TENSORS:
        raise RefusedError(path, f"onnx.state has {len(card.state)} tensors", f"at most {MAX_STATE_TENSORS}")
    numbers = 0
    for name, shape in card.state.items():
        if name in (*INPUTS, *OUTPUTS.values()) or name.startswith(NEXT):
            allowed = f"names other than {', '.join((*INPUTS, *OUTPUTS.values()))}, not beginning with {NEXT!r}"
            raise RefusedError(path, f"onnx.state has {name!r}", allowed)
        if not 1 <= len(shape) <= MAX_STATE_AXES or min(1 if length == PATHS else int(length) for length in shape) < 1:
            raise RefusedError(path, f"onnx.state.{name} is {shown(shape)}", f"1 to {MAX_STATE_AXES} lengths of at least 1, or 'paths'")
        numbers += math.prod(MAX_PATHS if length == PATHS else int(length) for length in shape)
    if numbers > MAX_STATE_NUMBERS:
        raise RefusedError(path, f"onnx.state holds {numbers} numbers", f"at most {MAX_STATE_NUMBERS}, 'paths' counted as {MAX_PATHS}")


def _refuse_other(path: Path, field: str, found: object, wanted: object) -> None:
    """Raise RefusedError if a value differs from the wanted one; the message names the innermost field that differs."""
    if found == wanted:
        return
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        for key in wanted:
            _refuse_other(path, f"{field}.{key}", found[key], wanted[key])
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for n, (one, other) in enumerate(zip(found, wanted, strict=True)):
            _refuse_other(path, f"{field}.{n}", one, other)
    else:
        raise RefusedError(path, f"{field} is {shown(found)}", shown(wanted))
