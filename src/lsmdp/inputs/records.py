"""Records that lsmdp keeps as JSON and people write as TOML, with the types that they should have.

A record that is valid JSON of another shape is as damaged as one that is no JSON at all. So what is read is compared
with a pydantic model, strictly, before anybody looks into it; the record itself is what is handed on.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmdp.inputs.files import UnreadableError, reason_of, require_regular

if TYPE_CHECKING:
    from pydantic import BaseModel

_MOST_FAULTS = 3  # So many faults of a record are named; somebody who repairs three sees the others next.


def read_json(path: Path, kind: type[BaseModel]) -> dict[str, Any]:
    """The object in a JSON file, once it fits a model."""
    require_regular(path)
    try:
        content = json.loads(path.read_bytes(), parse_constant=_refused)
        json.dumps(content, ensure_ascii=False).encode()  # half a character, which JSON can spell, cannot be printed
    except RecursionError:
        raise UnreadableError("it is nested too deeply") from None
    except ValueError as broken:
        raise UnreadableError(reason_of(broken)) from None
    return fitted(content, kind)


def fitted(content: Any, kind: type[BaseModel]) -> dict[str, Any]:
    """The content as it is, once it fits a model."""
    from pydantic import ValidationError

    try:
        kind.model_validate(content, strict=True)
    except ValidationError as wrong:
        faults = [f"{_place(fault['loc'])}: {fault['msg'].lower()}" for fault in wrong.errors()[:_MOST_FAULTS]]
        raise UnreadableError("; ".join(faults)) from None
    found: dict[str, Any] = content
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a TOML file."""
    require_regular(path)
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except RecursionError:
        raise UnreadableError("it is nested too deeply") from None
    except ValueError as broken:
        raise UnreadableError(reason_of(broken)) from None


def _refused(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _place(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place))[:60] or "the whole"
