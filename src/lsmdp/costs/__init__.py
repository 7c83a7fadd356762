"""Oblivious cost sequences c_1, c_2, ...: built-in families, arrays and files.

    read_costs("switching:50", lmdp, rounds=2000)    read_costs("speeds.csv", lmdp, scale=(70, 0))

A :class:`Costs` is fixed before the game begins and may be gone through again and from any round.

- :mod:`~lsmdp.costs.given`: costs of several rounds as they are given, and what each form of them can do;
- :mod:`~lsmdp.costs.sequence`: ``Costs``, whatever they come from;
- :mod:`~lsmdp.costs.array`: from an array, a table or a list of your own (``as_costs``);
- :mod:`~lsmdp.costs.names`, :mod:`~lsmdp.costs.families`, :mod:`~lsmdp.costs.target`: the built-in families;
- :mod:`~lsmdp.costs.columns`: which column of a file is the cost of which state;
- :mod:`~lsmdp.costs.lines`, :mod:`~lsmdp.costs.parquet`: the formats that are read piece by piece;
- :mod:`~lsmdp.costs.moves`: fixed costs of moves beside them;
- :mod:`~lsmdp.costs.read`: from a name or a path to a ``Costs``.

Names are imported where they are first used, so that the command line can list the families at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lsmdp.costs.names import FAMILIES

if TYPE_CHECKING:
    from lsmdp.costs.array import as_costs
    from lsmdp.costs.read import by_name, read_costs
    from lsmdp.costs.sequence import Costs

__all__ = ["FAMILIES", "Costs", "as_costs", "by_name", "read_costs"]

# These names are imported from their modules where they are first used.
_HOME = {"Costs": "sequence", "as_costs": "array", "by_name": "read", "read_costs": "read"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lsmdp.costs' has no attribute '{name}'")
    return getattr(importlib.import_module(f"lsmdp.costs.{_HOME[name]}"), name)
