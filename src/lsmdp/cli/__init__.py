"""The command line: parse, call, print.

Data goes to stdout, complaints to stderr as ``ModelError: ...``; with ``--json``, stdout is one JSON object or empty.

    0    done, and for ``check``: the assumptions hold
    1    looked at and not so: an assumption fails, a corrected statement fails (``certify``), some run of a sweep
         failed, some line could not be used (``follow``), or no certificate of the wanted width was found (``solve``
         then still prints the best one that was)
    2    the input cannot be used; nothing was written, or what is said on stderr
    130  interrupted

Which command is where:

    check, solve              single.py    (ends.py: other ends than the average; outputs.py: files and pages)
    fit                       fit.py
    simulate                  simulate.py
    play, show                games.py
    follow                    follow.py
    certify                   paper.py
    report, figures, demo     pages.py
    sweep                     sweeps.py
    compile                   compile.py

base.py has what several commands share, terminal.py the tables that they print. Everything heavy is imported inside the
commands, so that ``lsmdp --help`` is quick.
"""

import gc

from lsmdp.cli import compile, fit, follow, games, pages, paper, simulate, single, sweeps
from lsmdp.cli.base import app

__all__ = ["app", "compile", "fit", "follow", "games", "main", "pages", "paper", "simulate", "single", "sweeps"]


# So many objects may be made before circles among them are looked for; a start makes 240,000 that are in none.
_OBJECTS_BETWEEN_COLLECTIONS = 300_000


def main() -> None:
    """The entry point of the command ``lsmdp``."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)  # to look 300 times while imports go on takes 0.15 s
    app(prog_name="lsmdp")  # also where Python was started with -c or -m: completion goes by this name
