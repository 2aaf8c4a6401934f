"""The command `funcenv completion SHELL`, which prints a script that completes commands, flags and ids.

source <(funcenv completion bash)    # in ~/.bashrc, or with zsh in ~/.zshrc
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

from funcenv.cli.flags import Word, flags_of, read
from funcenv.cli.settings import all_settings
from funcenv.cli.table import COMMANDS, Command
from funcenv.registry import all_specs
from funcenv.train.algorithm import algorithm_names

SCRIPT = """\
_funcenv() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words
    if [[ $COMP_CWORD == 1 ]]; then
        words="%(commands)s"
    elif [[ $before == --algo ]]; then
        words="%(algorithms)s"
    elif [[ $word == -* ]]; then
        case ${COMP_WORDS[1]} in
%(flags)s
        esac
    else
        case ${COMP_WORDS[1]} in
            %(with_env)s) words="%(ids)s" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _funcenv funcenv
"""

ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Print what completes commands, flags, ids and algorithms: source <(funcenv completion bash)."""

    shell: Annotated[Literal["bash", "zsh"], Word("SHELL")]
    """bash or zsh"""


def run(arguments: Sequence[str]) -> int:
    """Print the script, and return the exit status."""
    options: Options = read("completion", Options, arguments)
    print((ZSH if options.shell == "zsh" else "") + completion_script(), end="")
    return 0


def completion_script() -> str:
    """Return the script for bash, with all that is known when it is written: commands, flags, ids and algorithms."""
    flags = {name: " ".join(_flags(command)) for name, command in COMMANDS.items()}
    indent = " " * 12
    return SCRIPT % {
        "commands": " ".join(COMMANDS),
        "algorithms": " ".join(algorithm_names()),
        "flags": "\n".join(f'{indent}{name}) words="{words}" ;;' for name, words in flags.items()),
        "with_env": "|".join(name for name, command in COMMANDS.items() if "ENV" in command.words),
        "ids": " ".join(all_specs()),
    }


def _flags(command: Command) -> list[str]:
    """Return the flags of a command; those of its settings are those of all built-in algorithms."""
    flags = flags_of(command.load().Options) + (all_settings() if command.takes_settings else [])
    general = ["--help", *(["--no-compile-cache"] if command.keeps_programs else [])]
    return list(dict.fromkeys([*(flag.option for flag in flags if not flag.is_word), *general]))
