"""The page of one solve: what the optimum costs, where the system then spends its time, and what steering changed.

Like the page of a run it is one file that asks nothing of any network, and draws itself from one JSON object, which
``story`` makes. Its headings state findings:

- *the cost*: the least average cost, split into what states, moves and steering cost, beside what P pays if left alone;
- *the map*: each state at its place, by its share of the time, its value, its cost, or the change of its share. Arrows
  show what steering adds: on a grid to the mean step, E_Q[place] - E_P[place]; on a network to the one move whose
  chance grows most, along its edge;
- *what steering changed*: the states whose long-run share under Q differs most from that under P;
- *the certificate*, in words.

Where the cost is a sum until a goal, or discounted, there is no long run to tell of.

- :mod:`~lsmdp.report.answer.page`: the page, put together;
- :mod:`~lsmdp.report.answer.facts`: what is computed once for all of its parts;
- :mod:`~lsmdp.report.answer.average`, :mod:`~lsmdp.report.answer.sums`: what it says of an average, and of a sum;
- :mod:`~lsmdp.report.answer.picture`: the map.
"""

from __future__ import annotations

from lsmdp.report.answer.facts import AnswerFacts
from lsmdp.report.answer.page import answer_page, story, write_answer_page

__all__ = ["AnswerFacts", "answer_page", "story", "write_answer_page"]
