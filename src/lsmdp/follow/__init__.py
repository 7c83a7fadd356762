"""A learner beside a system that runs: costs come in one by one, policies go out, and what it knows is kept in a file.

- :mod:`~lsmdp.follow.loop`: the control loop of ``lsmdp follow``, lines in and lines out;
- :mod:`~lsmdp.follow.memory`: what a learner knows, saved, loaded, and kept up to date;
- :mod:`~lsmdp.follow.learner_file`: what is in the file of a learner, and how it is read.
"""
