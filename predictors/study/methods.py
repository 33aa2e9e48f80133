"""All methods, identified by their `kind`."""

from typing import Annotated

from pydantic import Field

from vcgym.predictors.study.boosting import Boosting
from vcgym.predictors.study.dnn import Dnn
from vcgym.predictors.study.lstm import Lstm
from vcgym.predictors.study.quantile import QuantileDnn
from vcgym.predictors.study.simple import DelayPlusJitter, Ewma, LastDelay, Linear

AnyMethod = Annotated[
    LastDelay | DelayPlusJitter | Ewma | Linear | Boosting | Dnn | QuantileDnn | Lstm,
    Field(discriminator="kind"),
]
