"""What a learner declares, read off its class, once: its name, its methods, and whether it sees costs ahead.

complete.py has the table of all that may be declared, and what holds without. Here are the rules that a declaration has
to keep, and the sentences for one that does not: a method takes the arguments that it will be given; a ``foresee`` goes
with the word ``clairvoyant``; and a class that has a part of a round of its own is not played in blocks by a method
that was written for another class.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

from lsmdp.errors import SpecError

# Every learner has these methods, with these arguments.
NEEDED = {"init": ("lmdp",), "policy": ("lmdp", "state"), "observe": ("lmdp", "state", "c_t")}
# A learner may have these methods, with these arguments; the table of complete.py says what holds without them.
OPTIONAL = {
    "observe_at": ("lmdp", "state", "x", "cost"),
    "init_from": ("lmdp", "start"),
    "report": ("before", "after"),
    "observe_block": ("lmdp", "state", "costs", "policy"),
    "observe_all": ("lmdp", "state", "costs"),
    "takes_blocks": ("lmdp", "state"),
    "bounds": ("lmdp", "state"),
    "foresee": ("lmdp", "state", "c_t"),
}
# Each of these methods plays blocks of rounds; the second is the name that the first had once.
_BLOCKS = ("observe_block", "observe_all")
# A round is made of these methods: a class that has one of its own plays in its own way.
_ROUND = {"policy", "observe", "report", *_BLOCKS}


def name_of(learner: Any) -> str:
    """Its name, or that of its class."""
    name = getattr(learner, "name", type(learner).__name__)
    if not isinstance(name, str) or not name.strip():
        raise SpecError(
            f"a learner of the class {type(learner).__name__} has the name {name!r}. Give it a word as its name, or "
            "none: then it has that of its class."
        )
    return name


def _require_method(learner: Any, name: str, method: str, arguments: tuple[str, ...]) -> None:
    """Raise unless it can be called with these arguments."""
    found = getattr(learner, method)
    call = f"{method}({', '.join(arguments)})"
    if not callable(found):
        raise _lacks(name, f"has {kind_of(found)} where {call} should be", "the method")
    try:
        inspect.signature(found).bind(*arguments)
    except TypeError as wrong:
        raise _lacks(name, f"cannot be asked for {call}: {wrong}", "these arguments") from None
    except ValueError:
        pass  # it does not tell


def is_clairvoyant(learner: Any, name: str, foresees: bool) -> bool:
    """Whether it is clairvoyant, in word and deed."""
    word = getattr(learner, "clairvoyant", False)
    if not isinstance(word, bool):
        raise SpecError(f'"{name}" says clairvoyant = {word!r}. Say True if it sees the cost of a round beforehand.')
    if foresees and not word:
        raise SpecError(
            f'"{name}" has a foresee, so it would be shown the cost of a round before it plays it, but it does not '
            "declare that. Say clairvoyant = True in its class, or leave foresee out."
        )
    if word and not foresees:
        raise SpecError(
            f'"{name}" declares itself clairvoyant, but has no foresee(lmdp, state, c_t) that says what it plays once '
            "it sees c_t. Give it one, or leave the word out."
        )
    return word


def method_for_blocks(learner: Any, name: str) -> str | None:
    """The method that plays blocks, unless a subclass has a part of a round, of which the method would know nothing."""
    homes = (vars(home) for home in type(learner).__mro__)
    below: Mapping[str, Any] = next((names for names in homes if not _ROUND.isdisjoint(names)), {})
    method = next((method for method in _BLOCKS if method in below), None)
    if method == "observe_all":
        warnings.warn(
            f'the learner "{name}" has an observe_all(lmdp, state, costs). It is called observe_block(lmdp, state, '
            "costs, policy) since version 0.1.0; the old name will be gone in version 0.2.0.",
            DeprecationWarning,
            stacklevel=4,
        )
    return method


def _lacks(name: str, fault: str, needs: str) -> SpecError:
    return SpecError(f'the learner "{name}" {fault}. Give it {needs}; docs/extend.md shows one.')


def kind_of(value: Any) -> str:
    """What a sentence calls a value that is none of those that were wanted."""
    kind = type(value).__name__
    return "None" if value is None else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def require_methods(learner: Any, name: str) -> frozenset[str]:
    """Which of the optional methods it has, once it is certain that it has all that are needed."""
    for method, arguments in NEEDED.items():
        if method == "observe" and not hasattr(learner, method) and hasattr(learner, "observe_at"):
            continue
        if not hasattr(learner, method):
            raise _lacks(name, f"has no {method}({', '.join(arguments)})", "init, policy and observe")
        _require_method(learner, name, method, arguments)
    has = frozenset(method for method in OPTIONAL if hasattr(learner, method))
    for method in OPTIONAL:
        if method in has:
            _require_method(learner, name, method, OPTIONAL[method])
    return has
