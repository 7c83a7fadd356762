"""Answers on their way out: tables and files that other programs read, and what a notebook or a terminal shows.

- :mod:`~lsmdp.output.tables`: solutions, policies, runs and walks as Arrow tables, and files of them;
- :mod:`~lsmdp.output.notebooks`: the same objects as small HTML tables, and their plots;
- :mod:`~lsmdp.output.pictures`: functions on the states of a grid in characters and colours, and the one palette.
"""
