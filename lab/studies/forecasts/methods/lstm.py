"""A recurrent predictor: an LSTM (Hochreiter and Schmidhuber 1997) over the inputs of a call's last rows, with a linear output."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from vcgym.predictors.rows import Rows
from vcgym.predictors.training import Examples, History, InputScale, NetworkMethod, Site, outputs, scale_of, seeded, train


class Lstm(NetworkMethod):
    """Settings.

    Attributes:
        length: number of input rows, including the row itself.
        hidden: units of the LSTM.
    """

    kind: Literal["lstm"] = "lstm"
    length: Annotated[int, Field(ge=1, le=1000)] = 8
    hidden: Annotated[int, Field(ge=1)] = 16

    def fit(self, rows: Rows, check: Rows, seed: int, site: Site) -> "TrainedLstm":
        scale = scale_of(rows.inputs, rows.target_ms)
        net = seeded(lambda: _Net(self.hidden), seed)
        everything = scale.inputs(rows.inputs_ms)
        learnt, held = (Examples(everything[part.before(self.length)], scale.target(part.target_ms)) for part in (rows, check))
        return TrainedLstm(net, scale, self.length, train(net, nn.L1Loss(), learnt, held, self, seed, site))


class _Net(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.memory = nn.LSTM(2, hidden, batch_first=True)
        self.last = nn.Linear(hidden, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        states, _ = self.memory(inputs)
        output: Tensor = self.last(states[:, -1])[:, 0]
        return output


@dataclass(frozen=True)
class TrainedLstm:
    """Fitted network."""

    net: nn.Module
    scale: InputScale
    length: int
    history: History

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        return self.scale.delay_ms(outputs(self.net, self.scale.inputs(rows.inputs_ms)[rows.before(self.length)]))
