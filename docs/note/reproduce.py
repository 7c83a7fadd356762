"""Every number of the note, from its definition: ``python reproduce.py`` prints them by name. numpy, and no lsmdp."""

import json

import numpy as np


def game(P, costs, p=1.0, fixed=None):
    """What the leader or a fixed policy pays by each round, and p_t(0); leaders: lambda, v(0) - v(1), Q, mu(0)."""
    mean = np.vstack([0 * costs[:1], np.cumsum(costs, axis=0) / np.arange(1, len(costs) + 1)[:, None]])
    A = np.exp(-mean)[:, :, None] * P  # e^{-lambda} z = A z, for two states a quadratic equation
    half = (A[:, 0, 0] - A[:, 1, 1]) / 2
    top = A[:, 0, 0] - half + np.sqrt(half**2 + A[:, 0, 1] * A[:, 1, 0])
    z = np.stack([A[:, 0, 1], top - A[:, 0, 0]], axis=1)
    Q = P * z[:, None] / (z @ P.T)[:, :, None]
    played, law = Q[:-1] if fixed is None else np.tile(fixed, (len(costs), 1, 1)), [p]
    for stay, back in played[:, :, 0].tolist():
        law.append(law[-1] * stay + (1 - law[-1]) * back)
    paid, x = costs + (played * np.log(np.maximum(played, 1e-99) / P)).sum(axis=2), np.array(law)
    loss = np.cumsum(x[:-1] * paid[:, 0] + (1 - x[:-1]) * paid[:, 1])
    return loss, x, -np.log(top), np.log(z[:, 1] / z[:, 0]), Q, Q[:, 1, 0] / (Q[:, 1, 0] + Q[:, 0, 1])


two, tau, N = lambda a, b: np.array([[1 - a, a], [b, 1 - b]]), lambda a: 1 / np.log(1 / a), 300_000
T, P, k, B, t, x = 5_000, two(0.7, 0.7), tau(0.4), -np.log(0.3), np.arange(1, N + 1), (np.arange(N) + 0.5) / N
out, at, lg, costs = {}, np.geomspace(10, 1e5, 99).astype(int), 1 + np.log(t), np.tile([[0, 1], [1, 0]], (N // 2, 1))
loss, _, rate, *_ = game(P, costs)  # the swap game, with policies that stay with chance s; P is one, and leads at T
for name, s in {"leader": 0.3, "1e-3": 1e-3, "1e-4": 1e-4, "1e-6": 1e-6, "swap": 0.0}.items():
    paid, law, *_ = game(P, costs, fixed=two(1 - s, 1 - s))
    out |= {name: [paid[T - 1], (loss - paid)[T - 1], sum(abs(law[:T] - 0.5))], f"curve {name}": (loss - paid)[at - 1]}
out |= {"ftl": loss[T - 1], "uniform": game(P, costs[:T], 0.5)[0][-1] - game(P, costs[:T], 0.5, two(1, 1))[0][-1]}
full = 2 * (k + 1) ** 3 * lg**2 + 2 * (k * k + k + 2) * (2 + lg) + (2 * k + 2) * (B + 2)
for name, left, right in (("lemma", t * rate[1:], (2 * k + 2) * (B + 1) + 0 * lg), ("eq:fullbound", loss, full)):
    first = np.argmax(left - paid > right)
    out |= {name: [t[first], (left - paid)[first], right[first]], f"curve {name}": right[at - 1]}
for g in (0.2, 0.1, 0.05, 0.025):  # sticky chains, L = 1/g, with costs that turn five times slower than they mix
    loss, _, rate, *_ = game(two(g / 2, g / 2), 0.5 + np.cos(0.2 * g * t)[:, None] * [0.5, -0.5])
    w, more = 0.2 * g, g**2 * (loss - t * rate[1:])
    kappa = (1 - g / 2) / 8 * (np.sin(1.5 * w) / np.sin(w / 2) - 1 + g) / abs(np.exp(1j * w) / g - 1 / g + 1) ** 2
    bounds = np.array([more[-1], (2 + 3 * g) * lg[-1] + 2 * g, (1 / g + 0.5 + 2 * g) * lg[-1] + 2 * g]) / g**2
    out |= {g: [(more[-1] - more[N // 10 - 1]) / np.log(10), kappa, *bounds], f"curve {g}": more[at - 1]}
q, cost, T = lambda s: 1 / (1 + np.exp(s)), lambda q, s: q * np.log(2 * q) + (1 - q) * np.log(2 - 2 * q) + q * s, 1_000
below, b, total = np.e / 12 / (1 + np.e) ** 2, np.arange(T + 1) / T, np.zeros(2)  # the coin whose costs are (Y_t, 0)
for s in map(np.arange, t[:T]):  # s ones were seen: the mean of theta is h, and the last policy meets no cost
    h = (s + 1) / (s.size + 1) * (s.size < T)
    total += [np.mean(cost(q(h), h)), np.mean(cost(q(s / max(s.size - 1, 1)), h))]  # Bayes, and follow the leader
total -= np.mean(T * cost(q(b), b) - b * q(b))
most, first, sharp = np.mean(cost(q(x), x)), np.mean(x * q(x)), np.mean(q(x) * q(-x) * x * (1 - x)) / 2
floor = [below * H - most + first / (1 + 1 / n) for H, n in ((np.euler_gamma, 10), (sum(1 / t[:T]), T))]
out["coin"] = [below, *floor, *total, sharp]
out["sigma"] = [s * (1 - s) * (0.25 / s**2 + np.log(s / (1 - s)) ** 2) for s in (0.1, 0.01, 0.001)]
_, p, rate, v, Q, mu = game(two(0.1, 0.5), np.repeat(np.eye(2), [7, 3], axis=0))  # ten rounds, alpha = 1/2
k, move, a = tau(0.5), abs(np.diff(Q, axis=0)).sum(axis=2).max(axis=1), abs(Q[:, 0, 0] - Q[:, 1, 0])
out |= {"lem:c_to_v": [v[8] - v[9], 2 * k * 7 / 72], "lem:change": [move[7], k / 8], "eps": [move[8], k / 10]}
out |= {"lem:vbound": v[7], "eq:lpidiff": [mu[0] - rate[1], mu[0] - 2 * mu[1] - rate[1]], "tau": k}
out["lem:price"] = [2 * abs(mu[9] - mu[8]), max(tau(a[8:10])) * move[8]]
out["eq:mu_to_p"] = [2 * abs(p[10] - mu[10]), 2 * 0.5**10 + k * (k + 1) * sum(0.5 ** (11 - t[:10]) / t[:10])]
v, k = game(two(1e-4, 0.5), np.array([[0.75, 0.05], [0.752, 0.048]]))[3], tau(1 - 0.5001 * np.exp(-3))
out |= {"reading": [v[2] - v[1], 0.002 * k], "sum": sum(lg / t) - lg[-1] ** 2 / 2}
print("{" + ",\n".join(f'"{name}": {json.dumps(np.round(one, 9).tolist())}' for name, one in out.items()) + "}")
