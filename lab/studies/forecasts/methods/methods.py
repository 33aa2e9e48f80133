"""All methods, identified by their `kind`."""

from typing import Annotated, Literal

from pydantic import Field

from lab.studies.forecasts.methods.boosting import Boosting
from lab.studies.forecasts.methods.lstm import Lstm
from lab.studies.forecasts.methods.quantile import QuantileDnn
from lab.studies.forecasts.methods.simple import DelayPlusJitter, Ewma, LastDelay, LeastSquares
from vcgym.predictors.dnn import Dnn


class PublishedDnn(Dnn):
    """Settings of the network that `vcgym-train-predictor` trains."""

    kind: Literal["dnn"] = "dnn"


AnyMethod = Annotated[
    LastDelay | DelayPlusJitter | Ewma | LeastSquares | Boosting | PublishedDnn | QuantileDnn | Lstm,
    Field(discriminator="kind"),
]
