"""What a careful user would write without lsmdp, and the certificate that everybody is judged by.

All of them look for the Perron vector z of diag(e^{-c/T}) P, from the last round's z on. With v = -T log z and
r = Bv - v, the optimal average cost lies in [min r, max r]: a round counts only if that interval is narrow enough. It
is evaluated here, by a few lines of numpy, and not by lsmdp.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigs

from benchmarks.measure import repeated

Array = np.ndarray[Any, np.dtype[Any]]
TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 0.0)  # of eigs: the loosest that meets the certificate is used
RESTART, COSTLY = 20, 2.0  # products between two restarts of ARPACK, and what one costs with all around it
CHECKED = 10  # power steps between two looks at the ratios


def gap_of(P: Any, T: float, c: Array, v: Array) -> float:
    """span(Bv - v), each row scaled by its own smallest successor value."""
    reached, starts = v[P.indices], P.indptr[:-1]
    m = np.minimum.reduceat(reached, starts)
    s = np.add.reduceat(P.data * np.exp(-(reached - np.repeat(m, np.diff(P.indptr))) / T), starts)
    return float(np.ptp(c + m - T * np.log(s) - v))


@dataclass
class Peer:
    """A competitor: its vector, the seconds of each round it played, and how many of those met the certificate."""

    P: Any
    z: Array
    limit: float  # seconds after which a round is given up
    seconds: list[float] = field(default_factory=list)
    met: int = 0
    note: str = ""

    def round(self, c: Array, tol: float) -> None:
        """One more round: the vector for the cost c, then, untimed, its certificate."""
        began = time.perf_counter()
        z = self.solve(c, tol)
        self.seconds.append(time.perf_counter() - began)
        self.met += self.proves(z, c, tol)
        if z is not None and (z > 0.0).all():
            self.z = z

    def proves(self, z: Array | None, c: Array, tol: float) -> bool:
        """Whether the vector has a certificate of this width."""
        return z is not None and bool((z > 0.0).all()) and gap_of(self.P, 1.0, c, -np.log(z)) <= tol

    def solve(self, c: Array, tol: float) -> Array | None:
        """The vector for the cost c, or nothing."""
        raise NotImplementedError


@dataclass
class Eigs(Peer):
    """scipy's ``eigs`` (ARPACK) with the last vector as v0 and the loosest tolerance that meets the certificate."""

    tolerance: float | None = None

    def solve(self, c: Array, tol: float) -> Array | None:
        """With the tolerance that the first round has found."""
        return self._ask(c, self._loosest(c, tol) if self.tolerance is None else self.tolerance)

    def _loosest(self, c: Array, tol: float) -> float:
        began = time.perf_counter()
        for tolerance in TOLERANCES:
            if self.proves(self._ask(c, tolerance), c, tol):
                return tolerance
            if time.perf_counter() - began > self.limit:
                break
        return tolerance

    def _ask(self, c: Array, tolerance: float) -> Array | None:
        M = sparse.csr_array(
            (self.P.data * np.repeat(np.exp(-c), np.diff(self.P.indptr)), self.P.indices, self.P.indptr)
        )
        product, _ = repeated(lambda: M @ self.z, at_least=0.0)
        restarts = 10 + int(self.limit / (COSTLY * RESTART * product))
        try:
            _, vectors = eigs(M, k=1, which="LM", v0=self.z, tol=tolerance, maxiter=restarts)
        except ArpackError as refused:
            self.note = str(refused).split("\n")[0][:60]
            return None
        vector = vectors[:, 0]
        turned = (vector * np.conj(vector.sum() / abs(vector.sum()))).real  # an eigenvector has any phase
        return np.asarray(turned / np.abs(turned).max())

    def round(self, c: Array, tol: float) -> None:
        """The first round is played twice: before the clock starts, it finds the tolerance."""
        if self.tolerance is None:
            self.tolerance = self._loosest(c, tol)
        super().round(c, tol)


@dataclass
class PowerSteps(Peer):
    """z <- g * (P @ z) in numpy and scipy, until the ratios agree."""

    steps: int = 0

    def solve(self, c: Array, tol: float) -> Array | None:
        """Steps until the certificate, or until the time is over."""
        g, z, began = np.exp(-c), self.z, time.perf_counter()
        while True:
            for _ in range(CHECKED):
                new = g * (self.P @ z)
                before, z = z, new / new.max()
                self.steps += 1
            ratios = new / before
            if np.log(ratios.max() / ratios.min()) <= tol / 2:
                return z
            if time.perf_counter() - began > self.limit:
                self.note = "given up"
                return z


@dataclass
class NumpyEig(Peer):
    """``numpy.linalg.eig`` of the full matrix."""

    def solve(self, c: Array, tol: float) -> Array | None:  # noqa: ARG002 - it has no tolerance
        """All eigenvectors; the first of them is kept."""
        values, vectors = np.linalg.eig(np.exp(-c)[:, np.newaxis] * self.P.toarray())
        z = vectors[:, int(values.real.argmax())].real
        return np.asarray(z / z[np.abs(z).argmax()])


PEERS: dict[str, type[Peer]] = {"eigs": Eigs, "power": PowerSteps, "numpy eig": NumpyEig}
