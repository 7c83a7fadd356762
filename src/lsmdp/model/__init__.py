"""The model, and what belongs to it alone.

- :mod:`~lsmdp.model.lmdp`: ``LMDP``, a checked passive dynamics P with labels, positions and a temperature;
- :mod:`~lsmdp.model.repairs`: weights that are no usable kernel yet become one;
- :mod:`~lsmdp.model.edge_costs`: costs of moves, absorbed into P;
- :mod:`~lsmdp.model.cache`: what has been worked out about a model and is kept with it.
"""

from lsmdp.model.lmdp import LMDP, require_model

__all__ = ["LMDP", "require_model"]
