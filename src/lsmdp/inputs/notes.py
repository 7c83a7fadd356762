"""What the library says beside its answers: a guess that it made, and what was left out and why.

Both go to Python's logger ``lsmdp``. A guess is a warning, which Python writes to stderr unless told otherwise; what a
repair left out was asked for, and is information, which Python keeps to itself. The command line prints both.
"""

from __future__ import annotations

import logging

# What is noticed while files are read goes to this logger, which is that of the library.
_LOGGER = logging.getLogger("lsmdp")


def guessed(source: object, text: str) -> None:
    """Say how something was read that could have been meant otherwise."""
    _LOGGER.warning("%s: %s", source, text)


def mention(source: object, text: str) -> None:
    """Say what was done, where that is worth knowing and was asked for."""
    _LOGGER.info("%s: %s", source, text)
