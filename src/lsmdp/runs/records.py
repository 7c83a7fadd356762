"""What manifest.json and summary.json hold, as far as anybody looks into them.

A file that does not fit is refused as damaged when it is read. Other fields may be there as well: a later version may
have more to say.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1, lt=2**53)]
FloatOrNone = float | None


class StrictRecord(BaseModel):
    """Strict types, finite numbers, and room for more fields."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, frozen=True)


class Unit(StrictRecord):
    """The unit of a game with costs of moves, and what was taken off each round (costs/moves.py)."""

    unit: Annotated[float, Field(ge=1.0)]
    least: float


class Manifest(StrictRecord):
    """Versions and hashes of the inputs (manifest.py)."""

    versions: dict[str, str]
    kernel: str
    costs: str | None
    seed: Annotated[int, Field(ge=0)]
    states: Count
    start: str | int
    moves: Unit | None = None


class Regrets(StrictRecord):
    """Of one learner, each under the name of its comparator."""

    leader: FloatOrNone
    best_stationary_low: FloatOrNone
    best_stationary_high: FloatOrNone
    dynamic: FloatOrNone = None  # which earlier versions did not have


class Paid(StrictRecord):
    """What one learner paid, in some unit."""

    loss: float
    state_cost: float
    control_cost: float
    ideal_loss: FloatOrNone
    idealised_regret: FloatOrNone
    regret: Regrets


class Expert(StrictRecord):
    """One learner of a pool: what it would have paid by itself, and the weight that it ended with."""

    loss: float
    weight: Annotated[float, Field(ge=0.0, le=1.0 + 1e-9)]


class ExpertsRecord(StrictRecord):
    """The learners of a pool, and the two sums of its theorem (regret/pooled.py)."""

    best: str
    loss_at_most: float
    mixed_losses: float
    lag_of_the_law: float
    experts: Annotated[dict[str, Expert], Field(min_length=1)]

    @model_validator(mode="after")
    def _best_is_one(self) -> Self:
        if self.best not in self.experts:
            raise ValueError("the best expert is none of the experts")
        return self


class Figures(Paid):
    """All figures of one learner of a finished run."""

    transient: FloatOrNone
    comparator: FloatOrNone
    dynamic_regret_by_divergence: FloatOrNone = None
    regret_at_most_by_mixing_sum: dict[str, float]
    regret_against_leader_along: list[Annotated[list[float], Field(min_length=3, max_length=3)]]
    experts: ExpertsRecord | None = None
    seconds: float


class InUserUnits(StrictRecord):
    """The same in the user's units."""

    low: float
    high: float
    learners: Annotated[dict[str, Paid], Field(min_length=1)]


class Summary(StrictRecord):
    """Losses and regrets of a finished run (summary.py)."""

    states: Count
    rounds: Count
    start: str | int
    finished: bool
    average_cost_of_leader: float
    average_cost_bounds: Annotated[list[float], Field(min_length=2, max_length=2)]
    learners: Annotated[dict[str, Figures], Field(min_length=1)]
    notes: list[str]
    your_units: InUserUnits | None = None

    @model_validator(mode="after")
    def _same_learners(self) -> Self:
        if self.your_units is not None and list(self.your_units.learners) != list(self.learners):
            raise ValueError("the learners in your units are not those of the run")
        return self
