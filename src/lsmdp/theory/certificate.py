"""A statement about a game, as numbers that can be checked.

A statement is ``left <= right`` or ``left = right``, once or in every round. A *reading* says whose statement it is:

- ``printed``: as the paper has it. Where that is false, the certificate says so, and no harm is done;
- ``corrected``: what holds instead, or the same statement where the paper is right;
- ``new``: what the paper does not have.

A corrected or new statement that fails is a bug or a discovery. A hypothesis (``ass:irred``) may fail without being
either: then what rests on it says nothing about this model.

``tolerance`` is what the arithmetic may have added: the certified gaps of the solves, as far as they enter, and a
bound on rounding. It is derived where the certificate is made, and a nan on either side never holds.

To hold is not much where everything would. Each statement declares its ``trivial`` bound, what is known of the left
side without it: two laws are never more than 2 apart, a regret never exceeds T (B + C). An entry *says something* if
the right side and the tolerance together are below that (for an identity: if the tolerance is). A statement that says
something nowhere is ``vacuous``: it holds, and says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lsmdp.arrays import Floats, Ints

Reading = Literal["printed", "corrected", "new"]
Kind = Literal["assumption", "bound", "identity"]


@dataclass(frozen=True, eq=False)
class Certificate:
    """One statement in one reading: both sides, the slack, whether it holds, and where it is tightest.

    ``left``, ``right`` and ``slack`` have one entry per round for a statement about every round, else one in all.
    The slack of a bound is ``right - left``; of an identity it is ``-|left - right|``. ``holds`` is None where the
    statement was not looked at, and ``where`` then says why.
    """

    label: str
    reading: Reading
    left: Floats
    right: Floats
    slack: Floats
    holds: bool | None
    where: str
    kind: Kind = "bound"
    tolerance: float = 0.0
    about: str = ""  # whose game it is, where that matters
    tightest: int = 0  # the entry that is nearest to failing, of those that say something if it holds
    trivial: float = np.inf  # what is known of the left side in any case, there
    says: int = 0  # in how many entries the statement says more than that

    @property
    def failed(self) -> bool:
        """Whether this is a bug or a discovery."""
        return self.holds is False and self.reading != "printed" and self.kind != "assumption"

    @property
    def vacuous(self) -> bool:
        """Whether it holds and says nothing: in no entry does it exclude what was possible anyway."""
        return bool(self.holds) and self.kind != "assumption" and not self.says

    @property
    def figures(self) -> tuple[float, float]:
        """Both sides where it is tightest."""
        if not self.left.size:
            return float("nan"), float("nan")
        return float(self.left[self.tightest]), float(self.right[self.tightest])

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON: those of the tightest round."""
        left, right = self.figures
        return {
            "label": self.label,
            "reading": self.reading,
            "kind": self.kind,
            "about": self.about,
            "left": _number(left),
            "right": _number(right),
            "slack": _number(float(self.slack[self.tightest])) if self.slack.size else None,
            "tolerance": _number(self.tolerance),
            "trivial": _number(self.trivial),
            "rounds": int(self.left.size),
            "holds": self.holds,
            "vacuous": self.vacuous,
            "says_something_in": self.says,
            "where": self.where,
        }

    def __str__(self) -> str:
        left, right = self.figures
        sign = "=" if self.kind == "identity" else "<="
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "not looked at"}[self.holds]
        verdict += " and says nothing" * self.vacuous
        place = f" ({self.where})" if self.where else ""
        return f"{self.label}, {self.reading}: {left:.6g} {sign} {right:.6g}: {verdict}{place}"


def at_most(
    label: str,
    reading: Reading,
    left: Any,
    right: Any,
    *,
    tolerance: Any = 0.0,
    trivial: Any = np.inf,
    rounds: Ints | None = None,
    places: Any = None,
    about: str = "",
    kind: Kind = "bound",
) -> Certificate:
    """left <= right + tolerance, in every entry; ``rounds`` and ``places`` say which round and which state it is.

    ``trivial`` is what bounds the left side in any case.
    """
    low, high = np.broadcast_arrays(np.atleast_1d(np.float64(left)), np.atleast_1d(np.float64(right)))
    with np.errstate(invalid="ignore"):  # two infinities have no difference, and do not hold
        slack = high - low
    return _certificate(label, reading, low, high, slack, tolerance, trivial, kind, rounds, places, about)


def equal(
    label: str,
    reading: Reading,
    left: Any,
    right: Any,
    *,
    tolerance: Any,
    trivial: Any = np.inf,
    rounds: Ints | None = None,
    places: Any = None,
    about: str = "",
) -> Certificate:
    """|left - right| <= tolerance, in every entry; ``trivial`` bounds the difference in any case."""
    low, high = np.broadcast_arrays(np.atleast_1d(np.float64(left)), np.atleast_1d(np.float64(right)))
    with np.errstate(invalid="ignore"):
        slack = -np.abs(low - high)
    return _certificate(label, reading, low, high, slack, tolerance, trivial, "identity", rounds, places, about)


def left_out(label: str, reading: Reading, reason: str, *, kind: Kind = "bound", about: str = "") -> Certificate:
    """A statement that was not looked at, and why."""
    nothing = np.empty(0)
    return Certificate(label, reading, nothing, nothing, nothing, None, reason, kind, 0.0, about)


def times(constant: Any, values: Any) -> Floats:
    """A product in which infinity times 0 is 0: a constant that is not known says nothing about what is 0 anyway."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(np.equal(values, 0.0), 0.0, np.multiply(constant, values)))


def cube(x: float) -> float:
    """x^3, infinite where it is beyond float64 (a power would raise)."""
    return x * x * x


def _certificate(
    label: str,
    reading: Reading,
    left: Floats,
    right: Floats,
    slack: Floats,
    tolerance: Any,
    trivial: Any,
    kind: Kind,
    rounds: Ints | None,
    places: Any,
    about: str,
) -> Certificate:
    allowed = np.broadcast_to(np.atleast_1d(np.float64(tolerance)), slack.shape)
    known = np.broadcast_to(np.atleast_1d(np.float64(trivial)), slack.shape)
    spare = np.where(np.isnan(slack), -np.inf, slack + allowed)
    says = (allowed if kind == "identity" else right + allowed) < known
    shown = says | (spare < 0.0) if says.any() else np.ones(says.shape, dtype=bool)
    tightest = int(np.where(shown, _strain(left, right, allowed, spare, kind), -1.0).argmax())
    where = [] if rounds is None or left.size == 1 else [f"round {int(rounds[tightest]):,}"]
    if places:
        where.append(str(places if isinstance(places, str) else places[tightest]))
    return Certificate(
        label=label,
        reading=reading,
        left=left,
        right=right,
        slack=slack,
        holds=bool((spare >= 0.0).all()),
        where=", ".join(where),
        kind=kind,
        tolerance=float(allowed[tightest]),
        about=about,
        tightest=tightest,
        trivial=float(known[tightest]),
        says=int(says.sum()),
    )


def _strain(left: Floats, right: Floats, allowed: Floats, spare: Floats, kind: Kind) -> Floats:
    """How near to failing each entry is: its share of what is allowed, and more than any share where it fails."""
    room = allowed if kind == "identity" else right + allowed
    used = np.abs(left - right) if kind == "identity" else left
    share = np.divide(used, room, out=np.zeros(spare.shape), where=(room > 0.0) & (spare >= 0.0))
    return np.asarray(np.where(spare < 0.0, 1.0 - spare, np.minimum(share, 1.0)))


def _number(value: float) -> float | str | None:
    """JSON has no infinity: it becomes a word, and nan becomes null."""
    if np.isnan(value):
        return None
    return value if np.isfinite(value) else ("infinite" if value > 0 else "-infinite")
