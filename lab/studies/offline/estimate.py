"""Off-policy estimate of a policy's mean return from calls of another one: weighted doubly robust (Thomas and Brunskill 2016).

    WDR = mean V(s_0) + sum_t sum_i w_ti (r_ti + V(s_t+1,i) - Q(s_ti, a_ti))

with w_ti the product of the ratios of probabilities up to decision t in call i, divided by its sum over the calls; arXiv 1604.00923. Q is
fitted to the calls of one half and used on the other (fitted Q evaluation); V is its mean under the policy. Intervals are of a bootstrap
over calls.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.studies.offline.calls import Logged, Policy
from lab.studies.offline.learning import fit, network

SWEEPS = 12  # backups of Q; each takes one decision more into account
RESAMPLES = 1000


class OffPolicy(NamedTuple):
    """Estimate of a mean return per call.

    Attributes:
        value: the estimate.
        low: lower end of its 95 % interval.
        high: upper end.
        effective_calls: 1 / sum of squared weights at the last decision, 1 to n; 0 if no call follows the policy that far.
    """

    value: float
    low: float
    high: float
    effective_calls: float


def estimate(logged: Logged, policy: Policy, seed: int) -> OffPolicy:
    """Return the estimate for `policy` from calls logged with propensities."""
    n, decisions = logged.actions.shape
    flat = logged.observations.reshape(n * (decisions + 1), -1)
    wanted = policy(flat).reshape(n, decisions + 1, -1)
    taken = np.take_along_axis(wanted[:, :-1], logged.actions[:, :, None], axis=2)[:, :, 0]
    ratios = np.cumprod(taken / logged.propensities, axis=1)
    q, halves = np.zeros(wanted.shape), (np.arange(n) % 2 == 0, np.arange(n) % 2 == 1)
    for fitted, used in (halves, halves[::-1]):
        q[used] = _q_of(Logged(*(part[fitted] for part in logged)), wanted[fitted], logged.observations[used], seed)
    v = (wanted * q).sum(axis=2)
    v[:, -1] = 0.0  # the call is done
    errors = logged.rewards + v[:, 1:] - np.take_along_axis(q[:, :-1], logged.actions[:, :, None], axis=2)[:, :, 0]

    def value(rows: NDArray[np.intp]) -> float:
        weights = ratios[rows] / np.maximum(ratios[rows].sum(axis=0), 1e-300)
        return float(v[rows, 0].mean() + (weights * errors[rows]).sum())

    random = np.random.default_rng(seed)
    low, high = np.quantile([value(random.integers(n, size=(n,))) for _ in range(RESAMPLES)], (0.025, 0.975))
    last = ratios[:, -1]
    effective = last.sum() ** 2 / (last**2).sum() if last.any() else 0.0
    return OffPolicy(value(np.arange(n)), float(low), float(high), float(effective))


def _q_of(logged: Logged, wanted: NDArray[np.float64], asked: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    """Fit Q to calls by repeated backups under the policy's probabilities `wanted`; return it for the observations `asked`."""
    torch.manual_seed(seed)
    n, decisions = logged.actions.shape
    seen = torch.from_numpy(logged.observations)
    before, actions = seen[:, :-1].reshape(n * decisions, -1), torch.from_numpy(logged.actions.ravel())
    probabilities, rewards = torch.from_numpy(wanted).float(), torch.from_numpy(logged.rewards).float()
    net, ones = network(seen.shape[2], wanted.shape[2]), torch.ones(n * decisions)
    chosen = _Chosen()
    for sweep in range(SWEEPS):
        with torch.no_grad():
            v = (probabilities * net(seen)).sum(dim=2)[:, 1:] if sweep else torch.zeros(n, decisions)
            v[:, -1] = 0.0
            targets = torch.stack([(rewards + v).ravel(), actions.float()], dim=1)
        fit(net, before, chosen, targets, ones, epochs=2)
    with torch.no_grad():
        return net(torch.from_numpy(asked)).double().numpy()


class _Chosen(nn.Module):
    """Squared error of the output of the action taken; targets are values and actions, (n, 2)."""

    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return (outputs.gather(1, targets[:, 1:].long())[:, 0] - targets[:, 0]) ** 2
