"""Exponentials and logarithms of whole arrays, in loops that the compiler turns into vector instructions.

A call of the library's exp for each state would be most of a pass over a P with few entries per row, and half of a
round of a small game. With unit roundoff e = 2^-53:

    e^x = 2^k e^s,  k the integer next to x / log 2, |s| <= log 2 / 2: Taylor to degree 13, remainder below 5e-18;
    log x = k log 2 + log m,  1/sqrt 2 <= m < sqrt 2: with g = m - 1, q = g/(2 + g), log m = g - q (g - R) and
    R = sum_{j>=1} 2 q^{2j} / (2j + 1), |q| < 0.172: nine terms, remainder below 3e-17.

The polynomials are taken in two halves, of the even and the odd powers, so that neither waits for the other, and a
product and a sum may be rounded as one. Both are within 2 ulp, which is what the enclosure of sparse.py leaves room
for: it has 2e in place of e, that is 2 (3k + 2) e >= (3k + 2 + 4) e for an exponential of 3 ulp, and
10 e log(1/s) >= 7 e log(1/s) for a logarithm of 2 ulp.

A nan stays a nan in an exponential. A logarithm takes positive normal numbers only, and does not check.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lsmdp._core.compile import entry, inner

# The sum of these is log 2; the first ends in 21 zero bits, so that its product with an exponent is exact.
_LOG2_HIGH, _LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_ROUNDING_SHIFT = 6755399441055744.0  # To add this, 1.5 * 2^52, rounds to an integer, which is then in the last bits.
# These are the bits of 1/sqrt 2, the least number that is reduced to an exponent of 0.
_BITS_OF_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
# A float has 52 bits of mantissa and an exponent that is written with 1023 added; the bits of 1 are thus the exponent
# 1023.
_BITS_OF_ONE, _BIAS, _MANTISSA = np.uint64(0x3FF0000000000000), np.uint64(1023), np.uint64(52)
# The sign of a float is its bit of this number, and these are all other bits.
_SIGN_BIT, _REST = np.int64(63), np.int64(0x7FFFFFFFFFFFFFFF)
# These are the bits of inf; turned around, ~ of them, those of -inf.
_INFINITY = np.int64(0x7FF0000000000000)
REACH_OF_THE_SERIES = 1e-2  # Up to this |y|, five terms of the series of e^y - 1 - y are exact to the last digit.
# These are the bits of 2^52; with an integer below 2^52 in its last bits, they are a float.
_BITS_OF_2_52 = np.uint64(0x4330000000000000)


@entry()
def extremes(x: Any) -> tuple[float, float]:
    """min and max, many at a time; a nan shows in one of them, and of no numbers they are inf and -inf.

    Floats are ordered as the integers with the same bits are, once those of negative ones are turned around. The
    compiler takes many integers at a time, but not floats, which might be no numbers.
    """
    least, most = _INFINITY, ~_INFINITY
    for i in range(x.size):
        bits = np.float64(x[i]).view(np.int64)
        key = bits ^ ((bits >> _SIGN_BIT) & _REST)
        least = key if key < least else least
        most = key if key > most else most
    low, high = least ^ ((least >> _SIGN_BIT) & _REST), most ^ ((most >> _SIGN_BIT) & _REST)
    return np.int64(low).view(np.float64), np.int64(high).view(np.float64)


@entry(fastmath={"contract"})
def exponentials(x: Any, out: Any) -> None:
    """out = e^{-x} for 0 <= x <= 700."""
    for i in range(x.size):
        shifted = x[i] * -1.4426950408889634 + _ROUNDING_SHIFT
        k = shifted - _ROUNDING_SHIFT
        s = (-x[i] - k * _LOG2_HIGH) - k * _LOG2_LOW
        t = s * s
        even = 1 / 3628800 + t * (1 / 479001600)
        even = 1 / 40320 + t * even
        even = 1 / 720 + t * even
        even = 1 / 24 + t * even
        even = 1 / 2 + t * even
        odd = 1 / 39916800 + t * (1 / 6227020800)
        odd = 1 / 362880 + t * odd
        odd = 1 / 5040 + t * odd
        odd = 1 / 120 + t * odd
        odd = 1 / 6 + t * odd
        power = np.uint64((np.float64(shifted).view(np.uint64) + _BIAS) << _MANTISSA).view(np.float64)
        out[i] = (1.0 + (s + t * (even + s * odd))) * power


@inner(fastmath={"contract"})
def logarithms(x: Any, out: Any) -> None:
    """out = log x for positive normal numbers."""
    for i in range(x.size):
        bits = np.float64(x[i]).view(np.uint64)
        exponent = (bits + (_BITS_OF_ONE - _BITS_OF_ROOT_HALF)) >> _MANTISSA  # 1023 + the exponent of x / m
        k = np.uint64(exponent | _BITS_OF_2_52).view(np.float64) - 4503599627371519.0  # 2^52 + 1023
        g = np.uint64(bits + _BITS_OF_ONE - (exponent << _MANTISSA)).view(np.float64) - 1.0
        q = g / (2.0 + g)
        z = q * q
        t = z * z
        even = 2 / 15 + t * (2 / 19)  # of z^0, z^2, ...
        even = 2 / 11 + t * even
        even = 2 / 7 + t * even
        even = 2 / 3 + t * even
        odd = 2 / 13 + t * (2 / 17)
        odd = 2 / 9 + t * odd
        odd = 2 / 5 + t * odd
        out[i] = k * _LOG2_HIGH + (g - (q * (g - z * (even + z * odd)) - k * _LOG2_LOW))


@inner()
def near_excess(y: float) -> float:
    """e^y - 1 - y for |y| <= REACH_OF_THE_SERIES."""
    return y * y * (0.5 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y * (1 / 720)))))


@inner()
def excess(y: float) -> float:
    """e^y - 1 - y."""
    return near_excess(y) if abs(y) < REACH_OF_THE_SERIES else float(np.expm1(y) - y)
