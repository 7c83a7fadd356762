"""Why no learner does better than log T, on any P that leaves a choice (new:lower_choice).

Let x_0 have two successors y_1, y_2, and let h = 1 in y_1 and 0 elsewhere, g = (I - P) h, G = span(g). The costs are
c_t = 1/2 + Y_t e g, where Y_t are Bernoulli(theta) and theta is uniform on [0, 1]; Q_theta is the optimum for the mean
1/2 + theta e g, v_theta its value function.

*How small e must be.* v_{sg} has the derivative Z_s g, which is h at s = 0. Let L_0 = Lambda(P). By new:L2/6
Lambda_s <= L_0 / sqrt(1 - u), u = L_0^2 G s, and Z_s g moves by at most Lambda_s^3 G^2 / 2 per unit of s, so

    |(Z_s g - h)(y_1) - (Z_s g - h)(y_2)| <= L_0 G (1/sqrt(1 - u) - 1) <= 1/2   if   1/sqrt(1 - u) <= 1 + 1/(2 L_0 G).

With that e, and e max|g| <= 1/2, the log odds of y_1 against y_2 move by at least e/2 per unit of theta, and
S = (2/L_0) (1 - sqrt(1 - L_0^2 G e)) bounds the span of all v_theta.

*What every learner pays.* In k rounds from any state the learner meets x_0 with a chance of at least
delta = e^{-(k-1)S} delta_0 under Q_theta, delta_0 the chance under P. Its k moves have a law R that does not depend on
theta given the data D. The least that it can lose, in the mean over the posterior of theta, is exactly

    min_R int KL(R || R_theta) = -log sum over paths exp int log R_theta = -log (W^k 1)(x),   W = exp int log Q_theta,

and that is at least kappa E(theta - theta')^2 with kappa = delta p_0 e^{-S} e^2 / 128, p_0 the smaller of
P(y_1|x_0) and P(y_2|x_0) (docs/theory.md). After m costs E(theta - theta')^2 = 1/(3 (m + 2)). Over the windows of k
rounds, the i-th of which has seen m = i k - 1 costs, this adds up to

    sum_i min_R int KL(R || R_theta) >= c_P log(T/k),   c_P = kappa / (3 (k + 1)),

and every regret against Q_theta, and R', is at least that minus C_P = S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lsmdp.arrays import EPS, Floats
from lsmdp.chain import stationary
from lsmdp.errors import AssumptionError
from lsmdp.model import LMDP
from lsmdp.solvers import solve
from lsmdp.theory.certificate import Certificate, Reading, at_most
from lsmdp.theory.dense import response_of
from lsmdp.theory.rivals import log_entries
from lsmdp.theory.statement import statement
from lsmdp.theory.trace import GAP_OF_A_TRACED_LEADER

# With this many nodes, Gauss-Legendre is exact for polynomials of degree 127, so for the posteriors of about 100 costs.
_QUADRATURE_NODES = 64
# The choice of kappa has this factor beside delta p_0 e^-S e^2, as its derivation above has.
FACTOR_OF_KAPPA = 1.0 / 128.0


@dataclass(frozen=True)
class Choice:
    """The constants of the lower bound for one P: regret >= slope log(T/k) - offset for every learner."""

    state: int
    moves: tuple[int, int]
    k: int
    epsilon: float
    direction: Floats  # g
    kappa: float
    S: float
    sensitivity: float

    @property
    def slope(self) -> float:
        """c_P."""
        return self.kappa / (3.0 * (self.k + 1.0))

    @property
    def offset(self) -> float:
        """C_P."""
        return self.S


def choice_of(lmdp: LMDP) -> Choice:
    """The constants for the state whose second likeliest move is the likeliest, and the best window that was tried."""
    lmdp.require_irreducible()
    P = lmdp.P.toarray()
    likeliest = np.argsort(-P, axis=1)
    second = P[np.arange(lmdp.n), likeliest[:, 1]] if lmdp.n > 1 else np.zeros(1)
    x0 = int(second.argmax())
    p0 = float(second[x0])
    if p0 == 0.0:
        raise AssumptionError("no state of P has two successors: there is only one policy, and every regret is 0.")
    y1, y2 = (int(y) for y in likeliest[x0, :2])
    g = np.eye(lmdp.n)[y1] - P[:, y1]
    G = float(np.ptp(g))
    found = response_of(lmdp.P, stationary(lmdp.P))
    if found is None:
        raise AssumptionError("the hitting times of P are beyond float64, and the constants with them.")
    L0 = found.sensitivity
    most = (1.0 - (1.0 + 0.5 / (L0 * G)) ** -2) / (L0 * L0 * G)
    epsilon = min(most, 0.5 / float(np.abs(g).max()))
    S = 2.0 / L0 * (1.0 - math.sqrt(1.0 - L0 * L0 * G * epsilon))
    met = np.eye(lmdp.n)[x0]  # the chance to meet x_0 within so many steps
    best = (0.0, 1, 0.0)
    for k in range(1, lmdp.n + 1):
        kappa = math.exp(-(k - 1) * S) * float(met.min()) * p0 * math.exp(-S) * epsilon**2 * FACTOR_OF_KAPPA
        best = max(best, (kappa / (k + 1.0), k, kappa))
        met = np.maximum(P @ met, np.eye(lmdp.n)[x0])
    return Choice(x0, (y1, y2), best[1], epsilon, g, best[2], S, L0)


@statement(
    "new:lower_choice",
    "",
    "new",
    "P irreducible with a choice: every learner has E R_T >= c_P log(T/k) - C_P, for some random costs in [0, 1]",
    standalone=True,
)
def lower_choice(lmdp: LMDP, windows: int = 20, *, reading: Reading) -> Certificate:
    """After each window of k rounds: c_P log(T/k), and the least that any learner loses to Q_theta on average."""
    unit = LMDP(lmdp.P)
    found = choice_of(unit)
    nodes, weights = np.polynomial.legendre.leggauss(_QUADRATURE_NODES)
    theta = (nodes + 1.0) / 2.0
    logs = np.array([_log_policy(unit, found, float(one)) for one in theta])
    least = [_window(unit, found.k, i * found.k - 1, theta, weights, logs) for i in range(1, windows + 1)]
    rounds = found.k * np.arange(1, windows + 1)
    left, right = found.slope * np.log(rounds / found.k), np.cumsum(least)
    # log W is off by rounding and by what the gaps do to v; a window has k moves
    off = 8.0 * EPS * (unit.n + found.k * (1.0 + found.S)) + 4.0 * found.k * found.sensitivity * GAP_OF_A_TRACED_LEADER
    tolerance = off * np.arange(1, windows + 1)
    return at_most("new:lower_choice", reading, left, right, tolerance=tolerance, rounds=rounds)


def _window(lmdp: LMDP, k: int, m: int, theta: Floats, weights: Floats, logs: Floats) -> float:
    """The mean over the data of the least int KL(R || R_theta), from the best state to be in, after m costs."""
    rows, columns = lmdp.entry_rows, lmdp.P.indices
    total = 0.0
    for s in range(m + 1):
        posterior = weights * np.exp(s * np.log(theta) + (m - s) * np.log1p(-theta))
        W = np.zeros((lmdp.n, lmdp.n))
        W[rows, columns] = np.exp((posterior / posterior.sum()) @ logs)
        paths = np.linalg.matrix_power(W, k).sum(axis=1)
        total += -math.log(float(paths.max()))
    return total / (m + 1)


def _log_policy(lmdp: LMDP, found: Choice, theta: float) -> Floats:
    """log Q_theta at the places of P's entries."""
    return log_entries(
        lmdp.P, solve(lmdp, theta * found.epsilon * found.direction, tol=GAP_OF_A_TRACED_LEADER, throw=False).v
    )
