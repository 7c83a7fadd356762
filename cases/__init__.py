"""The cases of docs/cases: one module makes one page, its numbers and its figure.

    python -m cases.traffic los_adj.csv los_speed.csv
    python -m cases.heaters
    python -m cases.patrol
    python -m cases                     # the pages only, from their records

Each writes three files: the record NAME.json (what was asked for and every number that was found), the page NAME.md
(which is a function of the record and of nothing else), and the figure NAME.png.
"""
