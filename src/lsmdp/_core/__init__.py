"""Compiled loops over arrays, private to the library, and the only place that imports numba.

P, one matrix behind one interface:

- :mod:`~lsmdp._core.moves`: the questions that the rest of the library asks of P, whichever way it is kept;
- :mod:`~lsmdp._core.sparse`: P in compressed rows: sums over the moves, the certificate, and the policy of a v;
- :mod:`~lsmdp._core.sparse_play`: what a round of the game costs, and where it leads;
- :mod:`~lsmdp._core.sparse_steps`: Bellman updates for the mean of the costs;
- :mod:`~lsmdp._core.full`: leaders and trackers, many rounds at once, where P is written out;
- :mod:`~lsmdp._core.full_laws`, :mod:`~lsmdp._core.full_accounts`: stationary laws and what rounds cost, in that case;
- :mod:`~lsmdp._core.crowds`, :mod:`~lsmdp._core.mixtures`: rounds of a pool, and mixtures of policies;
- :mod:`~lsmdp._core.clocks`: the plan of a day, renewed round after round.

Linear equations with I - Q:

- :mod:`~lsmdp._core.dissection`: in which order states are eliminated;
- :mod:`~lsmdp._core.ordering`: what that will cost, its fill and its blocks;
- :mod:`~lsmdp._core.factor`: the elimination, without subtraction, and solves with it;
- :mod:`~lsmdp._core.panels`: the same factor, made ready for many solves.

Iterations:

- :mod:`~lsmdp._core.power`: power steps;
- :mod:`~lsmdp._core.sweeps`: Gauss-Seidel sweeps for a cost that has changed a little;
- :mod:`~lsmdp._core.chord`: steps with a factor from earlier, for the same purpose;
- :mod:`~lsmdp._core.exits`: soft minima and sweeps for problems that end.

Chains and costs:

- :mod:`~lsmdp._core.chains`: laws and hitting times of a chain, in numbers of any size;
- :mod:`~lsmdp._core.paths`: shortest ways along the moves;
- :mod:`~lsmdp._core.walks`: sampled walks;
- :mod:`~lsmdp._core.matrices`: a comparison of all pairs of rows;
- :mod:`~lsmdp._core.means`: means of the costs so far;
- :mod:`~lsmdp._core.hindsight`: laws and values along a fixed sequence of costs.

What all of them use:

- :mod:`~lsmdp._core.compile`: how a loop is compiled;
- :mod:`~lsmdp._core.explog`: exponentials and logarithms of whole arrays;
- :mod:`~lsmdp._core.threads`: the rows of a large P in parts, one thread each.
"""
