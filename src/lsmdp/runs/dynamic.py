"""The dynamic regret of a run by rounds and by states, as two tables in its folder.

    dynamic.parquet           round, learner, dynamic     what not knowing the future cost in each round
    dynamic_states.parquet    state, learner, dynamic     the same by states: where knowledge would have been worth most

Both sum up to ``regret.dynamic`` of summary.json, learner by learner and within rounding (regret/dynamic.py). They are
written before the summary, once the game is over, and only where the rounds were played again for them: at once where
that takes a moment, and however long it takes with ``dynamic = true`` in the spec (--dynamic). What is written while a
game is played does not depend on them. States go by their labels, or by their numbers where they have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.files import atomic
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet
from lsmdp.model import LMDP
from lsmdp.output.tables import names_column
from lsmdp.regret import Regret
from lsmdp.runs.folder import Folder, damaged

if TYPE_CHECKING:
    import pyarrow as pa

# The dynamic regret is in these two files of a run's folder, round by round and state by state.
BY_ROUND, BY_STATE = "dynamic.parquet", "dynamic_states.parquet"


class AttributedRegrets(NamedTuple):
    """The dynamic regret of each learner, by rounds and by states."""

    by_round: Mapping[str, Floats]
    by_state: Mapping[str, Floats]


def attributed(found: Regret) -> AttributedRegrets | None:
    """What is known by rounds and states, if it is known of everybody."""
    known = {one.name: None if one.dynamic is None else one.dynamic.known for one in found.learners}
    both = {name: (told.by_round, told.by_state) for name, told in known.items() if told is not None}
    if len(both) < len(known):
        return None
    return AttributedRegrets(
        {name: one for name, (one, _) in both.items()}, {name: one for name, (_, one) in both.items()}
    )


def write_dynamic(folder: Folder, lmdp: LMDP, found: AttributedRegrets) -> None:
    """Write both tables."""
    import pyarrow as pa

    rounds = len(next(iter(found.by_round.values())))
    everyone = list(found.by_round)
    count = len(everyone)
    _write(
        folder.path / BY_ROUND,
        pa.table(
            {
                "round": np.tile(np.arange(1, rounds + 1), count),
                "learner": pa.array(np.repeat(everyone, rounds), pa.string()),
                "dynamic": np.concatenate([found.by_round[name] for name in everyone]),
            }
        ),
    )
    _write(
        folder.path / BY_STATE,
        pa.table(
            {
                "state": names_column(lmdp.labels, np.tile(np.arange(lmdp.n), count)),
                "learner": pa.array(np.repeat(everyone, lmdp.n), pa.string()),
                "dynamic": np.concatenate([found.by_state[name] for name in everyone]),
            }
        ),
    )


def read_dynamic(folder: Folder) -> AttributedRegrets | None:
    """What the folder of a finished run says, or None where its rounds were not played again."""
    summary = folder.summary()
    if any(one.get("dynamic_regret_by_divergence") is None for one in summary["learners"].values()):
        return None
    names, sizes = list(summary["learners"]), {BY_ROUND: summary["rounds"], BY_STATE: summary["states"]}
    return AttributedRegrets(*(_read(folder.path / name, names, size) for name, size in sizes.items()))


def _write(path: Path, table: pa.Table) -> None:
    from pyarrow import parquet

    with atomic(path) as stream:
        parquet.write_table(table, stream, compression="zstd", **CHECKSUMS)


def _read(path: Path, names: list[str], size: int) -> dict[str, Floats]:
    """The column of each learner, of so many numbers."""
    try:
        table = read_parquet(path)
    except (UnreadableError, OSError) as broken:
        raise damaged(path, broken) from None
    if table.column_names[1:] != ["learner", "dynamic"] or table.num_rows != size * len(names):
        raise damaged(path, f"it is no table of {len(names):,} learners and {size:,} numbers for each")
    figures = table["dynamic"].to_numpy()
    if figures.dtype != np.float64 or not np.isfinite(figures).all() or table["learner"].to_pylist()[::size] != names:
        raise damaged(path, "its columns are not those of a dynamic regret")
    return dict(zip(names, figures.reshape(len(names), size), strict=True))
