"""Which column of somebody's table is which: the ends of moves, weights, who, when and where.

People call the two ends of an edge from and to, source and target, src and dst, origin and destination, u and v, and
so on; in capitals, with words around them (``Start Station``, ``end_station``), in several languages. A pair is found
where two names are the same but for one word, and those words belong together (``_PAIRED_WORDS``): so ``Start Station``
goes with ``End Station`` and not with ``End Date``. Where several pairs are found, the first that is no time and no
coordinate is taken. Other columns go by lists of words.

Everything found here is a guess, unless the column has the very name that the manual gives it. Who reads a table says
what was guessed (``said``), and the user can say it instead: ``--columns from=NAME,to=NAME,weight=NAME``, where a NAME
is one of the header or, counted from 1, a number of a column.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from lsmdp.errors import SpecError
from lsmdp.inputs.labels import number_in

Columns = str | Mapping[str, str | int] | None  # as a user gives them

# A word for where a move begins is followed by those for where it ends.
_PAIRED_WORDS: Mapping[str, tuple[str, ...]] = {
    "from": ("to",),
    "source": ("target", "destination", "dest", "sink", "cible"),
    "src": ("dst", "dest", "tgt", "trg", "target"),
    "origin": ("destination", "dest", "target"),
    "orig": ("dest", "destination"),
    "start": ("end", "stop", "finish"),
    "started": ("ended",),
    "begin": ("end",),
    "init": ("term",),
    "u": ("v",),
    "i": ("j",),
    "o": ("d",),
    "tail": ("head",),
    "pickup": ("dropoff",),
    "pu": ("do",),
    "departure": ("arrival",),
    "prev": ("curr", "current", "next"),
    "previous": ("current", "next"),
    "current": ("next",),
    "follower": ("followee",),
    "citing": ("cited",),
    "von": ("nach",),
    "quelle": ("ziel",),
    "depart": ("arrivee", "arrivée"),
    "départ": ("arrivée",),
    "origine": ("destination", "destinazione"),
    "origen": ("destino",),
    "desde": ("hasta",),
    "van": ("naar",),
}
# A column with one of these names holds the weights of moves; the first of them that is there is taken.
_WEIGHTS = (
    "weight weights w count counts n num number freq frequency times trips transitions flow volume probability prob p "
    "chance share value capacity total gewicht anzahl poids peso"
)
# A column of a log with one of these words in its name has that role; the first that fits is taken.
_WORDS = {
    "entity": "entity user person device vehicle bike session visitor customer case track trajectory object agent id",
    "time": "time timestamp datetime date ts when at t step seconds",
    "state": "state place location station stop node zone room page url activity event cell area region stage status",
}
# Beside one of these words, 1 and 2 or a and b tell the two ends of a move.
_NUMBERED = "node vertex id end state place name user person station stop site city point page"
# A column with one of these words in its name holds no places.
_NO_PLACES = "date time datetime timestamp at lat latitude lon lng long longitude x y"
# A column with one of these words in its name may hold times.
_TIMES = frozenset(("date", "time", "datetime", "timestamp", "at"))
_NAMES_OF_A_HEADER = 12  # So many names of a header are quoted in a sentence.
# A name of a column with more words than this is a text that has gone astray, and is not looked at word by word.
_WORDS_OF_A_NAME = 12


def words_of(name: str) -> list[str]:
    """The words in the name of a column: ``fromNodeId``, ``from_node_id`` and ``From Node ID`` are three words each."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name.strip())
    return [word.lower() for word in re.split(r"[\W_]+", spaced) if word]


def as_columns(asked: Columns, roles: Sequence[str]) -> dict[str, str]:
    """What ``--columns`` says, such as ``from=a,to=b``: the name of a column for some of the roles."""
    if not asked:
        return {}
    if not isinstance(asked, str):
        given = {str(role): str(name) for role, name in asked.items()}
    else:
        given = {}
        for part in next(csv.reader([asked], skipinitialspace=True)):
            role, equals, name = part.partition("=")
            if not (equals and role.strip() and name.strip()):
                raise SpecError(
                    f'the columns are "{asked}". Write what each column is and its name, such as '
                    f"{','.join(f'{role}=NAME' for role in roles[:2])} (--columns)."
                )
            given[role.strip().lower()] = name.strip()
    if strange := [role for role in given if role not in roles]:
        raise SpecError(f'there is no column "{strange[0]}" to name. Name some of: {", ".join(roles)} (--columns).')
    return given


def column_called(name: str, header: Sequence[str] | None, width: int) -> int:
    """The place of the column that a user names: as in the header, in any case of letters, or by its number from 1."""
    names = [] if header is None else list(header)
    for these, wanted in ((names, name), ([one.strip().lower() for one in names], name.strip().lower())):
        if these.count(wanted) == 1:
            return these.index(wanted)
        if these.count(wanted) > 1:
            raise SpecError(f'there are {these.count(wanted)} columns "{name}". Keep one, or give its number from 1.')
    number = number_in(name)
    if number is not None and 1 <= number <= width:
        return number - 1
    if not names:
        raise SpecError(f'there is no column "{name}", and no header. Give its number, 1 to {width} (--columns).')
    near = get_close_matches(name, names, n=1)
    hint = f'Did you mean "{near[0]}"?' if near else "Name one of these (--columns), or give its number from 1."
    raise SpecError(f'there is no column "{name}" among {shown(names)}. {hint}')


def ends_of(header: Sequence[str], *, times: bool = False) -> tuple[int, int] | None:
    """The columns where a move begins and ends, if two names say so; with ``times``, when it does."""
    named = [words_of(name) for name in header]
    for fewest in sorted({len(words) for words in named}):
        for place, words in enumerate(named):
            if len(words) != fewest or _is_place(words) == times or (times and not _TIMES & set(words)):
                continue
            for other in _counterparts(words):
                if other in named:
                    return place, named.index(other)
    return None


def _is_place(words: Sequence[str]) -> bool:
    return not {*_NO_PLACES.split()} & set(words) and not any(word.startswith("time") for word in words)


def _counterparts(words: list[str]) -> Iterator[list[str]]:
    if len(words) > _WORDS_OF_A_NAME:
        return
    for at, word in enumerate(words):
        for end in _PAIRED_WORDS.get(word, ()):
            yield [*words[:at], end, *words[at + 1 :]]
        if word in ("1", "a") and {*_NUMBERED.split()} & set(words):
            yield [*words[:at], {"1": "2", "a": "b"}[word], *words[at + 1 :]]


def weight_of(header: Sequence[str], taken: Sequence[int]) -> int | None:
    """The column of weights, if a name says so."""
    named = [(place, "".join(words_of(name))) for place, name in enumerate(header) if place not in taken]
    for word in _WEIGHTS.split():
        for place, name in named:
            if name == word:
                return place
    return None


def role_of(role: str, header: Sequence[str], taken: Sequence[int]) -> int | None:
    """The column that is the entity, the time or the state of a record: by its name, or by a word in it."""
    named = [(place, words_of(name)) for place, name in enumerate(header) if place not in taken]
    for word in _WORDS[role].split():
        for test in (lambda words, word=word: words == [word], lambda words, word=word: word in words):
            for place, words in named:
                if test(words):
                    return place
    return None


def said(roles: Mapping[str, int], header: Sequence[str] | None) -> str:
    """How columns were read, in words: ``reading columns 1 and 2 ("source", "target") as from, to``."""
    places = list(roles.values())
    numbers = [str(place + 1) for place in places]
    which = (
        f"column{'s' * (len(numbers) > 1)} {' and '.join([', '.join(numbers[:-1]), numbers[-1]][len(numbers) < 2 :])}"
    )
    names = "" if header is None else f" ({', '.join(quoted(header[place]) for place in places)})"
    return f"reading {which}{names} as {', '.join(roles)}"


def quoted(name: str) -> str:
    """A name in a sentence."""
    return f'"{name}"'


def shown(header: Sequence[str]) -> str:
    """The names of a header in a sentence."""
    more = f" and {len(header) - _NAMES_OF_A_HEADER} more" if len(header) > _NAMES_OF_A_HEADER else ""
    return ", ".join(map(quoted, header[:_NAMES_OF_A_HEADER])) + more
