"""What is written down of each round of a game for the theory: named columns with a number a round.

Row [t-1] holds round t; names that end in _at are states.
"""

from __future__ import annotations

from array import array
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

RowType = TypeVar("RowType", bound=tuple[Any, ...])


class RowWriter(Generic[RowType]):
    """Rows of one kind while they are being written; eight bytes a number."""

    def __init__(self, kind: type[RowType]) -> None:
        self.kind, self.numbers, self.count = kind, array("d"), 0

    def __len__(self) -> int:
        return self.count

    def add(self, row: RowType) -> None:
        """One more round."""
        self.numbers.extend(row)
        self.count += 1

    def columns(self) -> RowType:
        """All rounds: a row of columns."""
        table = np.array(self.numbers).reshape(self.count, -1)
        return self.kind(*table.T.copy())


class LeaderRows(NamedTuple):
    """About the leader of round t = 1, ..., T + 1, for the cost c_bar_t. Names that end in _at are states."""

    gap: Any
    average_cost: Any
    lowest_cost: Any
    highest_cost: Any
    span_v: Any
    size: Any  # of the numbers in a Bellman equation: 1 + span v + max |c_bar| + |lambda|
    bellman: Any  # max |v + lambda - c - KL - Qv|
    bellman_at: Any
    linear: Any  # max |log z - (lambda - c + log Pz)|
    linear_at: Any
    formula: Any  # max |Q - P z / Pz|
    formula_at: Any
    exponential: Any  # max |log Q - log P - (lambda - c(x) - v(y) + v(x))|
    exponential_at: Any
    cost_of_measure: Any  # f(pi; c_bar)
    imbalance: Any  # the worst violation of eq:statdist
    imbalance_at: Any
    kl_max: Any  # max KL(Q||P)
    kl_max_at: Any
    kl: Any  # KL(Q||P) where it is nearest to its bound,
    kl_bound: Any  # min(span(v)^2 / 8, span(v) + lambda - c(x))
    kl_at: Any
    rise: Any  # v(x) - v(y) for the pair where it is nearest to its bound,
    rise_bound: Any  # (max c - lambda) E_x[T_y]
    rise_from: Any
    rise_to: Any
    dual_gradient: Any
    dual_gradient_printed: Any
    a: Any  # a(Q)
    sensitivity: Any  # Lambda(Q)


class StepRows(NamedTuple):
    """Between round t and round t + 1, t = 1, ..., T."""

    change_v: Any  # span(v_{t+1} - v_t)
    turn: Any  # span(d - Q_t d), d = v_{t+1} - v_t
    by_costs: Any  # span(B_f v_f - B_g v_f), f and v_f of round t + 1, g and v_g of round t
    by_values: Any  # span(B_g v_f - B_g v_g)
    change_c: Any  # span(c_bar_{t+1} - c_bar_t)
    change_c_max: Any  # max |c_bar_{t+1} - c_bar_t|
    spread: Any  # span(c_t - c_bar_t)
    cost: Any  # max |c_t|
    change_q: Any  # max_x |Q_{t+1} - Q_t|_1
    change_q_at: Any
    change_mu: Any
    ideal: Any  # f(pi_t; c_t)
    ideal_next: Any  # f(pi_{t+1}; c_t)
    ideal_form: Any  # mu_t.(c_t + lambda_t - c_bar_t)
    difference: Any  # eq:lpidiff, corrected
    difference_printed: Any
    forward: Any  # mu_t.KL(Q_t || Q_{t+1})
    backward: Any  # mu_{t+1}.KL(Q_{t+1} || Q_t)
    bregman: Any  # B_R(pi_{t+1} | pi_t), by its definition
    pinsker: Any  # 1/2 mu_{t+1}.|Q_{t+1} - Q_t|_1^2
    slope: Any  # |grad f(pi_t; c_t) . (pi_{t+1} - pi_t)|
    curvature: Any  # the second derivative of f in the same direction
    variance: Any  # sigma^2(pi_t) for the cost c_t
    loss_span: Any  # span(c_t + KL(Q_t||P))
    tilt_span: Any  # the largest log Q_t/P minus the least, over all moves


class PlayerRows(NamedTuple):
    """About one learner in round t, with the policy Q_t and the exact law p_t of its state."""

    loss: Any  # p_t.(c_t + KL(Q_t||P))
    distance: Any  # |p_t - mu*_t|_1
    gain: Any  # (p_t - mu*_t).(c_t - c_bar_t)
    boundary: Any  # (p_t - p_{t+1}).v*_t
    drift: Any  # p_t.(v*_t - v*_{t-1}), where that difference has the minimum 0
    boundary_own: Any  # (p_t - p_{t+1}).v_t
    residual: Any  # p_t.r_t - lambda_t, r_t = B v_t - v_t
    gap: Any  # span(r_t)
    error: Any  # span(v_t - v*_t)
    span_v: Any
    span_iterates: Any  # the largest span of v_t and of what tracking meets on the way to v_{t+1}
    divergence: Any  # p_t.KL(Q_t || Q*_t)
    ideal: Any  # f(pi_t; c_t) with the learner's own measure
    to_next: Any  # mu_t.KL(Q_t || Q*_{t+1})
    to_leader: Any  # mu_t.KL(Q_t || Q*_t)
    own_next: Any  # mu_t.KL(Q_t || Q_{t+1}), both the learner's
    own_ahead: Any  # mu_t.r_{t+1}, r_t = B v_t - v_t for the mean cost of round t
    own_shift: Any  # (mu_{t-1} - mu_t).r_t, 0 in the first round
    own_change_v: Any  # span(v_{t+1} - v_t)
    own_change_mu: Any  # |mu_{t+1} - mu_t|_1
    price: Any  # p_t.KL(Q_t || Q_{V_{t+1}}), the plan in hindsight; nan where that is not known, as in the next two
    planned: Any  # p_t.V_t - p_{t+1}.V_{t+1}, which the plan pays in round t from where the learner is
    span_plan: Any  # span(V_{t+1})
