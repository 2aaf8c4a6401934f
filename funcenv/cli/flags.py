"""The arguments of a command: fields of dataclasses, which become flags with help.

The text under a field is its help, and its type says how a value is read; a field of another type has no flag.
`Annotated[str, "FILE"]` names the value in the help, `Annotated[str, Word("RUN")]` makes the field an argument
without a flag, and `Annotated[int | None, OptionalValue("N")]` takes the flag also without a value.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import decimal
import difflib
import inspect
import os
import re
import shutil
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, NoReturn

from funcenv.cli.table import COMMANDS, UsageError

MAX_COLUMNS = 110
"""The widest help text."""

_NAMES_CODE = re.compile(r"(?:^|=)[^\W\d][\w.]*:[^\W\d][\w/.-]*$")  # module:Name, also after --flag=
_NUMBER_LABELS = ("N", "X")  # whole numbers, and others
_NEGATIVE = re.compile(r"-[\d.]+e[+-]?\d+", re.IGNORECASE)  # which argparse takes for a flag


@dataclasses.dataclass(frozen=True)
class Word:
    """Marks a field as an argument without a flag, and names it in the help."""

    name: str


@dataclasses.dataclass(frozen=True)
class OptionalValue:
    """Marks a flag whose value may be left out, and is None then; names the value in the help."""

    name: str


@dataclasses.dataclass(frozen=True)
class Threads:
    """The option of commands that compute."""

    section: ClassVar[str] = "machine"

    threads: int = 1
    """threads that XLA may use on a CPU, 0 for all; more threads cost CPU time and do not speed up small networks"""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How the value of a flag is read.

    Attributes:
        label: What the help calls a value.
        read: The function that reads one word.
        nargs: The number of words, as in argparse; None for one.
        collect: The function that makes the value of several words.
        choices: All possible words, if they can be listed.
    """

    label: str
    read: Callable[[str], Any] = str
    nargs: str | int | None = None
    collect: Callable[[Any], Any] = staticmethod(lambda words: words)
    choices: tuple[Any, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Flag:
    """An argument of a command.

    Attributes:
        name: The field that it sets.
        section: The title under which the help lists it.
        about: The help.
        default: The value of the field if the flag is not given; `dataclasses.MISSING` if it must be.
        reading: How its value is read, None for a flag that is on or off.
        is_word: Whether it is an argument without a flag.
    """

    name: str
    section: str
    about: str
    default: Any
    reading: Reading | None
    is_word: bool

    @property
    def option(self) -> str:
        """The flag as it is typed, `--num-envs`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_number(self) -> bool:
        """True if its value is a number, or several."""
        return self.reading is not None and self.reading.label in _NUMBER_LABELS

    @property
    def help(self) -> str:
        """The help with the default."""
        is_silent = self.default in ("", {}) or any(self.default is one for one in (None, False, dataclasses.MISSING))
        is_silent |= self.is_word and not self.default
        shown = "" if is_silent else _shown(self.default)
        return (f"{self.about} (default: {shown})" if shown else self.about).replace("%", "%%")


def flags_of(options: type, defaults: Any = None, section: Callable[[type, str], str] | None = None) -> list[Flag]:
    """Return the arguments that the fields of a dataclass declare.

    Args:
        options: The dataclass.
        defaults: An instance that has the defaults, if those of the class do not hold.
        section: Returns the title for a field, from the class that declares it first and the field's name; by default
            the attribute `section` of that class.

    >>> [flag.option for flag in flags_of(Threads)]
    ['--threads']
    """
    hints, about = typing.get_type_hints(options, include_extras=True), _texts_under_fields(options)
    title = section or (lambda owner, name: vars(owner).get("section", "options"))
    flags = []
    for field in dataclasses.fields(options):
        kind, note = hints[field.name], None
        if typing.get_origin(kind) is Annotated:
            kind, note = typing.get_args(kind)
        reading = _reading(kind)
        if reading is None and kind not in (bool, bool | None):
            continue
        if note is not None and reading is not None:
            label = note if isinstance(note, str) else note.name
            nargs = "?" if isinstance(note, OptionalValue) else reading.nargs
            reading = dataclasses.replace(reading, label=label, nargs=nargs)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        default = default if defaults is None else getattr(defaults, field.name)
        owner = next(
            base for base in reversed(options.__mro__) if field.name in base.__dict__.get("__annotations__", ())
        )
        is_word = isinstance(note, Word)
        where = "arguments" if is_word else title(owner, field.name)
        flags.append(Flag(field.name, where, about.get(field.name, ""), default, reading, is_word))
    return flags


class Parser(argparse.ArgumentParser):
    """Reads the arguments of a command; a value that is not given is not in the result."""

    def __init__(self, command: str, about: str, flags: Sequence[Flag], *, handles_help: bool = True) -> None:
        self.command, self.flags = COMMANDS[command], tuple(flags)
        super().__init__(
            prog=f"funcenv {command}",
            usage=f"{self.command.usage} [--flags]",
            description=about,
            allow_abbrev=False,
            add_help=False,
            argument_default=argparse.SUPPRESS,
            formatter_class=_Formatter,
            epilog=_epilog(self.command.examples, with_numbers=any(flag.is_number for flag in self.flags)),
        )
        groups: dict[str, Any] = {}
        order = {"arguments": 0, "run": 1, TrustCode.section: 3, Threads.section: 4}
        for flag in sorted(self.flags, key=lambda flag: order.get(flag.section, 2)):
            if flag.section not in groups:
                groups[flag.section] = self.add_argument_group(flag.section)
            _add(groups[flag.section], flag)
        general = self.add_argument_group("general")
        if self.command.keeps_programs and self.command.may_forget:
            text = "compile anew, and keep no compiled programs for the next command"
            general.add_argument("--no-compile-cache", action="store_true", help=text)
        action = "help" if handles_help else "store_true"
        general.add_argument("-h", "--help", action=action, help="show this text")

    def error(self, message: str) -> NoReturn:
        """Report a mistake as all commands do."""
        raise UsageError(f"{message}; {self.prog} --help lists what it takes")

    def print_help(self, file: Any = None) -> None:
        """Print the help, and raise `BrokenPipeError` if nobody reads it."""
        print(self.format_help(), end="", file=file)

    def known(self, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
        """Return the values that are given by field, and all arguments that are none of this parser's."""
        namespace, others = self.parse_known_intermixed_args([_plain_number(word) for word in arguments])
        given, readings = vars(namespace), {flag.name: flag.reading for flag in self.flags}
        for name, reading in readings.items():
            if reading is not None and name in given:
                given[name] = reading.collect(given[name])
        return given, others

    def given(
        self, arguments: Sequence[str], others: Sequence[str] = (), explain: Callable[[str], str | None] | None = None
    ) -> dict[str, Any]:
        """Return the values that are given, by field.

        Args:
            arguments: What was typed after the name of the command.
            others: More flags that may have been meant by one that does not exist.
            explain: Function from such a flag to what to write instead, or None if it does not know.

        Raises:
            UsageError: An argument is not known, or its value cannot be read.
        """
        given, unknown = self.known(arguments)
        if unknown:
            name = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
            if name is None:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            if explain is not None and (known := explain(name)) is not None:
                raise UsageError(f"there is no flag {name} here: {known}")
            close = closest_flag(name, [*self._option_string_actions, *others])
            remedy = f"did you mean {close}?" if close else f"{self.prog} --help lists the flags"
            raise UsageError(f"there is no flag {name}; {remedy}")
        return given


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrustCode:
    """Whether code that a file of somebody else names is imported."""

    section: ClassVar[str] = "trust"

    trust_code: bool = False
    """import the environment, algorithm or network that RUN names as module:name, although somebody else made RUN;
    runs of yours on this machine need no flag"""


def read(command: str, options: type, arguments: Sequence[str]) -> Any:
    """Return the options of a command, after preparing the process as they say.

    Raises:
        UsageError: An argument is missing, not known, or not valid.
        SystemExit: The help was asked for, and is printed.
    """
    parser = Parser(command, inspect.getdoc(options) or "", flags_of(options))
    given = parser.given(arguments)
    for flag in parser.flags:
        if flag.default is dataclasses.MISSING and not given.get(flag.name):
            label = flag.reading.label if flag.reading else flag.option
            raise UsageError(f"{command} needs {label}, {flag.about}: {parser.command.usage}")
    prepare(command, options, given, arguments)
    try:
        return options(**given)
    except ValueError as error:
        raise UsageError(str(error)) from error


def prepare(command: str, options: type, given: dict[str, Any], arguments: Sequence[str]) -> None:
    """Prepare the process as the arguments of a command say, before JAX starts.

    Args:
        command: The name of the command.
        options: The dataclass of its options.
        given: The values that are given, of which those that are no options are removed.
        arguments: What was typed after the name of the command.
    """
    threads = given.get("threads", Threads.threads)
    if threads and issubclass(options, Threads):
        os.environ.setdefault("PJRT_NPROC", str(threads))  # read by XLA's CPU client when it starts
    if not given.pop("no_compile_cache", False) and COMMANDS[command].keeps_programs:
        _keep_programs()
    if COMMANDS[command].imports_from_here and any(map(_NAMES_CODE.search, arguments)):
        import_from_here()


def import_from_here() -> None:
    """Let modules be imported from the current folder, after all others."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def whole_number(text: str) -> int:
    """Read a whole number, which may be written as a power of ten or with a suffix.

    >>> whole_number("1e5"), whole_number("100k"), whole_number("2.5M"), whole_number("1_000")
    (100000, 100000, 2500000, 1000)
    """
    scale = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        number = decimal.Decimal(text if scale == 1 else text[:-1]) * scale
        if number == int(number):
            return int(number)
    except (decimal.InvalidOperation, OverflowError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; write 1000, 1e3 or 1k")


def parameters(words: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that alternating names and values give; a value is a number, true or false, or a word.

    Raises:
        UsageError: A name has no value.

    >>> parameters(["gravity", "1.6", "is_slippery", "false", "map_name", "8x8"])
    {'gravity': 1.6, 'is_slippery': False, 'map_name': '8x8'}
    """
    if len(words) % 2:
        raise UsageError(f"--env-params takes names and values in turn, got {' '.join(words)}; write gravity 1.6")
    return {name: _parameter(text) for name, text in zip(words[::2], words[1::2], strict=True)}


def closest_flag(name: str, flags: Sequence[str]) -> str | None:
    """Return the flag that was probably meant: a similar one, one with these initials, or one with this word.

    >>> flags = ["--learning-rate", "--num-envs"]
    >>> [closest_flag(name, flags) for name in ("--learnign-rate", "--lr", "--envs", "--colour")]
    ['--learning-rate', '--learning-rate', '--num-envs', None]
    """
    name = name.replace("_", "-")
    initials = {"--" + "".join(word[:1] for word in flag[2:].split("-")): flag for flag in reversed(flags)}
    if name in initials:
        return initials[name]
    close = difflib.get_close_matches(name, flags, n=1)
    with_word = [flag for flag in flags if name[2:] and name[2:] in flag[2:].split("-")]
    return next(iter([*close, *with_word]), None)


def _epilog(examples: Sequence[str], *, with_numbers: bool = False) -> str:
    """Return the end of a help: examples, how numbers are written, and where exit statuses are listed.

    >>> _epilog(["funcenv list"]).splitlines()[1]
    '  funcenv list'
    """
    lines = ["examples:", *(f"  {example}" for example in examples), ""] if examples else []
    numbers = "Numbers may be written 500000, 5e5 or 500k. " if with_numbers else ""
    return "\n".join([*lines, f"{numbers}funcenv --help lists the exit statuses."])


class _Formatter(argparse.HelpFormatter):
    """A layout as wide as the terminal, with the help of all but the longest flags in a second column."""

    def __init__(self, prog: str) -> None:
        columns = min(shutil.get_terminal_size().columns, MAX_COLUMNS)
        super().__init__(prog, max_help_position=30, width=columns - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of examples, and fill those of other texts."""
        examples, separator, rest = text.rpartition("\n\n") if text.startswith("examples:") else ("", "", text)
        return examples + separator + super()._fill_text(rest, width, indent)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Break lines between words, and never inside of a flag or an id."""
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _add(group: Any, flag: Flag) -> None:
    """Add a flag to a section of a parser."""
    if flag.reading is None:
        if flag.default is not False:
            group.add_argument(flag.option, action=argparse.BooleanOptionalAction, help=flag.help)
            return
        group.add_argument(flag.option, action="store_true", help=flag.help)
        negative = f"--no-{flag.option[2:]}"
        group.add_argument(negative, dest=flag.name, action="store_false", help=argparse.SUPPRESS)
        return
    reading = flag.reading
    given: dict[str, Any] = {"type": reading.read, "metavar": reading.label, "help": flag.help}
    if reading.choices is not None:
        given["choices"] = reading.choices
    if flag.is_word:
        group.add_argument(flag.name, nargs=reading.nargs or "?", **given)
    else:
        group.add_argument(flag.option, dest=flag.name, nargs=reading.nargs, **given)


def _reading(kind: Any) -> Reading | None:
    """Return how a value of a type is read, or None for types without a flag."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    simple = {int: Reading("N", whole_number), float: Reading("X", float), str: Reading("NAME")}
    if kind in simple:
        return simple[kind]
    if origin is Literal:
        return Reading("{" + ",".join(map(str, parts)) + "}", choices=parts)
    if origin in (typing.Union, types.UnionType):
        readings = [one for one in map(_reading, parts) if one is not None]
        if not readings or type(None) not in parts:
            return next(iter(readings), None)
        reading = readings[0]
        return dataclasses.replace(reading, read=lambda text: None if text == "none" else reading.read(text))
    if origin in (tuple, list) and parts:
        inner = _reading(parts[0])
        many: str | int = "*" if origin is list or parts[-1] is Ellipsis else len(parts)
        return inner and dataclasses.replace(inner, nargs=many, collect=origin)
    if origin is dict:
        return Reading("NAME VALUE", nargs="*", collect=parameters)
    return None


def _parameter(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _shown(value: Any) -> str:
    """Return the text of a default."""
    if value is True:
        return "on"
    if isinstance(value, dict):
        return " ".join(f"{name} {one}" for name, one in value.items())
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value)) or "none"
    return value.__name__ if callable(value) else str(value)


def _plain_number(word: str) -> str:
    """Return a word with a negative power of ten written out.

    >>> _plain_number("-1e-3"), _plain_number("--lr")
    ('-0.001', '--lr')
    """
    return format(decimal.Decimal(word), "f") if _NEGATIVE.fullmatch(word) else word


def _texts_under_fields(options: type) -> dict[str, str]:
    """Return the text under each field of a dataclass and its bases, as far as their sources can be read."""
    texts: dict[str, str] = {}
    for base in reversed(options.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        try:
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError):  # a class of an interactive session has no source
            continue
        body = getattr(definition, "body", [])
        for field, text in zip(body, body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    texts[name] = " ".join(words.split())
    return texts


def _keep_programs() -> None:
    """Keep compiled programs for the next command, and say so the first time."""
    from funcenv._compile.cache_folder import cache_folder
    from funcenv._compile.disk_cache import enable_disk_cache

    is_new = not cache_folder().exists()
    folder = enable_disk_cache()
    if is_new and folder == cache_folder():
        print(f"compiled programs are kept in {folder} (--no-compile-cache turns this off)", file=sys.stderr)
