"""Compiled loops over arrays, private to the library, and the only place that imports numba.

- :mod:`~lsmdp._core.compile`: how a loop is compiled;
- :mod:`~lsmdp._core.explog`: exponentials and logarithms of whole arrays;
- :mod:`~lsmdp._core.threads`: the rows of a large P in parts, one thread each;
- :mod:`~lsmdp._core.sparse`, :mod:`~lsmdp._core.sparse_play`, :mod:`~lsmdp._core.sparse_steps`: P in compressed rows:
  sums, certificate and policy; what a round of the game needs; Bellman updates;
- :mod:`~lsmdp._core.full`, :mod:`~lsmdp._core.full_laws`, :mod:`~lsmdp._core.full_accounts`: the same where P is
  written out;
- :mod:`~lsmdp._core.ordering`, :mod:`~lsmdp._core.panels`, :mod:`~lsmdp._core.factor`: elimination without subtraction;
- :mod:`~lsmdp._core.chains`: classes, periods and distances of a chain.
"""
