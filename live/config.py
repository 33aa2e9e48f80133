"""Configs of the commands of live calls."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.config.names import ExistingPath, PolicyName, Traces, refused
from vcgym.live.protocol.addresses import End, Hop, Host


def _wav(file: Path) -> Path:
    if file.is_dir() or file.open("rb").read(4) != b"RIFF":
        raise refused("a WAV file, which begins with RIFF")
    return file


Port = Annotated[int, Field(ge=0, le=65535)]
WavFile = Annotated[ExistingPath, AfterValidator(_wav)]
Seconds = Annotated[float, Field(ge=1.0, le=86_400.0)]


class RelayConfig(Config):
    """A relay.

    Attributes:
        secret: file of the secret, 64 hex digits; keys of sessions follow from it. A new one is made if there is no file.
        host: IPv4 address to bind.
        port: UDP port; 0 lets the system choose.
        sessions: sessions at once.
        packets_per_s: mean rate of a session.
        seconds: time until it ends; None: it runs until a signal.
    """

    secret: AbsolutePath
    host: Host = "127.0.0.1"
    port: Port = 0
    sessions: Annotated[int, Field(ge=1, le=100_000)] = 1000
    packets_per_s: Annotated[float, Field(gt=0, le=1e6)] = 1000.0
    seconds: Seconds | None = None


class WorldConfig(Config):
    """A sampled world; the test split is the leaderboard's.

    Attributes:
        scenario: scenario over paths (docs/worlds.md).
        mode: one of its modes.
        split: split that supplies pair, times and seed.
        seed: seed of the world.
        stratum: stratum of the world; None: sampled.
        traces: scenario replay only: folder of traces.
        location: location of the rule for the path.
    """

    scenario: str = "wonderproxy"
    mode: str = "correlated"
    split: Literal["train", "validation"] = "validation"
    seed: Annotated[int, Field(ge=0)] = 0
    stratum: str | None = None
    traces: Traces | None = None
    location: Literal["sender", "central", "receiver"] = "central"


class EmulateConfig(Config):
    """An emulator, and the session file of a call over it.

    Attributes:
        world: the world that it plays.
        seconds: length of the call.
        secret: file of the secret that its relays have.
        relays: addresses of the relays; the first one is the sender's own, which every path crosses.
        sender: address of the sender; port 0 is replaced by a free one of this machine, as in the next two.
        controller: address of the router's location.
        receiver: address of the receiver.
        host: IPv4 address to bind, as the others see it.
        session: session file to write, for the three parties.
    """

    world: WorldConfig = Field(default_factory=WorldConfig)
    seconds: Seconds = 60.0
    secret: AbsolutePath
    relays: Annotated[list[Hop], Field(min_length=1)]
    sender: End = "127.0.0.1:0"
    controller: End = "127.0.0.1:0"
    receiver: End = "127.0.0.1:0"
    host: Host = "127.0.0.1"
    session: AbsolutePath


class PolicyConfig(Config):
    """Control and protection of a live call, its sound, and the folder of its results.

    Attributes:
        policy: system of path and playout that controls the call (`vcgym systems`), or folder of a trained seed.
        protection: system whose rule protects the call, such as RED1, COPY1 or COPY-HELD; None: no protection.
        budget: share of the bytes without protection that it may add.
        wav: sound of the sender, 16 bits, one channel, 48 kHz; None: a test signal.
        folder: folder of the WAV that was played (heard.wav) and of the packets (packets.npz).
    """

    policy: PolicyName = "learned"
    protection: str | None = None
    budget: Annotated[float, Field(ge=0.0, le=100.0)] = 1.0
    wav: WavFile | None = None
    folder: AbsolutePath = Path("outputs/call")


class CallConfig(PolicyConfig):
    """All parties of a live call, relays and emulator on this machine.

    Attributes:
        world: world to play.
        seconds: length.
        stats: show path, lag, delay, loss and R of the last 10 s while the call runs.
    """

    world: WorldConfig = Field(default_factory=WorldConfig)
    seconds: Seconds = 60.0
    stats: bool = False


class JoinConfig(PolicyConfig):
    """Party of a live call whose other parties run elsewhere.

    Attributes:
        party: the sender, the location that controls the path, or the receiver.
        session: session file of the call.
    """

    party: Literal["sender", "controller", "receiver"]
    session: AbsolutePath


class MeasureConfig(Config):
    """A measurement of delays, by probes every 10 ms.

    Attributes:
        secret: file of the secret that the relays have.
        hosts: addresses of the relays of two or more hosts, to measure every ordered pair; or none, with `session`.
        session: session file, to measure each of its paths; or None, with `hosts`.
        host: IPv4 address of this machine as the hosts see it.
        seconds: duration with `hosts`; a session has its own.
        budget_packets: maximum number of probes; a measurement that would need more does not start.
        output: folder of the traces.
    """

    secret: AbsolutePath
    hosts: list[Hop] = Field(default=[], max_length=50)
    session: AbsolutePath | None = None
    host: Host = "127.0.0.1"
    seconds: Seconds = 60.0
    budget_packets: Annotated[int, Field(ge=1)] = 1_000_000
    output: AbsolutePath

    @model_validator(mode="after")
    def _measures_one_of_both(self) -> Self:
        if (len(self.hosts) < 2) != (self.session is not None) or (self.hosts and self.session):
            raise ValueError(f"hosts are {len(self.hosts)} and session is {self.session}: allowed are two or more hosts, or a session")
        return self
