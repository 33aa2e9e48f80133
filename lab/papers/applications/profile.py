"""Profiles of conferencing applications: the sending behaviour of Zoom, Meet and Teams as data (`vcgym.data/applications/NAME.json`).

Each number has its origin: printed in the study (S3), fitted to printed values, or declared by us.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lab.papers.applications.application import Application
from vcgym.network.traces.cards import Carded, load_carded

APPLICATIONS = ("zoom", "meet", "teams")
Viewing = Literal["speaker", "pinned"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Number(_Part):
    """Number of a profile, at least 0.

    Attributes:
        value: value in the unit of its field's name.
        origin: printed in the study, fitted to it, or declared by us.
        source: place in the study, data of the fit, or reason.
    """

    value: Annotated[float, Field(ge=0.0)]
    origin: Literal["printed", "fitted", "declared"]
    source: Annotated[str, Field(min_length=1)]


class Law(_Part):
    """Numbers of `lab.papers.applications.application.Application`, and the start and minimum rate of a call."""

    start_kbps: Number
    min_kbps: Number
    max_loss: Number
    max_queuing_ms: Number
    yields_to: Number
    hold_s: Number
    rises_kbps: Number
    power: Number
    growth: Number
    peak: Number
    settles_s: Number

    def rule(self, nominal_kbps: float, layers_kbps: tuple[float, ...] = ()) -> Application:
        """Return the rule with this law and a nominal rate, with layers if there are any."""
        law = {name: getattr(self, name).value for name in Application._fields if name in Law.model_fields}
        return Application(nominal_kbps, np.array(layers_kbps, np.float64), **law)

    def rates_kbps(self, nominal_kbps: float) -> tuple[float, float, float]:
        """Return start, minimum and maximum rate of a call with that nominal rate."""
        start_kbps = min(self.start_kbps.value, nominal_kbps)
        return start_kbps, min(self.min_kbps.value, start_kbps), nominal_kbps * self.peak.value


class AdaptingRelay(Law):
    """Relay that adapts the forwarded media.

    Attributes:
        layers_kbps: its possible total rates with scalable layers or simulcast copies, increasing.
        fec_share: added redundancy, as a share of the forwarded rate.
    """

    layers_kbps: Annotated[tuple[Number, ...], Field(min_length=1)]
    fec_share: Number

    @property
    def sent_kbps(self) -> tuple[float, ...]:
        """Possible rates of the relay, including redundancy."""
        return tuple(layer.value * (1.0 + self.fec_share.value) for layer in self.layers_kbps)

    @model_validator(mode="after")
    def _rises(self) -> "AdaptingRelay":
        if any(low >= high for low, high in zip(self.sent_kbps, self.sent_kbps[1:], strict=False)):
            raise ValueError(f"layers_kbps is {[layer.value for layer in self.layers_kbps]}; allowed are rising rates")
        return self


class Rate(_Part):
    """Rate of a sender without shortage, by viewing mode and number of parties."""

    viewing: Viewing
    parties: Annotated[int, Field(ge=2, le=1000)]
    kbps: Number


class Profile(Carded):
    """File of an application.

    Attributes:
        application: name of the application.
        media: method of adapting the media for a receiver.
        rates: rates of the sender.
        sender: law of the uplink; without a relay, of the whole path.
        relay: law of the downlink; None: the relay only forwards.
    """

    application: str
    media: Literal["scalable layers", "simulcast", "sender"]
    rates: Annotated[tuple[Rate, ...], Field(min_length=1)]
    sender: Law
    relay: AdaptingRelay | None

    @model_validator(mode="after")
    def _has_its_relay(self) -> "Profile":
        if (self.relay is None) != (self.media == "sender"):
            raise ValueError(f"relay of media {self.media!r} is {'none' if self.relay is None else 'there'}; allowed: none with 'sender'")
        return self

    def nominal_kbps(self, viewing: Viewing = "speaker", parties: int = 2) -> float:
        """Return the sender's rate without shortage.

        Raises:
            ValueError: the study prints no rate for this mode and number of parties.
        """
        for rate in self.rates:
            if (rate.viewing, rate.parties) == (viewing, parties):
                return rate.kbps.value
        known = ", ".join(f"{rate.viewing} {rate.parties}" for rate in self.rates)
        raise ValueError(f"viewing, parties = {viewing}, {parties} of {self.application}: allowed are {known}")

    def up(self, viewing: Viewing = "speaker", parties: int = 2) -> tuple[Application, tuple[float, float, float]]:
        """Return rule and rates (start, minimum, maximum kbit/s) of the sender."""
        nominal_kbps = self.nominal_kbps(viewing, parties)
        return self.sender.rule(nominal_kbps), self.sender.rates_kbps(nominal_kbps)

    def down(self) -> tuple[Application, tuple[float, float, float]]:
        """Return rule and rates of the downlink to a receiver: the relay's, or the sender's if the relay only forwards."""
        if self.relay is None:
            return self.up()
        layers = self.relay.sent_kbps
        return self.relay.rule(layers[-1], layers), self.relay.rates_kbps(layers[-1])


def load_profile(name: str) -> Profile:
    """Return the profile of one of `APPLICATIONS`.

    Raises:
        ValueError: the application is unknown.
        DataError: a field is invalid, or the content does not match the card's hash.
    """
    if name not in APPLICATIONS:
        raise ValueError(f"application {name!r}: allowed are {', '.join(APPLICATIONS)}")
    return load_carded(Profile, "applications", f"{name}.json")
