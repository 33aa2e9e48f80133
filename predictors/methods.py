"""All methods, told apart by their `kind`."""

from typing import Annotated

from pydantic import Field

from vcgym.predictors.boosting import Boosting
from vcgym.predictors.dnn import Dnn
from vcgym.predictors.lstm import Lstm
from vcgym.predictors.quantile import QuantileDnn
from vcgym.predictors.simple import DelayPlusJitter, Ewma, LastDelay, Linear

AnyMethod = Annotated[
    LastDelay | DelayPlusJitter | Ewma | Linear | Boosting | Dnn | QuantileDnn | Lstm,
    Field(discriminator="kind"),
]
