"""The film of a run: what the world and each learner look like in some rounds, for the map of the page.

    film.parquet    round, learner, field, low, high, flat, levels

The frames are kept while the game is played, since to play it again for them would take as long as the game did. Some
rounds are kept (``_MOST_FRAMES``), dense at first and evenly spaced later, and fewer where the model is so large that
they would take more than ``BYTES_OF_A_FILM``. A frame has the cost of the round and the mean cost before it, which are
of no learner, and three fields of each learner that does not see costs beforehand: its value, the law of its state, and
its flow. A field is one byte per state, scaled between its least and its largest value in that frame; the law is on a
scale of square roots, so that rare places show too. A field whose values agree to six digits is flat: its colours would
show rounding.

A flow has two bytes per state. On a grid they are the mean step of the policy, E[position of the next state] -
position, in units of the longest step in the frame. On a network they say which move away from the state is the
likeliest, as its place among the moves of the state (255: there is none, or too many), and how likely it is.

The file is written before each checkpoint, with the frames so far, and so a game that goes on from there keeps them. A
run has none if no map would be drawn of it, if it is very large, or if nobody knows how many rounds there will be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsmdp.arrays import Floats
from lsmdp.files import atomic
from lsmdp.game import Game
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.parquet import CHECKSUMS, read_parquet
from lsmdp.learners import CompleteLearner
from lsmdp.model import LMDP
from lsmdp.policy import AnyPolicy, Policy
from lsmdp.runs.folder import Folder, damaged

if TYPE_CHECKING:
    import pyarrow as pa

FILM = "film.parquet"  # The frames of a run are in this file of its folder.
_MOST_FRAMES = 90  # A film has at most this many frames, enough for the eye to follow what moves.
FEWEST_FRAMES = 6  # A film has at least this many frames, however large the model.
# A field that spans less than this share of its size is drawn in one colour: its differences are rounding.
_SPAN_OF_NO_CHANGE = 1e-6
# The fields of a film take at most this many bytes before they are written in base64, so that a page stays small enough
# to be sent.
BYTES_OF_A_FILM = 2_400_000
# Beyond this many states no frames are kept while a game is played: the fewest would take more memory than the game.
STATES_FILMED = 100_000
STATES_LAID_OUT = 3_000  # At most this many states without places are laid out: those of more would be a cloud.
# At most this many moves of a network are drawn: more lines would cover the paper and make the page large.
MOST_MOVES = 150_000
NO_MOVE = 255  # This byte stands for no move in the flow on a network, since ranks of moves end below it.

PolicyAndLaw = tuple[AnyPolicy, Floats]  # what a learner plays in a round, and the law of its state before


class Field(NamedTuple):
    """Numbers for all states as bytes, between the least and the largest of them."""

    low: float
    high: float
    flat: bool
    levels: bytes


class Frame(NamedTuple):
    """A round: its fields, by the name of a learner ("" for the world) and by what they are."""

    t: int
    fields: dict[tuple[str, str], Field]


class Film:
    """The frames of a game: which rounds are wanted, and what each looked like once it was seen."""

    def __init__(self, lmdp: LMDP, learners: Iterable[CompleteLearner], T: int | None) -> None:
        self.lmdp = lmdp
        self.names = [learner.name for learner in learners if not learner.clairvoyant]
        wanted = wanted_rounds(T, lmdp.n, len(self.names)) if T and has_places(lmdp) else []
        self.rounds = frozenset(wanted)
        self.frames: list[Frame] = []

    @classmethod
    def of_game(cls, lmdp: LMDP, learners: Iterable[CompleteLearner], T: int | None) -> Film:
        """The film that is kept while a game is played: none of a very large model."""
        return cls(lmdp, learners, T if lmdp.n <= STATES_FILMED else None)

    def keep(self, game: Game, cost: Floats) -> None:
        """Keep a frame of the coming round of a game, which has this cost."""
        everyone = {player.learner.name: player for player in game.players}
        standing = {name: (everyone[name].coming, everyone[name].law) for name in self.names}
        self.look(game.t + 1, cost, game.seen.mean if game.t else np.zeros(self.lmdp.n), standing)

    def look(self, t: int, cost: Floats, mean: Floats, standing: Mapping[str, PolicyAndLaw]) -> None:
        """Keep a frame of round t, before it is played."""
        fields = {("", "cost"): scaled(cost), ("", "mean"): scaled(mean)}
        for name, (policy, law) in standing.items():
            fields[name, "value"] = scaled(policy.v if isinstance(policy, Policy) else np.zeros(law.size))
            fields[name, "law"] = scaled(law, root=True)
            fields[name, "flow"] = self._flow(policy)
        self.frames.append(Frame(t, fields))

    def _flow(self, policy: AnyPolicy) -> Field:
        if self.lmdp.grid_shape is not None:
            return mean_steps(policy, self.lmdp.positions)
        return likeliest_moves(policy) if self.lmdp.P.nnz <= MOST_MOVES else Field(0.0, 0.0, True, b"")

    def write(self, folder: Folder) -> None:
        """Write down the frames so far, if there are any."""
        from pyarrow import parquet

        if self.frames:
            with atomic(folder.path / FILM) as stream:
                parquet.write_table(self._table(), stream, compression="zstd", **CHECKSUMS)

    def resume(self, folder: Folder, t: int) -> None:
        """Go on with the frames of a game that was played up to round t; where some are not there, keep none at all."""
        if not self.read(folder, t):
            self.rounds, self.frames = frozenset(), []

    def read(self, folder: Folder, until: int) -> bool:
        """Take the frames of a folder up to a round, and tell whether all are there that are wanted."""
        path = folder.path / FILM
        if not path.is_file():
            return not any(t <= until for t in self.rounds)
        try:
            rows = read_parquet(path)
        except (UnreadableError, OSError) as broken:
            raise damaged(path, broken) from None
        if not rows.schema.equals(_schema()):
            raise damaged(path, "its columns are not those of a film")
        keys = [("", "cost"), ("", "mean"), *((name, what) for name in self.names for what in ("value", "law", "flow"))]
        if rows.num_rows % len(keys) or any(column.null_count for column in rows.columns):
            raise damaged(path, f"it is no table of {len(keys)} fields for each of some rounds")
        frames: list[Frame] = []
        for first in range(0, rows.num_rows, len(keys)):
            here = rows.slice(first, len(keys)).to_pylist()
            t = here[0]["round"]
            named = all(
                (row["round"], row["learner"], row["field"]) == (t, *key) for row, key in zip(here, keys, strict=True)
            )
            if not named or t <= (frames[-1].t if frames else 0):
                raise damaged(path, f"its row {first + 1} does not begin the fields of the next round")
            fields = {
                key: Field(row["low"], row["high"], row["flat"], row["levels"])
                for row, key in zip(here, keys, strict=True)
            }
            if fault := next((key for key, field in fields.items() if not self._fits(key[1], field)), None):
                raise damaged(
                    path, f"the field {' '.join(fault).strip()} of round {t} is not one of {self.lmdp.n} states"
                )
            frames.append(Frame(t, fields))
        self.frames = [frame for frame in frames if frame.t <= until]
        return {frame.t for frame in self.frames} >= {t for t in self.rounds if t <= until}

    def _fits(self, what: str, field: Field) -> bool:
        """Whether the numbers of a field are such as ``look`` makes."""
        n, ordered = self.lmdp.n, bool(np.isfinite([field.low, field.high]).all()) and field.low <= field.high
        sizes = {2 * n, 0} if what == "flow" else {n}
        return ordered and len(field.levels) in sizes

    def _table(self) -> pa.Table:
        import pyarrow as pa

        rows = [(frame.t, *key, *field) for frame in self.frames for key, field in frame.fields.items()]
        columns = [pa.array(column, kind.type) for column, kind in zip(zip(*rows, strict=True), _schema(), strict=True)]
        return pa.table(columns, schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    kinds = [("round", pa.int64()), ("learner", text), ("field", text), ("low", number), ("high", number)]
    return pa.schema([*kinds, ("flat", pa.bool_()), ("levels", pa.binary())])


def has_places(lmdp: LMDP) -> bool:
    """Whether there is a map of a model: it has places, or is small enough to be laid out by its moves."""
    return lmdp.positions is not None or lmdp.n <= STATES_LAID_OUT


def wanted_rounds(T: int, n: int, learners: int) -> list[int]:
    """The rounds to keep: half of them spread like powers, half evenly, the last one always."""
    per_frame = n * (2 + 4 * learners)
    count = int(np.clip(BYTES_OF_A_FILM // max(per_frame, 1), FEWEST_FRAMES, _MOST_FRAMES))
    powers = np.geomspace(1.0, T, max(count // 2, 2))
    even = np.linspace(1.0, T, max(count - count // 2, 2))
    return sorted({round(float(t)) for t in (*powers, *even)})


def scaled(values: Floats, root: bool = False) -> Field:
    """One byte per state, between the least and the largest value."""
    low, high = float(values.min()), float(values.max())
    flat = high - low <= _SPAN_OF_NO_CHANGE * max(abs(low), abs(high))
    share = np.zeros(values.shape) if flat else (values - low) / (high - low)
    levels = np.round(255.0 * (np.sqrt(share) if root else share)).astype(np.uint8)
    return Field(low, high, flat, levels.tobytes())


def likeliest_moves(policy: AnyPolicy) -> Field:
    """For each state its likeliest move to another: its place among the moves of the state, and its chance."""
    P, Q = policy.lmdp.P, policy.matrix()
    rows = policy.lmdp.entry_rows
    away = np.where(P.indices == rows, -1.0, Q.data)
    most = np.maximum.reduceat(away, P.indptr[:-1])
    at = np.flatnonzero(away == most[rows])
    first = at[np.unique(rows[at], return_index=True)[1]]  # one of each state
    rank = first - P.indptr[:-1]
    levels = np.stack(
        [np.where((most > 0.0) & (rank < NO_MOVE), rank, NO_MOVE), np.round(255.0 * np.maximum(most, 0.0))]
    )
    return Field(0.0, 1.0, False, levels.T.astype(np.uint8).tobytes())


def mean_steps(policy: AnyPolicy, positions: Any) -> Field:
    """The mean step of the policy from each state."""
    step = np.stack([policy.expect(positions[:, k]) - positions[:, k] for k in (1, 0)], axis=1)
    longest = float(np.abs(step).max())
    levels = np.round(127.0 + 127.0 * step / longest if longest > 0.0 else np.full(step.shape, 127.0))
    return Field(0.0, longest, False, levels.astype(np.uint8).tobytes())
