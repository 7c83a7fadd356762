"""The page docs/paper.md: each label of the paper, what is printed there, whether it is so, and what holds.

It is written from the register of statements (statement.py), so that page and code cannot differ:
``python -m lsmdp.theory.page > docs/paper.md``. A test tells when that was forgotten.
"""

from __future__ import annotations

import re

from lsmdp.theory import STATEMENTS, Statement
from lsmdp.theory.slips import section, slip_of

_TOP = """\
# The paper, label by label

Neu & Gomez, *Fast rates for online learning in linearly solvable Markov decision processes* (COLT 2017), as it is
printed and as it holds. This page is written by `python -m lsmdp.theory.page > docs/paper.md`; a test fails when it is
out of date, or when a label has no function or no test. The proofs are in [theory.md](theory.md).

`lsmdp certify KERNEL --costs COSTS --rounds T` evaluates all of it on a game. Labels with a number after a slash are
parts of a lemma or steps of its proof. C is the range of the costs in units of the temperature (the paper: 1), a(Q) the
Dobrushin coefficient with its 1/2, S a bound on span(v), B = -log of the least likely move, L and tau as in
`lsmdp.theory.constants`, and m(Q) = sum_t 1/2 |p_t - mu_Q|_1 the mixing sum of a fixed policy.
"""
# The table of what the paper prints has these columns.
_COLUMNS_OF_PRINTED_STATEMENTS = ("label", "as printed", "verdict", "what holds", "function", "test")
# The table of what the paper does not print has these columns.
_COLUMNS_OF_NEW_STATEMENTS = ("label", "statement", "function", "test")


def page() -> str:
    """The whole page."""
    printed = [one for one in STATEMENTS.values() if one.printed]
    new = [one for one in STATEMENTS.values() if not one.printed]
    return "\n".join(
        [
            _TOP,
            section(),
            "## What the paper has",
            *_table(
                _COLUMNS_OF_PRINTED_STATEMENTS,
                [_row(one, (_maths(one.printed), _verdict(one), _maths(one.holds))) for one in printed],
            ),
            "",
            "## What it does not have",
            *_table(_COLUMNS_OF_NEW_STATEMENTS, [_row(one, (_maths(one.holds),)) for one in new]),
            "",
        ]
    )


def function_of(one: Statement) -> str:
    """Where the statement is checked: lsmdp.theory.MODULE.FUNCTION."""
    return f"{one.check.__module__.removeprefix('lsmdp.')}.{one.check.__name__}"


def test_of(one: Statement) -> str:
    """Where that is tested."""
    module = one.check.__module__.rsplit(".", 1)[-1]
    return f"tests/paper/test_{module}.py::test_{re.sub(r'[^A-Za-z0-9_]', '_', one.label)}"


def _verdict(one: Statement) -> str:
    slip = slip_of(one.label)
    return one.verdict if slip is None else f"{one.verdict} (slip {slip})"


def _row(one: Statement, cells: tuple[str, ...]) -> tuple[str, ...]:
    return (f"`{one.label}`", *cells, f"`{function_of(one)}`", f"`{test_of(one)}`")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def _maths(text: str) -> str:
    """Formulas in plain text, safe in a table: bars would end a cell, and stars and underscores mean something."""
    return re.sub(r"([|*_<>\\])", r"\\\1", text)


if __name__ == "__main__":
    print(page(), end="")
