"""How a regret grows: three curves, fitted to the medians over the seeds.

    log     R_t = k + a log t          log2    R_t = k + b log(t)^2          power    R_t = k + c t^p

The constant k is how the game began, and no part of the growth: without it, k + a log t would pass for a small power
of t. The curves are fitted at the marked rounds of the second half of the decades, sqrt(T) <= t <= T, by least
squares of the relative errors (R_t - fit) / R_t, because the spread of a regret is in proportion to it. For power, p
runs over the hundredths between -1 and 3/2 but 0, where (t^p - 1) / p is log t. A negative p says that the regret is
bounded, p = 1 that it is linear. A loss a round is bounded, so a power above 1 cannot last: the game is too short for
what it shows.

**Which fits best** is decided by the Bayesian information criterion, m log(RSS / m) + q log m over the m rounds, with
q = 2 parameters or, for power, 3. **How sure that is**: the seeds are drawn again with replacement, and medians, fits
and decision are made anew. ``support`` is how often each curve won, ``band`` the middle 95% of each parameter.
``error`` is how far a curve is typically off, the root of the mean of its squared relative errors: the best of three
may still be a poor one.

**The verdict.** Where the band of a is not above 0, no growth is seen. As log t is the power 0, a band of p that
holds 0 cannot tell log from a small power: it is "log T" if the band is below the generic power 1/2 and log2 won in
less than 5% of the draws. A band below 0 is "bounded". Above 0, the curve that won in 95% of the draws is named.
Anything else is "undecided", and the band of p says what is left.

A median that is not positive leaves nothing to be relative to: such a learner beats the leader at the end, has no
regret at all ("no growth"), or changes sign on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats
from lsmdp.regret.summary import LEADER_GAP

# The seeds are drawn again this many times (a bootstrap), so that a share of them is known to about a hundredth.
_DRAWS = 1000
_CONFIDENCE = 0.95  # What is said of a growth holds in this share of the draws.
POWER_OF_ANY_ADVERSARY = 0.5  # Online learning has regret of this power of T against any adversary.
_LEAST_ROUNDS = 5  # Curves are fitted from this many marks on, two more than they have parameters.
# The power of T is one of these, all hundredths from -1 to 1.5 but 0, which is the logarithm.
_POWERS_TRIED = np.array([k / 100 for k in range(-100, 151) if k])
TOO_FEW_ROUNDS = "too few rounds"
_CURVES = ("log", "log2", "power")  # These curves are compared: a + b log T, a + b log² T, and a + b T^p.
_PARAMETERS = np.array([2, 2, 3])  # The curves have this many parameters each.
_CURVE_NAMES = {"log": "log T", "log2": "log² T", "power": "T^p"}  # The curves are called like this in tables.
_LEAST_RESIDUAL = (
    np.finfo(np.float64).eps ** 2
)  # A squared residual below that of rounding is no better than one at it.


def growth(t: npt.ArrayLike, regret: npt.ArrayLike) -> dict[str, Any]:
    """The growth of a regret, given as seeds x rounds (nan: not known) at the rounds ``t``."""
    rounds, values = np.asarray(t, dtype=np.float64), np.asarray(regret, dtype=np.float64)
    late = (rounds >= np.sqrt(rounds[-1])) & ~np.isnan(values).any(axis=0)
    rounds, values = rounds[late], values[:, late]
    if rounds.size < _LEAST_ROUNDS:
        return {"verdict": TOO_FEW_ROUNDS, "best": None}
    median = np.median(values, axis=0)
    about = {"from": int(rounds[0]), "to": int(rounds[-1]), "seeds": len(values)}
    zero = LEADER_GAP * rounds  # leaders are found to within this much a round: less is no regret
    if (median <= zero).any():
        return about | {"verdict": _not_positive(median[-1], zero[-1]), "best": None}
    found, errors = _fits(rounds, median[None])
    best = _CURVES[int(_winners(errors, rounds.size)[0])]
    again, support = _again(rounds, values, zero)
    names = ("a", "b", "c", "p", "k")
    parameters = {name: {"value": float(found[0, k]), "band": _band(again[:, k])} for k, name in enumerate(names)}
    best, verdict = _verdict(best, parameters, support)
    return about | {
        "best": best,
        "verdict": verdict,
        "support": support,
        "error": dict(zip(_CURVES, np.sqrt(errors[0] / rounds.size).tolist(), strict=True)),
        **parameters,
    }


def _again(t: Floats, values: Floats, zero: Floats) -> tuple[Floats, dict[str, float] | None]:
    """The parameters for each draw of the seeds, and how often each curve won; some draws are not positive."""
    seeds = len(values)
    if seeds == 1:
        return np.empty((0, 5)), None
    draws = np.random.default_rng(0).integers(seeds, size=(_DRAWS, seeds))
    medians = np.median(values[draws], axis=1)
    found, errors = _fits(t, medians[(medians > zero).all(axis=1)])
    wins = np.bincount(_winners(errors, t.size), minlength=len(_CURVES)) / _DRAWS
    return found, dict(zip(_CURVES, wins.tolist(), strict=True))


def _fits(t: Floats, medians: Floats) -> tuple[Floats, Floats]:
    """a, b, c, p and the k of log for each row of medians, and the mean squares that the three curves leave."""
    log_t = np.log(t)
    k, a, log_error = _line(log_t, medians)
    _, b, log2_error = _line(log_t**2, medians)
    lines = [_line(t**p / p, medians) for p in _POWERS_TRIED]
    errors = np.stack([error for _, _, error in lines])
    best = errors.argmin(axis=0)
    each = np.arange(len(medians))
    c = np.stack([slope / p for (_, slope, _), p in zip(lines, _POWERS_TRIED, strict=True)])[best, each]
    return np.stack([a, b, c, _POWERS_TRIED[best], k], axis=1), np.stack(
        [log_error, log2_error, errors[best, each]], axis=1
    )


def _line(x: Floats, medians: Floats) -> tuple[Floats, Floats, Floats]:
    """The k and the slope of R = k + slope x with the least relative errors, for each row, and their sum of squares."""
    weights = medians**-2.0
    weights = weights / weights.sum(axis=1, keepdims=True)
    x_mean, y_mean = weights @ x, (weights * medians).sum(axis=1)
    dx, dy = x - x_mean[:, None], medians - y_mean[:, None]
    slope = (weights * dx * dy).sum(axis=1) / (weights * dx**2).sum(axis=1)
    left = ((dy - slope[:, None] * dx) / medians) ** 2
    return y_mean - slope * x_mean, slope, left.sum(axis=1)


def _winners(errors: Floats, m: int) -> npt.NDArray[np.int64]:
    """The curve with the least criterion, for each row."""
    criterion = m * np.log(np.maximum(errors / m, _LEAST_RESIDUAL)) + _PARAMETERS * np.log(m)
    return np.asarray(criterion.argmin(axis=1))


def _band(values: Floats) -> list[float] | None:
    """The middle 95%, where most draws have something to tell it from."""
    return (
        None
        if values.size < _DRAWS / 2
        else np.quantile(values, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2]).tolist()
    )


def _verdict(best: str, parameters: dict[str, Any], support: dict[str, float] | None) -> tuple[str, str]:
    """The curve that is to be believed, and what to say of it."""
    a_band, p, p_band = parameters["a"]["band"], parameters["p"]["value"], parameters["p"]["band"]
    if support is None or a_band is None:
        few = "one seed" if support is None else "not positive in most draws"
        return best, f"{_CURVE_NAMES[best] if best != 'power' else f'T^{p:.2f}'} ({few})"
    low, high = p_band
    if a_band[0] <= 0.0:
        return best, "bounded (no growth is seen)"
    if high < 0.0:
        return best, f"bounded (T^{p:.2f})"
    if low <= 0.0 and high < POWER_OF_ANY_ADVERSARY and support["log2"] < 1 - _CONFIDENCE:
        return "log", _CURVE_NAMES["log"]
    if low > 0.0 and support[best] >= _CONFIDENCE:
        last = " (cannot last: play longer)" if low > 1.0 else ""
        return best, f"T^{p:.2f}{last}" if best == "power" else _CURVE_NAMES[best]
    ranked = sorted(support.items(), key=lambda item: -item[1])
    shares = ", ".join(f"{_CURVE_NAMES[curve]} {share:.0%}" for curve, share in ranked if share >= 1 - _CONFIDENCE)
    return best, f"undecided: {shares}"


def _not_positive(last: float, zero: float) -> str:
    if last > zero:
        return "changes sign"
    return "beats the leader" if last < -zero else "no growth"
