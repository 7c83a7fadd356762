"""What a run is: the inputs and options that determine every number in it, as a small TOML file.

    kernel = "ring:12"
    costs = "switching:50"
    learners = ["ftl", "track"]
    rounds = 2000

Options left out have their defaults. A file with faults is refused with all of them at once. Paths stand as they were
typed, so they start from the folder where the command was run.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from lsmdp.costs import Costs, read_costs
from lsmdp.costs.moves import Moves, in_unit
from lsmdp.costs.names import STANDARD_INPUT
from lsmdp.costs.names import find as find_family
from lsmdp.errors import SpecError
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.records import in_words, read_toml
from lsmdp.learners import Learner, learner_by_name
from lsmdp.learners.names import USUAL_LEARNERS
from lsmdp.model import LMDP
from lsmdp.sources import MODELS, read_edge_costs, read_model
from lsmdp.sources.names import find, is_own

# These endings are left out of the name of a folder.
SOURCE_ENDINGS = "npz|npy|mtx|csv|tsv|txt|parquet|jsonl|map|graphml|gml|tntp"
_MOST_ROUNDS = 10**12  # A game has at most this many rounds: the fastest learner would take a week.
_MOST_WALKERS = 10**9  # At most this many walkers are sampled, which take 8 GB.
_CHARACTERS_OF_A_FOLDER = 100  # The name of a folder has at most this many characters; most systems allow 255 bytes.


Place: TypeAlias = tuple[int | str, ...]  # of a value: its field, and where in that it stands


def _known(name: str) -> str:
    learner_by_name(name)
    return name


class Spec(BaseModel):
    """Everything that is needed to run it again; the fields are the options of ``lsmdp play``."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kernel: str
    costs: str
    learners: Annotated[tuple[Annotated[str, AfterValidator(_known)], ...], Field(strict=False, min_length=1)] = (
        USUAL_LEARNERS
    )
    rounds: Annotated[int, Field(ge=1, le=_MOST_ROUNDS)] | None = None
    start: str = "0"
    seed: Annotated[int, Field(ge=0)] = 0
    sample: Annotated[int, Field(ge=0, le=_MOST_WALKERS)] = 0
    feedback: Literal["full", "visited"] = "full"
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None
    bracket: bool = False
    dynamic: bool = False
    temperature: Annotated[float, Field(gt=0)] = 1.0
    normalise: bool = False
    largest_class: bool = False
    teleport: float = 0.0
    lazy: float = 0.0
    columns: str | None = None
    weight: str | None = None
    undirected: bool = False
    edge_costs: str | None = None
    missing: float | None = None

    @classmethod
    def of(cls, **fields: Any) -> Spec:
        """The spec with these fields, or a SpecError that lists everything that is wrong with them."""
        return cls._made(fields, _as_field)

    @classmethod
    def of_options(cls, **options: Any) -> Spec:
        """The same for the options of a command: what is wrong names these."""
        return cls._made(options, _as_option)

    @classmethod
    def _made(cls, fields: dict[str, Any], called: Callable[[Place], str]) -> Spec:
        try:
            return cls(**fields)
        except ValidationError as wrong:
            faults = [_fault(error, called) for error in _innermost(wrong.errors())]
            raise SpecError(f"{'; '.join(faults)}.") from None

    def model(self) -> LMDP:
        """The model that it names, repaired as it says; with costs of moves, in a unit that costs fit into."""
        return self._bare() if self.edge_costs is None else self._in_unit()[0]

    def _in_unit(self) -> tuple[LMDP, Moves]:
        lmdp = self._bare()
        return in_unit(lmdp, read_edge_costs(self.edge_costs or "", lmdp))

    def _bare(self) -> LMDP:
        return read_model(
            self.kernel,
            normalise=self.normalise,
            largest_class=self.largest_class,
            teleport=self.teleport,
            lazy=self.lazy,
            temperature=self.temperature,
            columns=self.columns,
            weight=self.weight,
            undirected=self.undirected,
        )

    def cost_sequence(self, lmdp: LMDP) -> Costs:
        """The costs that it names, for this model."""
        return read_costs(
            self.costs,
            lmdp,
            rounds=self.rounds,
            seed=self.seed,
            scale=self.scale,
            missing=self.missing,
            moves=None if self.edge_costs is None else self._in_unit()[1],
        )

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files that it leads to, each with what it holds; one that lies beside another comes after it."""
        if find(self.kernel, MODELS) is None:
            from lsmdp.sources.files import kernel_paths

            yield from kernel_paths(self.kernel)
        if find_family(self.costs) is None and self.costs != STANDARD_INPUT:
            yield "costs", Path(self.costs)
        if self.edge_costs is not None and not is_own(self.edge_costs):
            yield "edge costs", Path(self.edge_costs)

    def players(self) -> list[Learner]:
        """The learners that it names."""
        return [learner_by_name(name) for name in self.learners]

    def command(self, folder: Path) -> str:
        """The command that goes on with this run in ``folder``."""
        words = ["lsmdp", "play", self.kernel, "--costs", self.costs]
        words += [word for name in self.learners for word in ("--learner", name)]
        for name, value in self.model_dump(exclude={"kernel", "costs", "learners"}, exclude_defaults=True).items():
            values = value if isinstance(value, tuple) else () if value is True else (value,)
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
        return shlex.join([*words, "--out", str(folder), "--resume"])

    def to_toml(self) -> str:
        """All fields but those that are not given, a line each."""
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.model_dump(exclude_none=True).items())

    @classmethod
    def read(cls, path: Path) -> Spec:
        """The spec in a TOML file."""
        try:
            fields = read_toml(path)
        except UnreadableError as broken:
            raise SpecError(f'"{path}" is not TOML: {broken}. Correct it by hand.') from None
        except OSError as refused:
            raise SpecError(f'"{path}" cannot be read: {refused.strerror or refused}. Check the file.') from None
        try:
            return cls.of(**fields)
        except SpecError as wrong:
            raise SpecError(f'"{path}": {wrong} Correct it by hand.') from None


def default_folder(kernel: str, costs: str) -> Path:
    """Where a run goes if nothing else is said: runs/KERNEL-COSTS, in letters that every file system takes."""
    words = [Path(kernel).name, "stdin" if costs == STANDARD_INPUT else Path(costs).name]
    bare = [re.sub(rf"\.({SOURCE_ENDINGS})$", "", word, flags=re.IGNORECASE) for word in words]
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(bare)).strip("-.")
    return Path("runs", safe[:_CHARACTERS_OF_A_FOLDER] or "run")


def _innermost(errors: Sequence[Any]) -> list[Any]:
    """Without those about a whole whose part is wrong: what is left of a tuple may be too short, which is no news."""
    places = [error["loc"] for error in errors]
    return [
        error
        for error in errors
        if not any(len(place) > len(error["loc"]) and place[: len(error["loc"])] == error["loc"] for place in places)
    ]


def _as_field(place: Place) -> str:
    """How a fault in a file names its place."""
    return ".".join(map(str, place)) or "spec"


def _as_option(place: Place) -> str:
    """How a fault on the command line names its place."""
    name = str(place[0])
    return {"kernel": "KERNEL", "learners": "--learner"}.get(name, f"--{name.replace('_', '-')}")


def _fault(error: Any, called: Callable[[Place], str]) -> str:
    """One fault in words: the field, what is wrong, and what stands there."""
    field = _as_field(error["loc"])
    if error["type"] == "extra_forbidden":
        return f'there is no field "{field}"'
    if error["type"] == "missing":
        return f'the field "{field}" is missing'
    return f"{called(error['loc'])} is {error['input']!r}: {in_words(error)}"


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # strings, booleans and whole numbers
