"""Benchmarks: what lsmdp takes, in units of its peers and of one product P @ x, all measured in the same process.

    python -m benchmarks                    every suite, every case
    python -m benchmarks solve --only ring  one suite, the cases whose name contains "ring"

A suite is a module with three names, listed once in ``__main__.SUITES``:

    CASES                  a mapping from the name of a case to whatever the module needs to make it
    measure(name, blocks)  one case as a JSON-ready dict (``blocks`` repeats things and takes the medians: measure.py)
    table(records)         those dicts as a rich table

A new family is one more line of CASES. The records of a run, with the versions behind them, go to benchmarks/results/.
"""
