"""Each compiled loop has a test in this folder that holds it against a few lines of NumPy, and a line in this table."""

from __future__ import annotations

import ast
from pathlib import Path

import lsmdp

CORE = Path(lsmdp.__file__).parent / "_core"
HERE = Path(__file__).parent
LONGEST_REFERENCE = 20

TESTED_BY = {
    "chains": {
        "balance": "test_chains.test_the_law_of_detailed_balance",
        "left_null": "test_chains.test_the_backward_sums_of_a_law",
        "visits": "test_chains.test_expected_visits",
    },
    "chord": {
        "rounds _round": "test_chord.test_rounds_are_those_of_numpy",
        "aged": "test_chord.test_a_factor_is_worn_once_a_new_one_would_have_paid",
        "_step": "test_chord.test_a_step_is_a_solve_for_what_the_pairs_leave",
        "_remember": "test_chord.test_pairs_are_orthonormal_and_moves_go_with_their_changes",
        "_look": "test_chord.test_a_look_is_the_certificate",
    },
    "clocks": {
        "keep_plan _is_due _forecast _guess _renew _shift": "test_clocks.test_the_plan_is_that_of_the_reference",
        "enclosed": "test_clocks.test_the_bounds_hold_and_every_slot_obeys_its_equation_within_the_tolerance",
    },
    "crowds": {
        "play _weigh _blend _move _learn _multiply _weave": "test_crowds.test_rounds_are_those_of_the_formulas",
    },
    "dissection": {
        "_dissect _bfs _thin_level _split": "test_ordering.test_states_are_ordered_by_nested_dissection",
    },
    "exits": {
        "_soft_minima": "test_exits.test_soft_minima",
        "_sweep": "test_exits.test_sweep",
        "_sweep_linear": "test_exits.test_sweep_linear",
        "_leading": "test_exits.test_leading",
    },
    "explog": {
        "extremes": "test_explog.test_extremes",
        "exponentials": "test_explog.test_exponentials",
        "logarithms": "test_explog.test_logarithms",
        "near_excess excess": "test_full_loops.test_figures_of_rounds",
    },
    "factor": {
        "_factor _remove _pass_on _shares": "test_factor.test_shares_and_pivots_are_those_of_a_dense_elimination",
        "_spread": "test_factor.test_shares_by_state_are_the_columns_of_L",
        "_forward _backward": "test_factor.test_solves_are_those_with_dense_triangles",
    },
    "full": {
        "_weigh _weigh_block": "test_full_loops.test_weights",
        "_lead _certify mix_columns": "test_full_loops.test_one_step_of_a_leader",
        "_track": "test_full_loops.test_tracking",
    },
    "full_accounts": {"_figures _change _differ": "test_full_loops.test_figures_of_rounds"},
    "full_laws": {
        "_push _push_block": "test_full_loops.test_pushing_a_law",
        "_approach": "test_full_loops.test_laws_from_an_anchor",
        "_reduce": "test_full_loops.test_stationary_laws",
    },
    "hindsight": {
        "values_back": "test_hindsight.test_values_and_their_rounding",
        "push_along": "test_hindsight.test_laws_of_changing_policies",
        "slopes_back": "test_hindsight.test_slopes",
        "add_costs": "test_hindsight.test_sums_of_costs_lose_nothing",
    },
    "matrices": {"compare_rows": "test_matrices.test_pairs_of_rows"},
    "means": {"_carry": "test_means.test_discounted_means"},
    "mixtures": {
        "complete": "test_mixtures.test_flows_are_completed",
        "hedge": "test_mixtures.test_weigh",
        "_account": "test_mixtures.test_account",
    },
    "ordering": {
        "_fill": "test_ordering.test_tree_and_counts_are_those_of_the_fill",
        "_postorder": "test_ordering.test_trees_are_walked_children_first",
        "_merge": "test_ordering.test_merged_blocks_are_those_of_numpy",
    },
    "panels": {
        "keep _through _write": "test_panels.test_panels_are_all_paths_through_a_block",
        "forward backward": "test_panels.test_solves_with_panels_are_those_with_dense_triangles",
    },
    "paths": {"_settle": "test_paths.test_lowering_to_paths_is_the_shortest_path_closure"},
    "power": {"_step power_walk": "test_power.test_power_steps_are_products"},
    "sparse": {
        "_certify enclose": "test_sparse.test_the_bounds_enclose_every_exact_residual",
        "flat_sums steep_sums logs_of": "test_sparse.test_a_flow_is_the_sums_of_the_rows",
        "evaluate_into": "test_sweeps.test_rounds_are_attempts_with_certificates",
        "_sample": "test_sparse.test_samples_invert_the_distribution",
    },
    "sparse_play": {
        "_spread": "test_sparse_play.test_a_round_of_play",
        "_compare _weigh": "test_sparse_play.test_a_change_of_policy",
    },
    "sweeps": {
        "rounds": "test_sweeps.test_rounds_are_attempts_with_certificates",
        "_attempt _extent": "test_sweeps.test_an_attempt_ends_where_its_sweeps_say",
        "_prepare _sweep _move _extremes _added": "test_sweeps.test_sweeps_are_those_of_gauss_and_seidel",
        "_split": "test_sweeps.test_sets_that_are_seldom_left_are_balanced",
        "_levels": "test_sweeps.test_levels_are_those_of_numpy",
        "_eliminated": "test_sweeps.test_a_few_equations_are_solved",
    },
    "walks": {"_running_sums _walk": "test_walks.test_the_loop_is_its_definition"},
}


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]


def is_compiled(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).partition("(")[0] in ("entry", "inner", "njit") for one in function.decorator_list)


def test_every_compiled_loop_has_a_reference() -> None:
    compiled = {f"{path.stem}.{one.name}" for path in CORE.glob("*.py") for one in functions(path) if is_compiled(one)}
    listed = {f"{file}.{name}" for file, tests in TESTED_BY.items() for names in tests for name in names.split()}
    assert compiled
    assert not compiled - listed, "these have no reference"
    assert not listed - compiled, "these are compiled no more"


def test_every_test_of_the_table_exists() -> None:
    there = {f"{path.stem}.{one.name}" for path in HERE.glob("test_*.py") for one in functions(path)}
    assert not {test for tests in TESTED_BY.values() for test in tests.values()} - there


def lines_of(function: ast.FunctionDef) -> int:
    """Lines of a function below its first line and its docstring."""
    said = ast.get_docstring(function) is not None
    return (function.end_lineno or 0) - function.body[0].lineno + (0 if said else 1)


def test_references_are_short() -> None:
    """What a test calls by its name is a reference, or makes a case; nobody reads a long one as a specification."""
    helpers = {
        f"{path.name}: {one.name}": lines_of(one)
        for path in HERE.glob("test_*.py")
        for one in functions(path)
        if not one.name.startswith("test_")
    }
    assert {name: lines for name, lines in helpers.items() if lines > LONGEST_REFERENCE} == {}
