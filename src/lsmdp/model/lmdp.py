"""The model: a checked passive dynamics P, with labels, positions and a temperature.

A linearly solvable MDP is a Markov chain P on n states that a controller may replace by any kernel Q with the support
of P. In state x it pays c(x) + temperature * KL(Q(.|x) || P(.|x)) per step. The paper has the temperature 1; only the
ratio c / temperature matters for the policy.

An :class:`LMDP` never changes. The methods ``largest_class``, ``teleport`` and ``lazy`` return new models, and repair
input that cannot be solved or played as it is (repairs.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lsmdp.arrays import (
    CSR,
    EPS,
    Floats,
    Ints,
    as_cost,
    as_edge_costs,
    as_weights,
    into_kernel,
    read_only,
    real,
    require_row_sums,
    row_sums,
)
from lsmdp.chain import largest_class as largest_class_of
from lsmdp.chain import reversible_law, strong_classes
from lsmdp.chain.laws import STATES_TO_ORDER
from lsmdp.errors import (
    AssumptionError,
    CostError,
    ModelError,
    SpecError,
    told,
)
from lsmdp.inputs.labels import Names, is_whole, name_state, with_labels
from lsmdp.model.cache import Cache, Derived
from lsmdp.model.edge_costs import tilted
from lsmdp.model.repairs import labels_of, restrict, spread_dead_ends, with_jumps, with_rests
from lsmdp.output.notebooks import model_html

if TYPE_CHECKING:
    from lsmdp._core.factor import Plan
    from lsmdp._core.full import Square
    from lsmdp._core.moves import Sparse

_UNIT_ROUNDOFF = EPS / 2  # The relative error of one operation is at most this.
_SPARSEST_GRID = 100  # Whole positions are read as those of a grid where it has at most this many cells for each state.
# Operations that the stationary law of a policy may take in each round of a game: about as many as the round itself.
_FLOPS_OF_A_CHEAP_LAW = 5e6


@dataclass(frozen=True, eq=False, repr=False)
class LMDP:
    """A linearly solvable MDP: passive dynamics P, optional labels, and the weight of the control cost.

    P may be an array, any scipy sparse matrix or a DataFrame, whose names become the labels where none are given; it is
    kept as a read-only CSR array. ``positions`` (n x 2)
    places the states in the plane for pictures: points (x, y), or cells (row, column) of a grid where they are
    whole numbers that no two states share and that fill a rectangle well enough (``grid_shape``).
    Where states were dropped, ``origin[x]`` is the row of state x in the matrix that the model came from and
    ``origin_n`` the number of rows of that matrix. ``rounding`` is what bounds on average costs are wider by than for
    this P as it stands, in units of the cost: where costs of moves were absorbed, P is not known exactly.
    ``map_shape`` is the size of the map that a grid was drawn on, also where its last rows or columns are walls.
    """

    P: CSR
    labels: Sequence[str] | None = None
    temperature: float = 1.0
    positions: Any = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    origin: Any = field(default=None, kw_only=True)
    origin_n: int | None = field(default=None, kw_only=True)
    rounding: float = field(default=0.0, kw_only=True)
    map_shape: tuple[int, int] | None = field(default=None, kw_only=True)
    cache: Cache = field(default_factory=Cache, init=False)
    normalise: InitVar[bool] = field(default=False, kw_only=True)

    def __post_init__(self, normalise: bool) -> None:
        def keep(attribute: str, value: object) -> None:
            object.__setattr__(self, attribute, value)

        matrix, labels = with_labels(self.P, self.labels, "P", ModelError)
        weights = as_weights(matrix)
        n = int(weights.shape[0])
        keep("labels", as_labels(labels, n))
        keep("P", into_kernel(weights, normalise=normalise, labels=self.labels))
        keep("temperature", _as_temperature(self.temperature))
        keep("positions", _as_positions(self.positions, n))
        keep("rounding", _as_rounding(self.rounding))
        if self.origin is not None:
            origin = np.array(self.origin, dtype=np.int64)
            if origin.shape != (n,) or self.origin_n is None or not ((origin >= 0) & (origin < self.origin_n)).all():
                raise ModelError(f"origin must hold {n} row numbers below origin_n = {self.origin_n}, one per state.")
            keep("origin", read_only(origin))

    @classmethod
    def repaired(
        cls,
        weights: Any,
        labels: Sequence[str] | None = None,
        temperature: float = 1.0,
        *,
        normalise: bool = False,
        largest_class: bool = False,
        teleport: float = 0.0,
        lazy: float = 0.0,
        positions: Any = None,
        name: str = "",
        origin: Any = None,
        origin_n: int | None = None,
        map_shape: tuple[int, int] | None = None,
    ) -> LMDP:
        """A model from a matrix that may not be a kernel yet: the command line's flags, in their order.

        Dead ends (zero rows) survive only until ``largest_class`` drops them or ``teleport`` gives them
        somewhere to go; what is left must be a kernel, or be made one by ``normalise``.
        """
        weights, labels = with_labels(weights, labels, "P", ModelError)
        matrix = as_weights(weights)
        n = int(matrix.shape[0])
        labels = as_labels(labels, n)
        positions = _as_positions(positions, n)
        if largest_class:
            keep = largest_class_of(matrix)
            if not normalise:
                require_row_sums(row_sums(matrix)[keep], keep, labels)
            if keep.size < n:
                matrix, normalise = restrict(matrix, keep, labels), True
                origin, origin_n = (keep, n) if origin is None else (origin[keep], origin_n)
                labels = labels_of(labels, keep)
                positions = None if positions is None else positions[keep]
        if teleport:
            matrix = spread_dead_ends(matrix)
        model = cls(
            matrix,
            labels,
            temperature,
            positions=positions,
            name=name,
            origin=origin,
            origin_n=origin_n,
            map_shape=map_shape,
            normalise=normalise,
        )
        if teleport:
            model = model.teleport(teleport)
        return model.lazy(lazy) if lazy else model

    @property
    def n(self) -> int:
        """Number of states."""
        return int(self.P.shape[0])

    @property
    def nnz(self) -> int:
        """Number of possible moves (positive entries of P)."""
        return int(self.P.nnz)

    @Derived
    def grid_shape(self) -> tuple[int, int] | None:
        """(rows, columns) where the positions are the cells of a grid, else None."""
        if self.positions is None or (self.positions < 0).any() or (self.positions != np.floor(self.positions)).any():
            return None
        rows, cols = (int(side) + 1 for side in self.positions.max(axis=0))
        if rows * cols > _SPARSEST_GRID * self.n:
            return None
        taken = np.zeros((rows, cols), dtype=bool)
        taken[tuple(self.positions.astype(np.int64).T)] = True
        return (rows, cols) if np.count_nonzero(taken) == self.n else None

    @Derived
    def names(self) -> Names:
        """What the states are called (inputs/labels.py)."""
        cells = None if self.grid_shape is None else self.positions
        return Names(self.n, self.labels, self.origin, self.origin_n, cells, self.map_shape)

    def state(self, which: Any) -> int:
        """The number of a state: given by its label, by its number or, on a grid, by its cell.

        A cell is (row, column) or "row,column". Where the labels are numbers themselves, 3 and "3" are a label, and
        never the fourth state.
        """
        return self.names.state(which)

    def numbered(self, which: Any) -> int:
        """The same, where a number is always that of a state, as ``Policy.row`` and ``sample`` return it."""
        if not is_whole(which):
            return self.state(which)
        if not 0 <= which < self.n:
            raise SpecError(f"there is no state {which}. States are numbered from 0 to {self.n - 1}.")
        return int(which)

    def name_of(self, state: int) -> str:
        """How messages speak of a state: ``state 26 "769806"``."""
        return name_state(state, self.labels)

    @Derived
    def entry_rows(self) -> Ints:
        """The row of each entry of P."""
        return np.asarray(read_only(np.repeat(np.arange(self.n), np.diff(self.P.indptr))))

    @Derived
    def log_P(self) -> Floats:
        """The logarithm of each entry of P."""
        return np.asarray(read_only(np.log(self.P.data)))

    @Derived
    def reversed_P(self) -> CSR:
        """The transpose of P in compressed rows: the moves into each state."""
        return self.P.T.tocsr()

    @Derived
    def is_irreducible(self) -> bool:
        """Whether every state can be reached from every other (the first half of ass:irred)."""
        return strong_classes(self.P)[0] == 1

    @Derived
    def reversible_law(self) -> Floats | None:
        """The law rho with rho(x) P(x,y) = rho(y) P(y,x), where there is one and floats can hold it."""
        rho = reversible_law(self.P) if self.is_irreducible else None
        return None if rho is None or rho.min() == 0.0 else rho

    @Derived
    def elimination_plan(self) -> Plan:
        """In which order P's pattern is best eliminated, and what that would cost; found once per model."""
        from lsmdp._core.factor import plan

        return plan(self.P)

    @Derived
    def square(self) -> Square | None:
        """P written out for games in compiled loops, where it is small enough for that (_core/full.py)."""
        from lsmdp._core.full import STATES_WRITTEN_OUT, written_out

        fits = self.n <= STATES_WRITTEN_OUT and self.is_irreducible
        return written_out(self.P, self.reversible_law) if fits else None

    @Derived
    def moves(self) -> Sparse:
        """P as policies and games ask it: one set of questions, whatever kind of matrix it is (_core/moves.py)."""
        from lsmdp._core.moves import Full, Sparse

        given = self.P, self.temperature, self.rounding
        return Sparse(*given) if self.square is None else Full(*given, self.square)

    @Derived
    def law_is_cheap(self) -> bool:
        """Whether the stationary law of a policy takes about as long as a round of a game, so that each can have it."""
        if self.moves.at_once or self.reversible_law is not None:
            return True
        plan = self.elimination_plan if self.n <= STATES_TO_ORDER else None
        return plan is not None and plan.entries is not None and plan.flops <= _FLOPS_OF_A_CHEAP_LAW

    def require_irreducible(self) -> None:
        """Raise an :class:`AssumptionError` that names what cannot be reached, unless P is irreducible."""
        if self.is_irreducible:
            return
        inside = np.zeros(self.n, dtype=bool)
        inside[largest_class_of(self.P)] = True
        outside = np.flatnonzero(~inside)
        names = ", ".join(self.name_of(int(state)) for state in outside[:3])
        more = f" and {outside.size - 3} more" if outside.size > 3 else ""
        raise AssumptionError(
            f"P is not irreducible (ass:irred): {outside.size} of {self.n} states cannot both reach and be reached "
            f"from the others ({names}{more}). Drop them with largest_class() (--largest-class), or mix in a small "
            "chance of going anywhere with teleport(0.01) (--teleport 0.01)."
        )

    def largest_class(self) -> LMDP:
        """The chain watched on its largest strongly connected class, labels and positions kept.

        Moves that leave the class are dropped and the rows divided by what remains. Where the model had no
        labels, the kept states are labelled by their former numbers.
        """
        keep = largest_class_of(self.P)
        if keep.size == self.n:
            return self
        return LMDP(
            restrict(self.P, keep, self.labels),
            labels_of(self.labels, keep),
            self.temperature,
            positions=None if self.positions is None else self.positions[keep],
            name=self.name,
            origin=keep if self.origin is None else self.origin[keep],
            origin_n=self.n if self.origin is None else self.origin_n,
            rounding=self.rounding,
            map_shape=self.map_shape,
            normalise=True,
        )

    def teleport(self, eps: float, to: Sequence[int | str] | None = None) -> LMDP:
        """(1 - eps) P + eps U: from anywhere, jump to a uniformly drawn state (of ``to``) with probability eps."""
        try:
            landings = range(self.n) if to is None else [self.numbered(state) for state in to]
        except (SpecError, TypeError):
            landings = []
        targets = np.unique(np.array(landings, dtype=np.int64))
        if not targets.size:
            raise ModelError(
                f"teleport lands on {to}, but the states are 0 to {self.n - 1}. Name at least one of them, in a list."
            )
        return self._with_kernel(with_jumps(self.P, eps, targets))

    def lazy(self, eps: float) -> LMDP:
        """(1 - eps) P + eps I: stay put with probability eps more. Makes every chain aperiodic."""
        return self._with_kernel(with_rests(self.P, eps))

    def with_edge_costs(self, costs: Any) -> tuple[LMDP, Floats]:
        """The same problem without costs of moves: a model P' and a cost to add to that of each state.

        ``costs[x, y]`` is paid for moving from x to y (n x n, sparse or not; what P cannot do is not looked at). With
        P'(y|x) = P(y|x) e^{-costs[x,y]/T} / Z(x), every policy Q pays in state x

            sum_y Q(y|x) costs[x, y] + T KL(Q||P)  =  T KL(Q||P') - T log Z(x),

        so ``tilted, extra = lmdp.with_edge_costs(costs)`` and ``solve(tilted, c + extra)`` give the optimum for the
        state costs c and the edge costs together, with extra(x) = -T log Z(x) (edge_costs.py has the derivation). The
        extra cost lies between the least and the mean edge cost of x under P.

        P' and the extra cost are rounded. The model knows by how much that can move an average cost (``rounding``), and
        all bounds on it are wider by that; those of ``solve`` also by what is lost where c and extra are added, once.
        """
        costs = self.names.square(costs, "the table of edge costs", CostError)
        P, extra, rounding = tilted(self.P, as_edge_costs(costs, self.P, self.labels), self.temperature, self.labels)
        return self._with_kernel(P, rounding), as_cost(extra, self.n)

    def slack(self, c: Floats) -> float:
        """What bounds for the cost c are wider by: 0, or ``rounding`` and that of a sum c = (costs of states) + extra.

        Leaders leave out the latter: their costs are means of many, and what those have rounded is not known here.
        """
        return self.rounding + _UNIT_ROUNDOFF * float(np.abs(c).max()) if self.rounding > 0.0 else 0.0

    def _with_kernel(self, P: CSR, rounding: float = 0.0) -> LMDP:
        return LMDP(
            P,
            self.labels,
            self.temperature,
            positions=self.positions,
            name=self.name,
            origin=self.origin,
            origin_n=self.origin_n,
            rounding=self.rounding + rounding,
            map_shape=self.map_shape,
        )

    def _repr_html_(self) -> str:
        return model_html(self)

    def __repr__(self) -> str:
        title = f"{self.name}: " if self.name else ""
        heat = "" if self.temperature == 1.0 else f", temperature {self.temperature:g}"
        return f"LMDP({title}{self.n:,} states, {self.nnz:,} moves{heat})"


def require_model(given: object) -> None:
    """Raise unless this is a model."""
    if not isinstance(given, LMDP):
        raise ModelError(
            f"the model is of the type {type(given).__name__}, not LMDP. Make one of a matrix with lsmdp.LMDP(P), or "
            'of a name or a file with lsmdp.read_model("grid:30x30").'
        )


def as_labels(labels: Sequence[str] | None, n: int) -> tuple[str, ...] | None:
    """Labels as a tuple of n different strings."""
    if labels is None:
        return None
    if not isinstance(labels, Iterable):
        raise ModelError(f"the labels are {told(labels)}. Give a list with one label per state.")
    names = tuple(str(label) for label in labels)
    if len(names) != n:
        raise ModelError(f"there are {len(names)} labels for {n} states. Give one label per state.")
    if len(set(names)) != n:
        twice = Counter(names).most_common(1)[0][0]
        raise ModelError(f'the label "{twice}" stands for more than one state. Labels must differ.')
    return names


def _as_temperature(temperature: Any) -> float:
    number = real(temperature)
    if not 0.0 < number < float("inf"):
        raise ModelError(
            f"the temperature is {told(temperature)}. It weighs the control cost and must be a positive number; "
            "the paper's value is 1."
        )
    return number


def _as_rounding(rounding: Any) -> float:
    number = real(rounding)
    if not 0.0 <= number < float("inf"):
        raise ModelError(f"rounding is {told(rounding)}. It widens bounds, so it cannot be negative or infinite.")
    return number


def _as_positions(positions: Any, n: int) -> Floats | None:
    if positions is None:
        return None
    try:
        points = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.shape != (n, 2) or not np.isfinite(points).all():
        raise ModelError(f"positions must be {n} x 2 finite numbers, one point per state.")
    read_only(points)
    return points
