"""What the commands share: the program itself, options that several of them have, and how mistakes are told."""

from __future__ import annotations

import json
import logging
import shlex
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from lsmdp import __version__
from lsmdp.errors import ConvergenceError, LsmdpError
from lsmdp.sources.names import MODELS, whole


def listing(title: str, names: Mapping[str, str]) -> str:
    """All names with what they mean, one a line, for a help text (where \\b keeps the lines apart)."""
    return "\n".join(["\b", f"{title}:", *(f"  {name:<26}{meaning}" for name, meaning in names.items())])


KERNEL_HELP = (
    "A file (.npz, .npy, .mtx, .csv, .tsv, .txt, .parquet, .map or .map:8, .graphml, .gml, _net.tntp or _net.tntp:N) "
    "or a name from the list below."
)
# The epilogue of each command that takes a kernel lists the kernels by name.
KERNELS = listing("Kernels by name", {name.usage: name.meaning for name in MODELS.values()})
COMPILING = "Compiling loops for their first use. They are kept on disk: the next start takes a second or two."
# These options say how a kernel is read; ``read_model`` and the spec of a run have them by the same names.
KERNEL_OPTIONS = (
    "normalise",
    "largest_class",
    "teleport",
    "lazy",
    "temperature",
    "columns",
    "weight",
    "undirected",
)
_EXIT_CODES = "Exit codes: 0 done; 1 looked at and not so; 2 the input cannot be used; 130 interrupted."

Kernel = Annotated[str, typer.Argument(metavar="KERNEL", help=KERNEL_HELP, show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Normalise = Annotated[bool, typer.Option("--normalise", help="Divide every row by its sum.")]
LargestClass = Annotated[bool, typer.Option("--largest-class", help="Keep the largest strongly connected class only.")]
Teleport = Annotated[
    float, typer.Option("--teleport", metavar="EPS", help="Jump anywhere with probability EPS.", show_default=False)
]
Lazy = Annotated[
    float, typer.Option("--lazy", metavar="EPS", help="Stay put with probability EPS more.", show_default=False)
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="from=A,to=B,...", help="Which columns of an edge list are from, to and weight."),
]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="ATTR", help="Which attribute or column of an edge is its weight.")
]
Undirected = Annotated[bool, typer.Option("--undirected", help="Each edge of the file leads both ways.")]
EdgeCosts = Annotated[
    str | None,
    typer.Option(
        "--edge-costs",
        metavar="FILE",
        help="Costs of moves too: from, to, cost (.csv, .parquet), or a column of the kernel: tntp:free_flow_time.",
    ),
]
Missing = Annotated[
    float | None,
    typer.Option("--missing", metavar="COST", help="What states cost that a table or line by name leaves out."),
]
Temperature = Annotated[float, typer.Option("--temperature", help="The weight of the control cost.")]

app = typer.Typer(
    help="Linearly solvable MDPs, solved with a certificate.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def whole_number(text: str) -> int:
    """A whole number as an option has it, also written as 1e6 or 1_000."""
    try:
        return whole(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f'"{text}" is not a whole number. Write for example 1000, or 1e3.') from None


@contextmanager
def complaints() -> Iterator[None]:
    """Turns a user's mistake into one sentence on stderr and an exit code, and warnings into one sentence each."""
    try:
        with warnings.catch_warnings(), _notes_printed(), _telling_when_compiling():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _warn
            yield
    except LsmdpError as error:
        _complain(f"{type(error).__name__}: {error}", error)
        raise typer.Exit(1 if isinstance(error, ConvergenceError) else 2) from None
    except BrokenPipeError:
        raise
    except (OSError, MemoryError) as error:
        _complain(f"{type(error).__name__}: {error or 'this needs more memory than there is'}.", error)
        raise typer.Exit(2) from None
    except KeyboardInterrupt as stop:
        _complain("Interrupted." if _notes(stop) else "Interrupted; nothing was written.", stop)
        raise typer.Exit(130) from None


def kernel_options(context: typer.Context) -> dict[str, Any]:
    """Those options of the command that is being run that say how its kernel is read."""
    return {name: context.params[name] for name in KERNEL_OPTIONS if name in context.params}


def command_line(context: typer.Context, name: str, **more: object) -> str:
    """The command ``name`` with the arguments of the one that is being run and more options, ready to paste."""
    words = ["lsmdp", name]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.param_type_name == "argument":
            words.append(as_argument(value))
        elif parameter.name not in ("as_json", *more) and value is not False and value not in (None, parameter.default):
            words += [parameter.opts[0]] if value is True else [parameter.opts[0], str(value)]
    for option, value in more.items():
        flag = f"--{option.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    return shlex.join(words)


def as_argument(value: object) -> str:
    """A word that no command takes for an option, also where it is the path of a file called -."""
    return f"./{value}" if str(value).startswith("-") else str(value)


def print_json(content: dict[str, Any]) -> None:
    """The one object that --json promises."""
    typer.echo(json.dumps(content, allow_nan=False))


class _Printer(logging.Handler):
    """Prints what the library says beside its answers, each sentence once."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """To stderr."""
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            typer.echo(f"Note: {text.rstrip('.')}.", err=True)


@contextmanager
def _notes_printed() -> Iterator[None]:
    """Guesses and what repairs left out (inputs/notes.py) are said on stderr."""
    logger, printer = logging.getLogger("lsmdp"), _Printer()
    before = logger.level, logger.propagate
    logger.addHandler(printer)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(printer)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@contextmanager
def _telling_when_compiling() -> Iterator[None]:
    """Once loops have been compiling for a second, one sentence on the terminal, if there is one."""
    if not sys.stderr.isatty():
        yield
        return
    from lsmdp._core.compile import watched

    began: float | None = None
    said = False

    def tell(_: str) -> None:
        nonlocal began, said
        now = time.monotonic()
        began = began or now
        if now > began + 1.0 and not said:
            said = True
            typer.echo(COMPILING, err=True)

    with watched(tell):
        yield


def _complain(sentence: str, error: BaseException) -> None:
    typer.echo("\n".join([sentence, *_notes(error)]), err=True)


def _notes(error: BaseException) -> list[str]:
    notes: list[str] = getattr(error, "__notes__", [])
    return notes


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"Warning: {str(message).rstrip('.')}.", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lsmdp {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
