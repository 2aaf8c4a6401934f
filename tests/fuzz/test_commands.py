"""Command lines of any words: read as they were written, or refused in one line; all in this process."""

import contextlib
import io

import pytest
from hypothesis import strategies as st

from funcenv.cli import COMMANDS, EXIT_STATUSES, main
from funcenv.cli.flags import Parser, flags_of
from tests.fuzz.cases import cases
from tests.fuzz.oracle import Ledger

LEDGER = Ledger("command lines")

OPTIONS = {name: command.load().Options for name, command in COMMANDS.items()}
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6).filter(
    lambda word: not word.startswith("-") and word != "none"
)
NOT_FOUND = st.sampled_from(
    [
        "CartPoel-v1",
        "nowhere",
        "",
        " ",
        "os:system",
        "sys:exit",
        "a:b:c",
        ":",
        "x:",
        "CartPole-v99",
        "ü/x",
        "nul\x00",
        "a" * 300,
    ]
)  # neither an environment nor a run
ODD_VALUES = st.sampled_from(
    ["", "x", "-1", "0", "1.5", "nan", "inf", "1e400", "1e3", "100k", "none", "true", "--", "-", "ü", "5" * 40]
)
UNTRIED = (  # these wait for processes, or delete files of the user
    *("distributed", "coordinator", "num_processes", "process_id", "connect_seconds"),
    "clear",
)


def values_of(flag):
    """Return a strategy of pairs: the value of a flag, and the words that give it."""
    if flag.reading is None:
        return st.booleans().map(lambda on: (on, [flag.option if on else f"--no-{flag.option[2:]}"]))
    if flag.reading.choices is not None:
        one = st.sampled_from(flag.reading.choices).map(lambda value: (value, str(value)))
    elif flag.reading.label == "NAME VALUE":
        names = st.dictionaries(st.sampled_from(["gravity", "length"]), st.integers(-9, 9), max_size=2)
        return names.map(lambda given: (given, [flag.option, *[str(w) for pair in given.items() for w in pair]]))
    elif is_read_as(flag, "1e3", 1000):
        one = st.integers(-(10**9), 10**9).map(lambda value: (value, str(value)))
    elif is_read_as(flag, "0.5", 0.5):
        one = st.floats(allow_nan=False).map(lambda value: (value, repr(value)))
    else:
        one = WORDS.map(lambda word: (word, word))
    if flag.reading.nargs in (None, "?"):
        return one.map(lambda pair: (pair[0], [flag.option, pair[1]]))
    size = (
        {"max_size": 3}
        if flag.reading.nargs == "*"
        else {"min_size": flag.reading.nargs, "max_size": flag.reading.nargs}
    )
    several = st.lists(one, **size)
    return several.map(
        lambda pairs: (flag.reading.collect([p[0] for p in pairs]), [flag.option, *[p[1] for p in pairs]])
    )


def is_read_as(flag, text, value):
    """Return whether a flag reads a text as a number."""
    try:
        return flag.reading.read(text) == value and flag.reading.read is not str
    except ValueError:
        return False
    except Exception as error:  # argparse's error, which a reader raises for words
        assert type(error).__name__ == "ArgumentTypeError"
        return False


FLAGS = {name: flags_of(options) for name, options in OPTIONS.items()}


@cases(1200, st.data())
def test_arguments_are_read_as_they_were_written(data):
    command = data.draw(st.sampled_from([name for name in OPTIONS if name != "completion"]))  # which has no flags
    flags = [flag for flag in FLAGS[command] if not flag.is_word]
    chosen = data.draw(st.lists(st.sampled_from(flags), max_size=4, unique_by=lambda flag: flag.name))
    drawn = {flag.name: data.draw(values_of(flag)) for flag in chosen}
    words = [word for _, written in drawn.values() for word in written]
    assert Parser(command, "", FLAGS[command]).given(words) == {name: value for name, (value, _) in drawn.items()}


class Stop(ValueError):
    """Raised where training would begin."""


@pytest.fixture(scope="module", autouse=True)
def nowhere(tmp_path_factory):
    """Run all commands in an empty folder, and stop training where it would begin."""

    def stop(*arguments, **options):
        raise Stop("this is enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("empty"))
        patch.setattr("funcenv.train.runs.run.start", stop)
        patch.setattr("funcenv.train.sweeps.sweep", stop)
        patch.setattr("funcenv.cli.play.play", stop)
        patch.setattr("funcenv.cli.play.play_in_terminal", stop)
        yield


@st.composite
def lines(draw):
    """Draw a command with words and flags, of which at least one is wrong or names nothing that there is."""
    command = draw(st.sampled_from([*OPTIONS, "trian", "--help", ""]))
    if command not in OPTIONS:
        return [command, *draw(st.lists(ODD_VALUES, max_size=2))]
    flags = [flag for flag in FLAGS[command] if flag.name not in UNTRIED]
    words = draw(st.lists(NOT_FOUND, min_size=1, max_size=2))
    for flag in draw(st.lists(st.sampled_from(flags), max_size=3)) if flags else []:
        words += [draw(st.sampled_from([flag.option, flag.option, flag.option + "x", flag.option.upper()]))]
        words += draw(st.lists(ODD_VALUES, max_size=2))
    return [command, *words]


@cases(320, lines())
def test_a_wrong_line_is_refused_in_a_line(words):
    status, said = called(words)
    assert status in EXIT_STATUSES
    assert "Traceback" not in said
    if status in (1, 2):
        last = said.strip().splitlines()[-1]
        assert last.startswith(f"funcenv {words[0]}: "), said
        if "this is enough" not in last:
            LEDGER.refuse_text(last.partition(": ")[2], [], words, repr(words))


def called(words):
    """Return the exit status of a command, and what it wrote to the standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as left:
            status = left.code or 0
    return status, err.getvalue()
