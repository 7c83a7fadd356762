"""How the pages write numbers: with the right plural, with no sign on a zero, and with no digits that mean nothing."""

from __future__ import annotations

from collections.abc import Iterable

_RAISED = str.maketrans(
    "-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
)  # Digits and a sign are raised with this table, for powers of ten.


def listed(words: Iterable[str]) -> str:
    """a; a and b; a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def counted(number: int, one: str, many: str = "") -> str:
    """1 round, 2 rounds."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def figure(value: float, digits: int = 4) -> str:
    """A number with some digits; what rounds to zero has no sign, and a power of ten does not break over a line."""
    number, _, power = f"{value:z,.{digits}g}".partition("e")
    if not power:
        return number
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if number == "1" else f"{number}·{raised}"


def yardsticks(names: list[str]) -> str:
    """What is to be known of learners that see the cost of the round they play; nothing, if there are none."""
    if not names:
        return ""
    several = len(names) > 1
    verb, what = ("are", "yardsticks, not learners") if several else ("is", "a yardstick, not a learner")
    return f"{listed(names)} {verb} shown the cost of a round before playing it: {what}, and without a rank."


def percent(share: float) -> str:
    """A share with three digits, however small it is: what is not zero is not shown as zero."""
    return f"{figure(100.0 * share, 3)}%"
