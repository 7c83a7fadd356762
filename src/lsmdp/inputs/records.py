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

# This is what is wrong with a value, by the kinds of faults that pydantic tells apart.
_IN_WORDS = {
    "missing": "it is missing",
    "int_type": "it must be a whole number",
    "float_type": "it must be a number",
    "finite_number": "it must be a finite number",
    "string_type": "it must be a text",
    "bool_type": "it must be true or false",
    "list_type": "it must be a list",
    "tuple_type": "it must be a list",
    "dict_type": "it must be a table of names and values",
    "model_type": "it must be a table of names and values",
    "greater_than_equal": "it must be at least {ge:,}",
    "greater_than": "it must be above {gt:,}",
    "less_than_equal": "it must be at most {le:,}",
    "less_than": "it must be below {lt:,}",
    "too_short": "it must have at least {min_length}, not {actual_length}",
    "too_long": "it must have at most {max_length}, not {actual_length}",
    "literal_error": "it must be {expected}",
}
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
        faults = [f"{_place(fault['loc'])}: {in_words(fault)}" for fault in wrong.errors()[:_MOST_FAULTS]]
        raise UnreadableError("; ".join(faults)) from None
    found: dict[str, Any] = content
    return found


def in_words(fault: Any) -> str:
    """What pydantic found wrong with a value, as a clause without a full stop."""
    if fault["type"] == "value_error":  # it is ours
        return str(fault["ctx"]["error"]).rstrip(".")
    if fault["type"] in _IN_WORDS:
        return _IN_WORDS[fault["type"]].format(**fault.get("ctx", {}))
    text = str(fault["msg"]).replace("Input should", "it must")
    return f"{text[0].lower()}{text[1:]}"


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
