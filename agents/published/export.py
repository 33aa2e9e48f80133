"""A published agent: a folder with agent.safetensors (weights) and card.json (their description), without pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from pydantic import Field, ValidationError
from safetensors.numpy import save

from vcgym.agents.networks.description import SetNetwork, Strict
from vcgym.agents.networks.observation import ObservedPart, require_network
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.published.new_folder import CARD, WEIGHTS, new_folder
from vcgym.agents.published.spaces import build, describe
from vcgym.baselines.tensors import tensors_of
from vcgym.network.traces.plain_file import parse_json, read_plain
from vcgym.network.traces.refusal import faults, shown

FORMAT: Literal[2] = 2
MAX_CARD_BYTES, MAX_WEIGHT_BYTES = 1 << 18, 1 << 28


class AgentCard(Strict):
    """The content of card.json.

    Attributes:
        observation: parts of an observation, in order.
        observation_space, action_space: spaces of one session, see `vcgym.agents.published.spaces.describe`.
        network: description of the network that the weights belong to.
        squashed: true if tanh squashes outputs into the Box of actions.
        steps: transitions in training.
        config_hash: hash of the resolved training config.
    """

    format: Literal[2] = FORMAT
    env_id: str
    observation: list[ObservedPart]
    observation_space: dict[str, Any]
    action_space: dict[str, Any]
    network: SetNetwork
    algorithm: str
    squashed: bool = False
    steps: Annotated[int, Field(ge=0)]
    seed: int
    config_hash: str


def publish(folder: Path, agent: AgentPolicy, *, algorithm: str, steps: int, seed: int, config_hash: str) -> None:
    """Write `agent` to the new `folder` atomically.

    Raises:
        FileExistsError: `folder` exists.
    """
    card = AgentCard(
        env_id=agent.env_id,
        observation=list(agent.parts),
        observation_space=describe(agent.observation_space),
        action_space=describe(agent.action_space),
        network=agent.network,
        algorithm=algorithm,
        squashed=agent.squashed,
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
        ValueError: it is missing, malformed (the message names file and field) or of an earlier format.
    """
    return _parsed_card(folder / CARD, read_plain(folder / CARD, MAX_CARD_BYTES))


def _parsed_card(path: Path, content: bytes) -> AgentCard:
    found = parse_json(path, content).get("format")
    if found != FORMAT:
        allowed = f"{FORMAT}; train the agent again, or load it with the version that wrote it"
        raise ValueError(f"{path}: format is {shown(found)}; allowed: {allowed}")
    try:
        return AgentCard.model_validate_json(content)
    except ValidationError as error:
        raise ValueError(f"{path}: {faults(error)}") from error


def load_agent(folder: Path | str, env_id: str | None = None) -> AgentPolicy:
    """Load a published agent.

    Args:
        folder: folder that `publish` wrote.
        env_id: required environment; None accepts any.

    Raises:
        ValueError: wrong environment; truncated or malformed file; tensor missing, of wrong shape or not finite.
    """
    folder = Path(folder)
    card = read_card(folder)
    if env_id is not None and card.env_id != env_id:
        raise ValueError(f"{folder / CARD}: env_id is {shown(card.env_id)}; allowed: {env_id!r}")
    return agent_from(card, read_plain(folder / WEIGHTS, MAX_WEIGHT_BYTES), folder)


def agent_of(files: Mapping[str, bytes]) -> AgentPolicy:
    """Return the agent whose folder has `files`, by name; for errors see `load_agent`."""
    return agent_from(_parsed_card(Path(CARD), files[CARD]), files[WEIGHTS], Path())


def agent_from(card: AgentCard, weights: bytes, folder: Path) -> AgentPolicy:
    """Return the agent that `card` describes, from the bytes of its weights file; errors name `folder`.

    Raises:
        ValueError: inconsistent card; truncated or malformed file; tensor missing, of wrong shape or not finite.
    """
    try:
        observation_space, action_space = build(card.observation_space), build(card.action_space)
        if not isinstance(observation_space, spaces.Box) or len(observation_space.shape) != 1:
            raise ValueError(f"observation_space is {shown(str(observation_space))}; allowed: a Box with one axis")
        require_network(card.network, card.observation, observation_space.shape[0], output_count(action_space))
    except ValueError as error:
        raise ValueError(f"{folder / CARD}: {error}") from error
    tensors = _checked_tensors(folder / WEIGHTS, weights, card.network.tensor_shapes())
    acts = card.env_id, tuple(card.observation), observation_space, action_space
    return AgentPolicy(*acts, card.network, tensors, card.steps, card.squashed)


def _checked_tensors(path: Path, weights: bytes, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    tensors = tensors_of(path, weights)
    if tensors.keys() != shapes.keys():
        other = sorted(tensors.keys() ^ shapes.keys())
        raise ValueError(f"{path}: tensors {shown(other)} are missing or unknown; allowed: those of the card's network")
    for name, shape in shapes.items():
        tensor = tensors[name]
        if tensor.shape != shape or tensor.dtype != np.float32:
            raise ValueError(f"{path}: {name} is {tensor.dtype} {tensor.shape}; allowed: float32 {shape}")
        if not np.isfinite(tensor).all():
            raise ValueError(f"{path}: {name} holds {tensor[~np.isfinite(tensor)][0]}; allowed: finite values")
    return tensors
