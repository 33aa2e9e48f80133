"""Methods: an agent that was trained several times, each training with its own seed, as one system.

A number of a method is the mean over its seeds of that number: what one training can be expected to give, whatever their number. Its
interval covers other worlds and other seeds. The seeds' part of the variance is the sample variance of the S seeds' numbers over S; a
resample of worlds takes its mean over the seeds, moved by a normal number times the root of that part in this resample. Degrees of freedom
are Satterthwaite's, over the worlds' part and that of the seeds, which has S - 1. They take the luck of two close seeds for certainty: by
simulation such intervals cover 89 to 97 % with two seeds, 93 to 97 % with three, 94.6 % or more with five (lab/notes/statistics.md). Claims
of ranks therefore have the S - 1 degrees of freedom of the seeds alone.

Source: Agarwal et al. 2021 (arXiv 2108.13264), section 3, for intervals over runs; Satterthwaite, Biometrics Bulletin 2 (1946).
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vcgym.leaderboard.statistics.resampling import NORMAL_QUANTILE, Spread, quantile_of_parts

SEED = " seed "
"""Between the name of a method and the number of one of its trainings, in the name of a system."""
_TRAINING = re.compile(rf"(.+){SEED}\d+")


def methods(systems: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the methods with two or more trainings among `systems`, each with the names of its trainings, by number."""
    found: dict[str, list[str]] = {}
    for name in systems:
        if its := _TRAINING.fullmatch(name):
            found.setdefault(its[1], []).append(name)
    by_number = {name: sorted(its, key=lambda one: int(one.rpartition(SEED)[2])) for name, its in found.items()}
    return {name: tuple(its) for name, its in sorted(by_number.items()) if len(its) > 1}


def runs_of(systems: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the runs of each system, which is its own, and of each method."""
    systems = list(systems)
    return {name: (name,) for name in systems} | methods(systems)


class Entries(NamedTuple):
    """Names on a board: systems, and methods in place of their trainings.

    Attributes:
        names: E names, sorted.
        members: of each entry the indices of its runs among the systems.
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    @property
    def has_methods(self) -> bool:
        """True if an entry has several runs."""
        return any(len(runs) > 1 for runs in self.members)

    @property
    def means(self) -> np.ndarray:
        """(E, S) float64: the weights of the systems in the mean of each entry."""
        found = np.zeros((len(self.names), 1 + max(max(runs) for runs in self.members)))
        for row, runs in zip(found, self.members, strict=True):
            row[list(runs)] = 1.0 / len(runs)
        return found

    @property
    def freedom(self) -> np.ndarray:
        """(E,) int64: degrees of freedom of the part of the seeds; 0 for a single system, which has no such part."""
        return np.array([len(runs) - 1 for runs in self.members])

    def seed_variance(self, values: np.ndarray) -> np.ndarray:
        """Return the variance of each entry's mean that its seeds cause, (E, ...), from the systems' values (S, ...)."""
        nothing = np.zeros(values.shape[1:])
        return np.stack([values[list(runs)].var(axis=0, ddof=1) / len(runs) if len(runs) > 1 else nothing for runs in self.members])

    def draws(self, resamples: int) -> np.ndarray:
        """Return standard normal numbers (E, resamples), which depend on the name of an entry alone."""
        return np.stack([np.random.default_rng(zlib.crc32(name.encode())).standard_normal(resamples) for name in self.names])


def entries(systems: Sequence[str]) -> Entries:
    """Return what is ranked of `systems`."""
    of_methods = methods(systems)
    pooled = {run for runs in of_methods.values() for run in runs}
    found = {**{name: (name,) for name in systems if name not in pooled}, **of_methods}
    names = tuple(sorted(found))
    return Entries(names, tuple(tuple(systems.index(run) for run in found[name]) for name in names))


def pooled(spread: Spread, found: Entries, noise: np.ndarray, sizes: np.ndarray, calls: np.ndarray) -> Spread:
    """Return the spread of entries from that of systems.

    Args:
        spread: a statistic (S, ...) of each of S systems and of its resamples.
        found: the entries of these systems.
        noise: (S, W) values whose spread over worlds determines that of the statistic.
        sizes: (H,) number of worlds of each kind.
        calls: (H,) number of independent calls that each kind counts as.
    """
    if not found.has_methods:
        order = [runs[0] for runs in found.members]
        student = spread.student[order] if isinstance(spread.student, np.ndarray) and spread.student.ndim else spread.student
        return spread._replace(centre=spread.centre[order], resampled=spread.resampled[order], student=student)
    centre, resampled = (np.tensordot(found.means, values, 1) for values in (spread.centre, spread.resampled))
    if not resampled.shape[-1]:
        return Spread(centre, resampled, spread.factor, spread.student if np.ndim(spread.student) == 0 else np.nan)
    of_worlds = (spread.factor * resampled.std(axis=-1, ddof=1)) ** 2
    of_seeds = found.seed_variance(spread.centre)
    draws = found.draws(resampled.shape[-1]).reshape(len(found.names), *[1] * (resampled.ndim - 2), -1)
    moved = resampled + draws * np.sqrt(found.seed_variance(spread.resampled)) / spread.factor
    return Spread(centre, moved, spread.factor, _student(of_worlds, of_seeds, found, noise, sizes, calls))


def _student(
    of_worlds: np.ndarray, of_seeds: np.ndarray, found: Entries, noise: np.ndarray, sizes: np.ndarray, calls: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Return the ratio of Student's quantile to the normal one, (E, ...), from the variances (E, ...) that worlds and seeds cause."""
    kinds = np.split(found.means @ noise, np.cumsum(sizes)[:-1], axis=-1)
    shares = np.stack([kind.shape[-1] * kind.var(axis=-1, ddof=1) for kind in kinds], axis=-1) * (sizes / calls)
    total = shares.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), 1.0 / len(kinds))
    ratios = np.empty(of_worlds.shape)
    for entry, runs in enumerate(found.members):
        parts = of_worlds[entry][..., None] * shares[entry]
        counts = calls
        if len(runs) > 1:
            parts, counts = np.concatenate([parts, of_seeds[entry][..., None]], axis=-1), np.append(calls, len(runs))
        varies = parts.any(axis=-1)
        quantile = quantile_of_parts(np.where(varies[..., None], parts, 1.0), counts)
        ratios[entry] = np.where(varies, quantile / NORMAL_QUANTILE, 1.0)
    return ratios
