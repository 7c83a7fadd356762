"""Being asked to stop: the midst of a round is finished first.

A turn is a piece of work that should be done as a whole. A signal that comes in its midst waits for its end, a second
one does not; between two turns, say while waiting for input, a signal stops at once. Either way a KeyboardInterrupt is
raised, and ``Turn.signal`` tells which signal it was.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# These signals have a handler of Python where nobody has set another; that of all others is SIG_DFL.
_USUAL = {signal.SIGINT: signal.default_int_handler}


class Turn:
    """The midst of a round, ``with turn:``; Ctrl-C waits for its end, a second one does not."""

    def __init__(self) -> None:
        self.is_on = False
        self.signal: int | None = None

    def __enter__(self) -> None:
        self.is_on = True

    def __exit__(self, failure: object, *_: object) -> None:
        self.is_on = failure is not None
        if self.signal is not None and failure is None:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, _: object) -> None:
        waited, self.signal = self.signal is not None, number
        if waited or not self.is_on:
            raise KeyboardInterrupt

    @contextmanager
    def minding(self, *signals: signal.Signals) -> Iterator[None]:
        """Handle these signals (Ctrl-C if none is named) as above, where that is ours to do."""
        usual = {number: _USUAL.get(number, signal.SIG_DFL) for number in signals or (signal.SIGINT,)}
        is_main = threading.current_thread() is threading.main_thread()
        ours = [number for number, handler in usual.items() if is_main and signal.getsignal(number) is handler]
        for number in ours:
            signal.signal(number, self._interrupt)
        try:
            yield
        finally:
            for number in ours:
                signal.signal(number, usual[number])
