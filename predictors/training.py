"""Training of a small torch network on rows: standardised values, Adam, early stopping, a checkpoint after each epoch.

Training is deterministic on one platform with one thread. After the initial weights, only the order of rows is random, and it follows from
seed and epoch. So network, optimiser and epoch are the whole state, and a killed and resumed training ends with the same weights.

A checkpoint is one safetensors file, replaced atomically; nothing is pickled.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from vcgym.network.traces.plain_file import read_plain, replace_file
from vcgym.network.traces.refusal import shown
from vcgym.predictors.dnn import Dnn

CHECKPOINT = "checkpoint.safetensors"
_MAX_CHECKPOINT_BYTES = 1 << 28

Loss = Callable[[Tensor, Tensor], Tensor]


class Site(NamedTuple):
    """Context of a fit: folders, device, seed.

    Attributes:
        folder: folder of checkpoints from which an interrupted fit resumes; None: no checkpoints.
        log: called with metric values by name and the number of finished epochs.
        tell: called with the number of finished epochs and a note.
    """

    folder: Path | None = None
    log: Callable[[dict[str, float], int], None] = lambda metrics, epoch: None
    tell: Callable[[int, str], None] = lambda done, note: None


class InputScale(NamedTuple):
    """Mean and standard deviation of the inputs, (2,) each, and of the target."""

    input_mean_ms: NDArray[np.float64]
    input_sd_ms: NDArray[np.float64]
    output_mean_ms: float
    output_sd_ms: float

    def inputs(self, inputs_ms: NDArray[np.float64]) -> Tensor:
        """Return standardised inputs, float32."""
        return torch.from_numpy(((inputs_ms - self.input_mean_ms) / self.input_sd_ms).astype(np.float32))

    def target(self, target_ms: NDArray[np.float64]) -> Tensor:
        """Return the standardised target, float32."""
        return torch.from_numpy(((target_ms - self.output_mean_ms) / self.output_sd_ms).astype(np.float32))

    def delay_ms(self, output: Tensor) -> NDArray[np.float64]:
        """Return network outputs in ms."""
        return np.asarray(output.numpy().astype(np.float64) * self.output_sd_ms + self.output_mean_ms)


def scale_of(inputs_ms: NDArray[np.float64], target_ms: NDArray[np.float64]) -> InputScale:
    """Return the scale of the training rows; a constant column is only centred."""
    input_sd, output_sd = inputs_ms.std(0), float(target_ms.std())
    return InputScale(
        inputs_ms.mean(0), np.where(input_sd > 0.0, input_sd, 1.0), float(target_ms.mean()), output_sd if output_sd > 0.0 else 1.0
    )


def seeded(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Build a network with initial weights from `seed`; the state of torch's generator is restored."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


class Examples(NamedTuple):
    """Inputs (n, ...) and targets (n,)."""

    inputs: Tensor
    targets: Tensor


class History(NamedTuple):
    """Loss per epoch in units of the standardised target: on training rows during the epoch, on held-out rows after it."""

    fit: list[float]
    check: list[float]


def train(net: nn.Module, loss: Loss, fit: Examples, check: Examples, settings: Dnn, seed: int, site: Site) -> History:
    """Train `net` in place; it ends with the weights of the best epoch on `check`.

    Raises:
        ValueError: the checkpoint in `site.folder` cannot be read or is of another training.
    """
    torch.set_num_threads(settings.threads)
    state = _State(net, settings.learning_rate, _identity(settings, seed, fit, check))
    checkpoint = None if site.folder is None else site.folder / CHECKPOINT
    if checkpoint is not None and checkpoint.exists():
        state.load(checkpoint)
    while state.epoch < settings.epochs and state.waited < settings.patience:
        fit_loss = _epoch(net, state.optimiser, loss, fit, settings.batch_size, seed * settings.epochs + state.epoch)
        losses = fit_loss, float(loss(outputs(net, check.inputs), check.targets))
        state.finish_epoch(*losses)
        if checkpoint is not None:
            state.save(checkpoint)
        site.log({"loss/fit": losses[0], "loss/check": losses[1]}, state.epoch)
        site.tell(state.epoch, f"loss {losses[0]:.4f}, held out {losses[1]:.4f}")
    net.load_state_dict(state.best)
    return state.history


def _epoch(net: nn.Module, optimiser: torch.optim.Adam, loss: Loss, fit: Examples, batch_size: int, seed: int) -> float:
    """Train one pass over the rows; return the mean loss, where each batch is evaluated before its step."""
    total = torch.zeros(())
    order = torch.randperm(len(fit.targets), generator=torch.Generator().manual_seed(seed))
    for batch in order.split(batch_size):
        optimiser.zero_grad()
        value = loss(net(fit.inputs[batch]), fit.targets[batch])
        value.backward()
        optimiser.step()
        total += value.detach() * len(batch)
    return float(total) / len(fit.targets)


def outputs(net: nn.Module, inputs: Tensor) -> Tensor:
    """Evaluate `net` in batches."""
    with torch.no_grad():
        return torch.cat([net(part) for part in inputs.split(8192)])


def _identity(settings: Dnn, seed: int, fit: Examples, check: Examples) -> dict[str, Any]:
    """Return the values that must be equal for a resumed training to equal an uninterrupted one."""
    sums = [float(tensor.double().sum()) for examples in (fit, check) for tensor in examples]
    return {"settings": settings.model_dump(mode="json"), "seed": seed, "rows": [len(fit.targets), len(check.targets)], "sums": sums}


class _State:
    """State of a training between two epochs."""

    def __init__(self, net: nn.Module, learning_rate: float, identity: dict[str, Any]) -> None:
        self.net, self.identity = net, identity
        self.optimiser = torch.optim.Adam(net.parameters(), lr=learning_rate)
        self.best = {name: tensor.clone() for name, tensor in net.state_dict().items()}
        self.history = History([], [])
        self.waited = 0

    @property
    def epoch(self) -> int:
        return len(self.history.fit)

    def finish_epoch(self, fit: float, check: float) -> None:
        if check < min(self.history.check, default=np.inf):
            self.best = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}
            self.waited = 0
        else:
            self.waited += 1
        self.history.fit.append(fit)
        self.history.check.append(check)

    def save(self, path: Path) -> None:
        tensors = {f"net/{name}": tensor for name, tensor in self.net.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{number}/{name}": tensor for name, tensor in moments.items()}
        scalars = {"identity": self.identity, "history": self.history._asdict(), "waited": self.waited}
        content = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"state": json.dumps(scalars)})
        replace_file(path, content)

    def load(self, path: Path) -> None:
        content = read_plain(path, _MAX_CHECKPOINT_BYTES)
        try:
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
            scalars, tensors = json.loads(header["__metadata__"]["state"]), load(content)
            for field, wanted in self.identity.items():
                found = scalars["identity"].get(field)
                if found != wanted:
                    raise ValueError(f"is of another training: {field} is {shown(found)}, expected {shown(wanted)}")
            self._restore(tensors, scalars)
        except (SafetensorError, ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(f"checkpoint {path} cannot be read: {type(error).__name__} {shown(str(error), 160)}") from error

    def _restore(self, tensors: dict[str, Tensor], scalars: dict[str, Any]) -> None:
        self.net.load_state_dict(_part(tensors, "net"))
        self.best = _part(tensors, "best")
        moments: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _part(tensors, "optimiser").items():
            number, name = key.split("/")
            moments.setdefault(int(number), {})[name] = tensor
        self.optimiser.load_state_dict({"state": moments, "param_groups": self.optimiser.state_dict()["param_groups"]})
        self.history, self.waited = History(**scalars["history"]), scalars["waited"]


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{prefix}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}/")}
