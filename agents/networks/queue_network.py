"""The network of agents that order a queue: the same small net looks at every packet that waits, so it acts on a queue of any length.

    e_i = act(encode [x_i, x_c])                  each waiting packet i with features x_i; x_c the features of the call
    z   = [x_c, mean_i e_i, max(0, max_i e_i)]    over packets that are there
    t   = act(trunk1 act(trunk0 z))
    send_i, drop_i = score1 act(score0 [e_i, t]) + habit x_i

Outputs are logits: to send each place, then to throw each away; a place that holds no packet has ABSENT. Features are compressed by
arcsinh, but not for the habit. It begins near SBPN2, as a sensible rule: audio first; what would come too late is thrown away, unless it is
alone. Other than SBPN2 it lets the newest go first, which has the best chance to be in time, and leaves the way to audio where video has
less than half of its time to spare. The value is linear in the t of a trunk of its own.
"""

import torch
from torch import nn

from vcgym.agents.networks.path_network import ACTIVATIONS, Nets
from vcgym.agents.networks.queue_policy import ABSENT, SCORES
from vcgym.envs.call.features.sender import PLACE_FEATURES, PLACE_WIDTH

PRESENT, AUDIO, AGE, TO_SPARE, ALONE = (
    [feature.name for feature in PLACE_FEATURES].index(name) for name in ("present", "audio", "age", "to_spare", "alone")
)
_AUDIO, _NEWER, _LATE, _ALONE = 15.0, 15.0, 30.0, 30.0  # logits at the start
_MARGIN = 0.5  # expiry times that video has to spare, or it makes room


class QueueTrunk(nn.Module):
    """What is known of a call: t of the module docstring, and e of each place.

    Args:
        features: length of an observation.
        places: how many places it describes, before the features of the call.
        hidden: units per layer.
        activation: a key of ACTIVATIONS.
    """

    def __init__(self, features: int, places: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.places, self.act = places, ACTIVATIONS[activation]
        call = features - places * PLACE_WIDTH
        self.encode = nn.Linear(PLACE_WIDTH + call, hidden)
        self.trunk0 = nn.Linear(call + 2 * hidden, hidden)
        self.trunk1 = nn.Linear(hidden, hidden)

    def trunk(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What is known: t (batch, hidden), and e (batch, places, hidden)."""
        of_places, call = self.split(torch.asinh(observation))
        present = self.split(observation)[0][:, :, PRESENT : PRESENT + 1]
        encoded = self.act(self.encode(torch.cat([of_places, call[:, None].expand(-1, self.places, -1)], dim=2)))
        mean = (encoded * present).sum(dim=1) / torch.clamp(present.sum(dim=1), min=1.0)
        highest = torch.clamp((encoded * present).amax(dim=1), min=0.0)  # however many places hold nothing
        return self.act(self.trunk1(self.act(self.trunk0(torch.cat([call, mean, highest], dim=1))))), encoded

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of the places (batch, places, width), and of the call (batch, rest)."""
        border = self.places * PLACE_WIDTH
        return observation[:, :border].reshape(len(observation), self.places, PLACE_WIDTH), observation[:, border:]


class QueueNet(QueueTrunk):
    """The network of the module docstring."""

    def __init__(self, features: int, places: int, hidden: int, activation: str) -> None:
        super().__init__(features, places, hidden, activation)
        self.score0 = nn.Linear(2 * hidden, hidden)
        self.score1 = nn.Linear(hidden, SCORES)
        self.habit = nn.Linear(PLACE_WIDTH, SCORES, bias=False)

    def start_sensibly(self, scale: float) -> None:
        """Scores near zero, but for the habits, `scale` times as strong as for logits."""
        with torch.no_grad():
            nn.init.orthogonal_(self.score1.weight, 0.01)
            self.habit.weight.zero_()
            self.habit.weight[:, AUDIO], self.habit.weight[:, AGE] = _AUDIO, -_NEWER
            self.habit.weight[1, TO_SPARE], self.habit.weight[1, ALONE] = -_LATE, -_ALONE
            self.habit.weight[1, PRESENT] += _MARGIN * _LATE
            self.habit.weight[1, AUDIO] -= _MARGIN * _LATE
            self.habit.weight *= scale

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Logits (batch, 2 places)."""
        trunk, encoded = self.trunk(observation)
        of_places, _ = self.split(observation)
        both = torch.cat([encoded, trunk[:, None].expand(-1, self.places, -1)], dim=2)
        scores = self.score1(self.act(self.score0(both))) + self.habit(of_places)
        scores = torch.where(of_places[:, :, PRESENT : PRESENT + 1] > 0.0, scores, torch.full_like(scores, ABSENT))
        return scores.transpose(1, 2).reshape(len(observation), SCORES * self.places)


def queue_nets(features: int, outputs: int, places: int, hidden: int, activation: str) -> Nets:
    """Networks of an agent that orders a queue."""
    policy = QueueNet(features, places, hidden, activation)
    return Nets(policy, QueueTrunk(features, places, hidden, activation), outputs, hidden)
