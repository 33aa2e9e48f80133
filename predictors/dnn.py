"""Settings of the training of the VCRoute paper's predictor, which need no torch."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Dnn(BaseModel):
    """Settings of a training; scale, batch size and stopping are our choice, as the paper does not state them.

    Attributes:
        learning_rate: Adam's step size; the published code uses Adam's default.
        batch_size: rows per step.
        epochs: maximum number of passes over the rows.
        patience: epochs without a better loss on the held-out rows before early stopping.
        threads: torch threads; results are exactly repeatable with 1.
        loss: loss on the standardised target: mae forecasts the median, mse the mean, huber (knee at one standard deviation) between them.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    batch_size: Annotated[int, Field(ge=1)] = 1024
    epochs: Annotated[int, Field(ge=1)] = 60
    patience: Annotated[int, Field(ge=1)] = 6
    threads: Annotated[int, Field(ge=1)] = 1
    loss: Literal["mae", "mse", "huber"] = "mae"
