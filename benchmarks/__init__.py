"""Benchmarks: what lsmdp takes, in units of its peers and of one product P @ x, all measured in the same process.

    python -m benchmarks                     every suite, the cases that take minutes: about a quarter of an hour
    python -m benchmarks --full              all cases
    python -m benchmarks rounds --only ring  one suite, the cases whose name contains "ring"
    python -m benchmarks --page              only write docs/performance.md again, from the newest records

A suite is a module with four names, listed once in ``__main__.SUITES``:

    CASES                  a mapping from the name of a case to whatever the module needs to make it; ``full`` says
                           that it takes long
    measure(name, blocks)  one case as a JSON-ready dict (``blocks`` repeats things and takes the medians: measure.py)
    table(records)         those dicts as a rich table
    HEADINGS, cells        the same as columns of text, for the page (optional)

A new family is one more line of CASES. The records of a run, with the versions behind them, go to benchmarks/results/,
and page.py makes docs/performance.md and its figures of the newest record of each case.
"""
