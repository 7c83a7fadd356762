"""The sweep file: what is to be tried against what.

    models = ["ring:12", { kernel = "grid:6x6", start = "7", horizons = [5000] }]
    costs = ["iid", "switching:50", { costs = "speeds.csv", scale = [70.0, 0.0] }]
    learners = ["ftl", "track", "passive"]
    horizons = [20000]
    seeds = 10                  # replicates 0 to 9, or a list of them
    seed = 0                    # the root of all seeds

Every model meets every cost family in every replicate for every horizon (its own, if it has some), with all learners
side by side. A model and a cost family take the options of ``lsmdp play``. Costs from a file do not depend on the
seed, so they are played once. Before anything is played, every model is made and every cost family is tried on it;
all that is wrong is said at once, each with its place in the file, counted from 0 as in ``models[2]``. Paths start
from the folder where the command is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lsmdp.costs.names import STANDARD_INPUT, find, unknown
from lsmdp.errors import LsmdpError, SpecError
from lsmdp.game import start_law
from lsmdp.inputs.files import UnreadableError
from lsmdp.inputs.records import in_words, read_toml
from lsmdp.learners import learner_by_name
from lsmdp.model import LMDP
from lsmdp.runs import Spec
from lsmdp.sweeps.jobs import (
    Job,
    digest_of,
    seeds,
    work_of,
)

# A sweep has at most this many replicates, more than anybody waits for, so that a slip of a key is noticed.
_MOST_REPLICATES = 100_000
# A sweep file is read word by word: nothing is converted, and no key is passed over.
_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

T = TypeVar("T")
Count = Annotated[int, Field(ge=1)]
Replicate = Annotated[int, Field(ge=0, lt=_MOST_REPLICATES)]


def _distinct(key: Callable[[Any], Any] = lambda entry: entry) -> AfterValidator:
    """Refuses a list that says nothing, or something twice."""

    def check(entries: tuple[Any, ...]) -> tuple[Any, ...]:
        if not entries:
            raise ValueError("it is empty; name at least one")
        first: dict[Any, int] = {}
        for k, entry in enumerate(entries):
            if first.setdefault(key(entry), k) != k:
                raise ValueError(f"entry {k} is entry {first[key(entry)]} again; name each once")
        return entries

    return AfterValidator(check)


def _known_learner(name: str) -> str:
    learner_by_name(name)
    return name


class ModelEntry(BaseModel):
    """A model of the sweep; the fields are options of ``lsmdp play``."""

    model_config = _STRICT

    kernel: str
    start: str = "0"
    temperature: Annotated[float, Field(gt=0, strict=False)] = 1.0
    normalise: bool = False
    largest_class: bool = False
    teleport: Annotated[float, Field(strict=False)] = 0.0
    lazy: Annotated[float, Field(strict=False)] = 0.0
    columns: str | None = None
    weight: str | None = None
    undirected: bool = False
    edge_costs: str | None = None
    horizons: Annotated[tuple[Count, ...], Field(strict=False), _distinct()] | None = None

    @property
    def label(self) -> str:
        """The kernel, and the options that are not the usual ones."""
        options = self.model_dump(exclude={"kernel", "horizons"}, exclude_defaults=True)
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in options.items())])

    def options(self) -> dict[str, Any]:
        """Its part of a spec."""
        return self.model_dump(exclude={"horizons"})


class CostEntry(BaseModel):
    """A cost family, or a file of costs with the values that cost 0 and 1."""

    model_config = _STRICT

    costs: str
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None

    @property
    def label(self) -> str:
        """The family, and its scale."""
        return self.costs if self.scale is None else f"{self.costs} scale={self.scale[0]:g},{self.scale[1]:g}"

    @property
    def random(self) -> bool:
        """Whether the seed matters."""
        return find(self.costs) is not None


def _named(field: str) -> BeforeValidator:
    """A bare string stands for an entry without options."""
    return BeforeValidator(lambda entry: {field: entry} if isinstance(entry, str) else entry)


def _counted(value: Any) -> Any:
    """10 stands for 0, 1, ..., 9."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST_REPLICATES:
            raise ValueError(f"there must be at least 1 and at most {_MOST_REPLICATES:,}")
        return tuple(range(value))
    return value


Model = Annotated[ModelEntry, _named("kernel")]
Cost = Annotated[CostEntry, _named("costs")]
Learner = Annotated[str, AfterValidator(_known_learner)]


class Sweep(BaseModel):
    """What a sweep file says."""

    model_config = _STRICT

    models: Annotated[tuple[Model, ...], Field(strict=False), _distinct(lambda entry: entry.label)]
    costs: Annotated[tuple[Cost, ...], Field(strict=False), _distinct(lambda entry: entry.label)]
    learners: Annotated[tuple[Learner, ...], Field(strict=False), _distinct(lambda name: learner_by_name(name).name)]
    horizons: Annotated[tuple[Count, ...], Field(strict=False), _distinct()]
    seeds: Annotated[tuple[Replicate, ...], Field(strict=False), BeforeValidator(_counted), _distinct()]
    seed: Annotated[int, Field(ge=0)] = 0


def read(path: Path) -> tuple[Sweep, list[Job]]:
    """A sweep file and its jobs, or a SpecError that lists all that is wrong with it."""
    try:
        fields = read_toml(path)
    except OSError as refused:
        raise SpecError(f'"{path}" cannot be read: {refused.strerror}. Name a sweep file (TOML).') from None
    except UnreadableError as broken:
        raise SpecError(f'"{path}" is not TOML: {broken}. Correct it by hand.') from None
    return plan(fields, str(path))


def plan(fields: Mapping[str, Any], name: str = "the sweep") -> tuple[Sweep, list[Job]]:
    """The sweep with these fields, and its jobs."""
    faults: list[str] = []
    sweep = None
    try:
        sweep = Sweep(**fields)
    except ValidationError as wrong:
        faults += map(_fault, wrong.errors())
    models = dict(_entries(fields, "models", Model))
    costs = dict(_entries(fields, "costs", Cost))
    made = dict(_made(models, faults))
    faults += _misfits(made, models, costs)
    jobs = [] if faults or sweep is None else list(_jobs(sweep, made))
    faults += _twins(jobs)
    if faults or sweep is None:
        count = f"{len(faults)} faults" if len(faults) > 1 else "a fault"
        raise SpecError("\n  ".join([f'"{name}" has {count}:', *faults]) + "\nCorrect the file and start again.")
    return sweep, jobs


def _entries(fields: Mapping[str, Any], field: str, kind: Any) -> Iterator[tuple[int, Any]]:
    """The entries of a list that are well formed by themselves, with their places."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(kind)
    listed = fields.get(field)
    for k, entry in enumerate(listed if isinstance(listed, list | tuple) else ()):
        try:
            yield k, adapter.validate_python(entry)
        except ValidationError:
            continue  # it is among the faults already


def _made(models: Mapping[int, ModelEntry], faults: list[str]) -> Iterator[tuple[int, LMDP]]:
    """The models that can be made and played on."""
    for k, entry in models.items():
        try:
            lmdp = Spec(costs="iid", **entry.options()).model()
            lmdp.require_irreducible()
            start_law(lmdp, entry.start)
            yield k, lmdp
        except (LsmdpError, OSError, MemoryError) as wrong:
            faults.append(f"models[{k}]: {wrong}")


def _misfits(
    made: Mapping[int, LMDP], models: Mapping[int, ModelEntry], costs: Mapping[int, CostEntry]
) -> Iterator[str]:
    """What is wrong with the costs, by themselves or on some model."""
    for j, entry in costs.items():
        if entry.costs == STANDARD_INPUT:
            yield f"costs[{j}]: standard input can be read only once, and a sweep reads its costs often. Name a file."
            continue
        if not made:
            yield from _unknown(j, entry)
        found: dict[str, list[int]] = {}
        for k, lmdp in made.items():
            try:
                Spec(costs=entry.costs, scale=entry.scale, rounds=1, **models[k].options()).cost_sequence(lmdp)
            except (LsmdpError, OSError) as wrong:
                found.setdefault(str(wrong), []).append(k)
        for sentence, where in found.items():
            whole = len(where) == len(made)
            yield f"costs[{j}]{'' if whole else ' on ' + _all(f'models[{k}]' for k in where)}: {sentence}"


def _unknown(j: int, entry: CostEntry) -> Iterator[str]:
    """What can be said of costs where there is no model to try them on."""
    family = find(entry.costs)
    try:
        if family is not None:
            family.parse(entry.costs)
        elif not Path(entry.costs).exists():
            raise unknown(entry.costs)
    except SpecError as wrong:
        yield f"costs[{j}]: {wrong}"


def _jobs(sweep: Sweep, made: Mapping[int, LMDP]) -> Iterator[Job]:
    """The jobs, in the order of the file."""
    of_replicate = dict(zip(sweep.seeds, seeds(sweep.seed, sweep.seeds), strict=True))
    for k, model in enumerate(sweep.models):
        for cost in sweep.costs:
            for horizon in model.horizons or sweep.horizons:
                for replicate in sweep.seeds if cost.random else sweep.seeds[:1]:
                    spec = Spec(
                        costs=cost.costs,
                        scale=cost.scale,
                        rounds=horizon,
                        learners=sweep.learners,
                        seed=of_replicate[replicate],
                        **model.options(),
                    )
                    digest = digest_of(spec, made[k], spec.cost_sequence(made[k]))
                    yield Job(model.label, cost.label, replicate, spec, digest, work_of(spec, made[k]))


def _twins(jobs: Iterable[Job]) -> Iterator[str]:
    """Games under two names, which would be counted twice."""
    first: dict[str, Job] = {}
    said = set()
    for job in jobs:
        other = first.setdefault(job.digest, job)
        names = [f"{one.model} against {one.costs}" for one in (other, job)]
        if other is not job and tuple(names) not in said:
            said.add(tuple(names))
            yield f"{names[1]} is the same game as {names[0]}. Name it once."


def _all(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _fault(error: Any) -> str:
    """One fault in words: its place, what stands there, and what is wrong with it."""
    place = ""
    for part in error["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    if error["type"] == "extra_forbidden":
        names = Sweep.model_fields if len(error["loc"]) == 1 else _fields_of(error["loc"][0])
        return f"{place}: there is no such field. The fields are {', '.join(names)}."
    if error["type"] == "missing":
        return f"{place}: it is missing. Add {_EXAMPLES.get(place, 'it')}."
    if error["type"] == "tuple_type":
        return (
            f"{place} is {_short(error['input'])}: it must be a list. Write {_EXAMPLES.get(place, 'one in brackets')}."
        )
    return f"{place} is {_short(error['input'])}: {in_words(error)}."


def _fields_of(field: Any) -> Iterable[str]:
    return ModelEntry.model_fields if field == "models" else CostEntry.model_fields


# What is missing in a sweep file is answered with an example.
_EXAMPLES = {
    "models": 'for example models = ["ring:12", "grid:6x6"]',
    "costs": 'for example costs = ["iid", "switching:50"]',
    "learners": 'for example learners = ["ftl", "passive"]',
    "horizons": "for example horizons = [1000]",
    "seeds": "for example seeds = 10",
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
