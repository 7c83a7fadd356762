"""Laws and values along a fixed sequence of costs: what a policy pays, and what the best plan would."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LEAST_SUM = 1e-200  # beside it a term that has underflowed is nothing


@njit(cache=True, error_model="numpy")
def _base_and_sum(
    indptr: Any, indices: Any, data: Any, temperature: float, v: Any, w: Any, x: int
) -> tuple[float, float]:
    """m and s = sum_y P(x,y) e^{-(v(y) - m)/temperature}, from w = e^{-v/temperature}, v >= 0.

    m = 0 serves nearly always. Where s would underflow, m is the smallest v among the successors of x.
    """
    s = 0.0
    for e in range(indptr[x], indptr[x + 1]):
        s += data[e] * w[indices[e]]
    if s > LEAST_SUM:
        return 0.0, s
    m = np.inf
    for e in range(indptr[x], indptr[x + 1]):
        m = min(m, v[indices[e]])
    s = 0.0
    for e in range(indptr[x], indptr[x + 1]):
        s += data[e] * np.exp(-(v[indices[e]] - m) / temperature)
    return m, s


@njit(cache=True, error_model="numpy")
def _values_back(
    indptr: Any,
    indices: Any,
    data: Any,
    costs: Any,
    temperature: float,
    eps: float,
    values: Any,
    minima: Any,
    errors: Any,
) -> None:
    """values[t] = V^_t from values[t+1], minima[t] = a_t and errors[t] >= max|e_t|, for the last round first."""
    for t in range(costs.shape[0] - 1, -1, -1):
        w = np.exp(-values[t + 1] / temperature)
        lowest, worst = np.inf, 0.0
        for x in range(w.size):
            m, s = _base_and_sum(indptr, indices, data, temperature, values[t + 1], w, x)
            surprise = -np.log(s)
            value = (costs[t, x] + m) + temperature * surprise  # eq:bellman_V
            entries = indptr[x + 1] - indptr[x]
            error = temperature * (3.0 * entries + 2.0 + 5.0 * abs(surprise)) + abs(costs[t, x] + m) + abs(value)
            error += temperature * entries * (1e-323 / s) / eps  # what terms below the smallest float have lost
            values[t, x] = value
            lowest = min(lowest, value)
            worst = max(worst, error)
        values[t] -= lowest
        minima[t] = lowest
        errors[t] = eps * (worst + values[t].max())


@njit(cache=True, error_model="numpy")
def _count_moves(indptr: Any, indices: Any, data: Any, temperature: float, values: Any, p: Any, moves: Any) -> None:
    """moves += sum_t p_t(x) Q_t(y|x), where Q_t belongs to V_{t+1} = values[t+1] and p_{t+1} = p_t Q_t."""
    after = np.empty_like(p)
    for t in range(values.shape[0] - 1):
        ahead = values[t + 1]
        w = np.exp(-ahead / temperature)
        after[:] = 0.0
        for x in range(p.size):
            if p[x] == 0.0:
                continue
            m, s = _base_and_sum(indptr, indices, data, temperature, ahead, w, x)
            for e in range(indptr[x], indptr[x + 1]):
                weight = w[indices[e]] if m == 0.0 else np.exp(-(ahead[indices[e]] - m) / temperature)
                mass = p[x] / s * data[e] * weight  # eq:optQ
                moves[e] += mass
                after[indices[e]] += mass
        total = after.sum()
        for x in range(p.size):
            p[x] = after[x] / total


@njit(cache=True, error_model="numpy")
def _follow(indptr: Any, indices: Any, data: Any, control: Any, block: Any, p: Any, paid: Any) -> None:
    """paid[0, t] = p_t.c_t and paid[1, t] = p_t.control, with p_{t+1} = p_t Q; p ends as the law after the block."""
    after = np.empty_like(p)
    for t in range(block.shape[0]):
        state_cost, control_cost, total = 0.0, 0.0, 0.0
        for x in range(p.size):
            after[x] = 0.0
        for x in range(p.size):
            if p[x] == 0.0:
                continue
            state_cost += p[x] * block[t, x]
            control_cost += p[x] * control[x]
            for e in range(indptr[x], indptr[x + 1]):
                after[indices[e]] += p[x] * data[e]
        paid[0, t] = state_cost
        paid[1, t] = control_cost
        for x in range(p.size):
            total += after[x]
        for x in range(p.size):
            p[x] = after[x] / total


@njit(cache=True, error_model="numpy")
def _add_costs(costs: Any, total: Any, lost: Any, lowest: Any, highest: Any) -> None:
    for t in range(costs.shape[0]):
        for x in range(costs.shape[1]):
            c = costs[t, x]
            new = total[x] + c
            shadow = new - total[x]
            lost[x] += (total[x] - (new - shadow)) + (c - shadow)  # what the sum has rounded off, exactly
            total[x] = new
            lowest[x] = min(lowest[x], c)
            highest[x] = max(highest[x], c)


@njit(cache=True, error_model="numpy")
def _laws_forward(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any) -> float:
    """Fill laws[t-1] = p_t from laws[0] = p_1, and return sum_t p_t.(c_t + control)."""
    after = np.empty(control.size)
    total = 0.0
    for t in range(costs.shape[0]):
        after[:] = 0.0
        for x in range(after.size):
            mass = laws[t, x]
            if mass == 0.0:
                continue
            total += mass * (costs[t, x] + control[x])
            for e in range(indptr[x], indptr[x + 1]):
                after[indices[e]] += mass * data[e]
        if t + 1 < costs.shape[0]:
            laws[t + 1] = after / after.sum()
    return total


@njit(cache=True, error_model="numpy")
def _slopes_back(indptr: Any, indices: Any, data: Any, control: Any, costs: Any, laws: Any, slopes: Any) -> None:
    """slopes(x,y) += sum_t p_t(x) J_{t+1}(y), with J_{t+1} less its minimum."""
    J = np.zeros(control.size)
    before = np.empty(control.size)
    for t in range(costs.shape[0] - 1, -1, -1):
        for x in range(J.size):
            mean = 0.0
            for e in range(indptr[x], indptr[x + 1]):
                j = J[indices[e]]
                slopes[e] += laws[t, x] * j
                mean += data[e] * j
            before[x] = costs[t, x] + control[x] + mean
        least = before.min()
        for x in range(J.size):
            J[x] = before[x] - least
