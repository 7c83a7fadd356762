"""How a regret grows: three curves, fitted to the medians over the seeds.

    log     R_t = a log t          log2    R_t = b log(t)^2          power    R_t = c t^p

Errors of a regret are in proportion to it, so the curves are fitted by least squares to log R_t, at the marked rounds
of the second half of the decades, sqrt(T) <= t <= T; what comes before is how the game begins, not how it grows. For
log and log2 the constant is the geometric mean of R_t / g(t); for power both come from a straight line. A power near
0 says that the regret is bounded, and one near 1 that it is linear.

**Which fits best** is decided by the Bayesian information criterion, m log(RSS / m) + k log m over the m rounds, with
k = 1 or, for power, 2 parameters. **How sure that is**: the seeds are drawn again with replacement, and medians, fits
and decision are made anew. ``support`` is how often each curve won, ``band`` the middle 95% of each parameter. A
verdict is given if one curve wins in 95% of the draws; otherwise it says "undecided". ``error`` is how far the fit is
typically off, exp(rms) - 1: the best of three curves may still be a poor one. A loss a round is bounded, so no
power above 1 can last: the game is too short for what it shows. A median that is not positive has no logarithm: such a
learner beats the leader, or has no regret at all, and there is no growth to fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lsmdp.arrays import Floats
from lsmdp.regret.summary import LEADER_GAP

DRAWS = 1000
SURE = 0.95
LEAST_ROUNDS = 3  # fewer than that, and a line through the points says nothing
CURVES = ("log", "log2", "power")
PARAMETERS = np.array([1, 1, 2])
SHOWN = {"log": "log T", "log2": "log² T", "power": "T^p"}
EXACT = np.finfo(np.float64).eps ** 2  # a residual below rounding is no better than one at it


def growth(t: npt.ArrayLike, regret: npt.ArrayLike) -> dict[str, Any]:
    """The growth of a regret, given as seeds x rounds (nan: not known) at the rounds ``t``."""
    rounds, values = np.asarray(t, dtype=np.float64), np.asarray(regret, dtype=np.float64)
    late = (rounds >= np.sqrt(rounds[-1])) & (rounds > 1.0) & ~np.isnan(values).any(axis=0)
    rounds, values = rounds[late], values[:, late]
    if rounds.size < LEAST_ROUNDS:
        return {"verdict": "too few rounds to tell", "best": None}
    median = np.median(values, axis=0)
    about = {"from": int(rounds[0]), "to": int(rounds[-1]), "seeds": len(values)}
    zero = LEADER_GAP * rounds  # leaders are found to within this much a round: less is no regret
    if (median <= zero).any():
        return about | {"verdict": _not_positive(median[-1], zero[-1]), "best": None}
    seeds = len(values)
    draws = np.random.default_rng(0).integers(seeds, size=(DRAWS, seeds))
    found, errors = _fits(rounds, median[None])
    best = CURVES[int(_winners(errors, rounds.size)[0])]
    if seeds == 1:
        again, support = found[:0], None
    else:
        medians = np.median(values[draws], axis=1)
        medians = medians[(medians > zero).all(axis=1)]
        again, errors_again = _fits(rounds, medians)
        wins = np.bincount(_winners(errors_again, rounds.size), minlength=len(CURVES)) / DRAWS
        support = dict(zip(CURVES, wins.tolist(), strict=True))  # what is missing to 1 was not positive
    names = (("a", 0), ("b", 1), ("c", 2), ("p", 3))
    parameters = {name: {"value": float(found[0, k]), "band": _band(again[:, k])} for name, k in names}
    rms = dict(zip(CURVES, np.expm1(np.sqrt(errors[0] / rounds.size)).tolist(), strict=True))
    return about | {
        "best": best,
        "verdict": _verdict(best, parameters["p"], support),
        "support": support,
        "error": rms,
        **parameters,
    }


def _fits(t: Floats, medians: Floats) -> tuple[Floats, Floats]:
    """a, b, c and p for each row of medians, and the residual sums of squares of the three curves."""
    logs, x = np.log(medians), np.log(t)
    log_x = np.log(x)
    log_a, log_b = (logs - log_x).mean(axis=1), (logs - 2.0 * log_x).mean(axis=1)
    centred = x - x.mean()
    p = logs @ centred / (centred @ centred)
    log_c = logs.mean(axis=1) - p * x.mean()
    fitted = np.stack([log_a[:, None] + log_x, log_b[:, None] + 2.0 * log_x, log_c[:, None] + p[:, None] * x])
    errors = ((logs - fitted) ** 2).sum(axis=2).T
    return np.stack([np.exp(log_a), np.exp(log_b), np.exp(log_c), p], axis=1), errors


def _winners(errors: Floats, m: int) -> npt.NDArray[np.int64]:
    """The curve with the least criterion, for each row."""
    criterion = m * np.log(np.maximum(errors / m, EXACT)) + PARAMETERS * np.log(m)
    return np.asarray(criterion.argmin(axis=1))


def _band(values: Floats) -> list[float] | None:
    """The middle 95%, where there is something to tell it from."""
    return None if values.size < DRAWS / 2 else np.quantile(values, [(1 - SURE) / 2, (1 + SURE) / 2]).tolist()


def _verdict(best: str, p: dict[str, Any], support: dict[str, float] | None) -> str:
    name = _power(p) if best == "power" else SHOWN[best]
    if support is None:
        return f"{name} (one seed)"
    if support[best] >= SURE:
        return name
    ranked = sorted(support.items(), key=lambda item: -item[1])
    return "undecided: " + ", ".join(f"{SHOWN[curve]} {share:.0%}" for curve, share in ranked if share >= 1 - SURE)


def _power(p: dict[str, Any]) -> str:
    low = p["band"][0] if p["band"] else p["value"]
    if low > 1.0:
        return f"T^{p['value']:.2f} (cannot last: play longer)"
    return f"bounded (T^{p['value']:.2f})" if low <= 0.0 else f"T^{p['value']:.2f}"


def _not_positive(last: float, zero: float) -> str:
    return "beats the leader" if last < -zero else "no growth"
