"""A published agent: a folder with agent.safetensors (weights) and card.json (what they are). No pickle anywhere."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from vcgym.agents.atomic import new_folder
from vcgym.agents.networks.policy import AgentPolicy, output_count, tensor_shapes
from vcgym.agents.training.spaces import build, describe

WEIGHTS = "agent.safetensors"
CARD = "card.json"


class AgentCard(BaseModel):
    """What card.json says.

    Attributes:
        features: names of the observation's entries, in order; empty where the environment names none.
        paths: how many paths the observation describes, before everything else.
        places: how many places of a queue the observation describes, before everything else.
        squashed: whether outputs are squashed by tanh into the Box of actions.
        hidden: units per layer.
        steps: transitions trained on.
        config_hash: of the resolved training config.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal[1] = 1
    env_id: str
    observation_space: dict[str, Any]
    action_space: dict[str, Any]
    features: list[str]
    algorithm: str
    paths: Annotated[int, Field(ge=0)]
    places: Annotated[int, Field(ge=0)] = 0
    squashed: bool = False
    hidden: Annotated[int, Field(ge=1)]
    activation: Literal["tanh", "relu"]
    steps: int
    seed: int
    config_hash: str


def publish(folder: Path, agent: AgentPolicy, *, features: list[str], algorithm: str, steps: int, seed: int, config_hash: str) -> None:
    """Write `agent` to the new `folder`, which appears complete or not at all.

    Raises:
        FileExistsError: `folder` is there already.
    """
    card = AgentCard(
        env_id=agent.env_id,
        observation_space=describe(agent.observation_space),
        action_space=describe(agent.action_space),
        features=features,
        algorithm=algorithm,
        paths=agent.paths,
        places=agent.places,
        squashed=agent.squashed,
        hidden=len(agent.tensors["trunk1.bias"]),
        activation="tanh" if agent.activation == "tanh" else "relu",
        steps=steps,
        seed=seed,
        config_hash=config_hash,
    )
    with new_folder(folder) as draft:
        (draft / WEIGHTS).write_bytes(save(agent.tensors))
        (draft / CARD).write_text(card.model_dump_json(indent=2) + "\n")


def read_card(folder: Path) -> AgentCard:
    """Read and check card.json.

    Raises:
        ValueError: it is missing or malformed, naming file and field.
    """
    path = folder / CARD
    try:
        return AgentCard.model_validate_json(path.read_text())
    except (OSError, ValidationError) as error:
        raise ValueError(f"{path} is no agent's card: {error}") from error


def load_agent(folder: Path | str, env_id: str | None = None) -> AgentPolicy:
    """Load a published agent.

    Args:
        folder: what `publish` wrote.
        env_id: the environment it is wanted for; None takes whichever the card names.

    Raises:
        ValueError: another environment, a truncated or malformed file, a tensor missing, of another shape or not finite.
    """
    folder = Path(folder)
    card = read_card(folder)
    if env_id is not None and card.env_id != env_id:
        raise ValueError(f"{folder / CARD}: env_id is {card.env_id!r}, expected {env_id!r}")
    try:
        weights = (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise ValueError(f"{folder / WEIGHTS} cannot be read: {error}") from error
    return agent_from(card, weights, folder)


def agent_from(card: AgentCard, weights: bytes, folder: Path) -> AgentPolicy:
    """The agent that `card` describes, from the content of its file of weights; `folder` is what errors name.

    Raises:
        ValueError: a truncated or malformed file, a tensor missing, of another shape or not finite.
    """
    observation_space, action_space = build(card.observation_space), build(card.action_space)
    if not isinstance(observation_space, spaces.Box) or len(observation_space.shape) != 1:
        raise ValueError(f"{folder / CARD}: observation_space is {observation_space}, expected a Box with one axis")
    try:
        shapes = tensor_shapes(observation_space.shape[0], card.paths, card.hidden, output_count(action_space), card.places)
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {error}") from error
    tensors = _checked_tensors(folder / WEIGHTS, weights, shapes)
    trained = observation_space, action_space, card.paths, card.activation, tensors, card.steps, card.places, card.squashed
    return AgentPolicy(card.env_id, *trained)


def _checked_tensors(path: Path, weights: bytes, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    try:
        tensors = load(weights)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if tensors.keys() != shapes.keys():
        raise ValueError(f"{path} holds {sorted(tensors)}, expected {sorted(shapes)}")
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype != np.float32:
            raise ValueError(f"{path}: {name} is {tensor.dtype} {tensor.shape}, expected float32 {shape}")
        if not np.isfinite(tensor).all():
            raise ValueError(f"{path}: {name} holds {tensor[~np.isfinite(tensor)][0]}, expected finite values")
    return tensors
