"""The same model again, with a cost that has changed a little.

- :mod:`~lsmdp.solvers.warm.lead`: the leaders of consecutive costs, which is what learners ask for;
- :mod:`~lsmdp.solvers.warm.plan`: what is tried for the next cost, and in which order;
- :mod:`~lsmdp.solvers.warm.sweeps`: sweeps over the states, where the chain forgets quickly;
- :mod:`~lsmdp.solvers.warm.chord`: steps with the factor of an earlier round;
- :mod:`~lsmdp.solvers.warm.anchor`: that factor, with the value function it was made at.
"""
