"""The ends in 60 digits, by definitions that share nothing with the package: linear algebra over mpmath.

P is taken as it is stored, its rows divided by their exact sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
import numpy as np

DIGITS = 60
mp = mpmath.mpf
Row = list[mpmath.mpf]


def exact(P: np.ndarray) -> list[Row]:
    rows = [[mp(float(entry)) for entry in row] for row in P]
    return [[entry / mpmath.fsum(row) for entry in row] for row in rows]


def soft_minimum(row: Row, v: Sequence[mpmath.mpf], T: mpmath.mpf) -> mpmath.mpf:
    return -T * mpmath.log(mpmath.fsum(p * mpmath.exp(-value / T) for p, value in zip(row, v, strict=True) if p))


def policy(row: Row, v: Sequence[mpmath.mpf], T: mpmath.mpf) -> Row:
    """Q_v(.|x); what leads to an infinite v has no chance."""
    weights = [
        p * mpmath.exp(-value / T) if p and value != mpmath.inf else mp(0) for p, value in zip(row, v, strict=True)
    ]
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def control(Q: Row, row: Row) -> mpmath.mpf:
    return mpmath.fsum(q * mpmath.log(q / p) for q, p in zip(Q, row, strict=True) if q)


def solved(A: list[Row], b: Row) -> Row:
    return list(mpmath.lu_solve(mpmath.matrix(A), mpmath.matrix(b)))


def goal(
    P: np.ndarray, c: np.ndarray, T: float, inside: list[int], terminal: dict[int, float]
) -> dict[int, mpmath.mpf]:
    """V on the states inside, from the linear equation for z = e^{-V/T}."""
    rows, heat = exact(P), mp(T)
    z = {a: mpmath.exp(-mp(g) / heat) if np.isfinite(g) else mp(0) for a, g in terminal.items()}
    k = {x: mpmath.exp(-mp(float(c[x])) / heat) for x in inside}
    A = [[(x == y) - k[x] * rows[x][y] for y in inside] for x in inside]
    found = solved(A, [k[x] * mpmath.fsum(rows[x][a] * z[a] for a in z) for x in inside])
    return {x: -heat * mpmath.log(value) for x, value in zip(inside, found, strict=True)}


def goal_policy(
    P: np.ndarray, c: np.ndarray, T: float, inside: list[int], terminal: dict[int, float], v: np.ndarray
) -> dict[int, mpmath.mpf]:
    """What Q_v costs until the exit."""
    rows, heat, values = exact(P), mp(T), [mp(float(value)) for value in v]
    Q = {x: policy(rows[x], values, heat) for x in inside}
    paid = [
        mp(float(c[x]))
        + heat * control(Q[x], rows[x])
        + mpmath.fsum(Q[x][a] * mp(g) for a, g in terminal.items() if Q[x][a])
        for x in inside
    ]
    return dict(zip(inside, solved([[(x == y) - Q[x][y] for y in inside] for x in inside], paid), strict=True))


def discounted(P: np.ndarray, c: np.ndarray, T: float, a: float, v: np.ndarray) -> Row:
    """V by Newton's method from v, to 40 digits."""
    rows, heat, alpha, n = exact(P), mp(T), mp(a), len(c)
    values = [mp(float(value)) for value in v]
    for _ in range(400):
        later = [alpha * value for value in values]
        r = [mp(float(c[x])) + soft_minimum(rows[x], later, heat) - values[x] for x in range(n)]
        if max(map(abs, r)) < mp(10) ** -40:
            return values
        Q = [policy(row, later, heat) for row in rows]
        d = solved([[(x == y) - alpha * Q[x][y] for y in range(n)] for x in range(n)], r)
        values = [value + step for value, step in zip(values, d, strict=True)]
    raise ArithmeticError("Newton's method did not converge")


def discounted_policy(P: np.ndarray, c: np.ndarray, T: float, a: float, u: np.ndarray) -> Row:
    """What the policy Q_u costs, where u is the discounted value as floats hold it."""
    rows, heat, alpha, n = exact(P), mp(T), mp(a), len(c)
    Q = [policy(row, [mp(float(value)) for value in u], heat) for row in rows]
    paid = [mp(float(c[x])) + heat * control(Q[x], rows[x]) for x in range(n)]
    return solved([[(x == y) - alpha * Q[x][y] for y in range(n)] for x in range(n)], paid)


def plan(P: np.ndarray, costs: np.ndarray, T: float, terminal: np.ndarray) -> list[Row]:
    """V_1, ..., V_H, V_{H+1}."""
    rows, heat = exact(P), mp(T)
    values = [[mp(float(value)) for value in terminal]]
    for c in costs[::-1]:
        values.insert(0, [mp(float(c[x])) + soft_minimum(rows[x], values[0], heat) for x in range(len(c))])
    return values


def average(P: np.ndarray, costs: np.ndarray, T: float) -> mpmath.mpf:
    """The optimal average per round of costs that come again and again: a Perron root, by power steps on squares."""
    rows, heat, n = exact(P), mp(T), len(P)
    M = mpmath.eye(n)
    for c in costs:
        M = M * mpmath.matrix([[mpmath.exp(-mp(float(c[x])) / heat) * rows[x][y] for y in range(n)] for x in range(n)])
    logs, share = mp(0), mp(1)  # log of the factors taken out so far, per application of M
    for _ in range(120):  # what is left of the start is 2^-120 of a logarithm
        largest = max(abs(M[i, j]) for i in range(n) for j in range(n))
        M, logs = M / largest, logs + share * mpmath.log(largest)
        M, share = M * M, share / 2
    return -heat * logs / len(costs)


def stationary(Q: list[Row]) -> Row:
    """The stationary law by state reduction, which never subtracts: moves of 1e-800 count."""
    A, n = [list(row) for row in Q], len(Q)
    for k in range(n - 1, 0, -1):
        away = mpmath.fsum(A[k][:k])
        for i in range(k):
            A[i][k] /= away
            for j in range(k):
                A[i][j] += A[i][k] * A[k][j]
    mu = [mp(1)]
    for k in range(1, n):
        mu.append(mpmath.fsum(mu[i] * A[i][k] for i in range(k)))
    return [mass / mpmath.fsum(mu) for mass in mu]


def average_policy(P: np.ndarray, c: np.ndarray, T: float, v: np.ndarray) -> mpmath.mpf:
    """The average cost of Q_v."""
    rows, heat, n = exact(P), mp(T), len(P)
    Q = [policy(row, [mp(float(value)) for value in v], heat) for row in rows]
    mu = stationary(Q)
    return mpmath.fsum(mu[x] * (mp(float(c[x])) + heat * control(Q[x], rows[x])) for x in range(n))
