"""``python -m lsmdp`` is the command line, too."""

from lsmdp.cli import main

main()
