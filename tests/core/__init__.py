"""Compiled loops against references in NumPy."""
