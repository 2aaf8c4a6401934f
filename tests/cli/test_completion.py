"""The script of `funcenv completion`, as bash runs it."""

import subprocess

import pytest

from funcenv.cli import COMMANDS, main


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """Return a function from the words of a line, the last of which is unfinished, to the words that bash offers."""
    script = tmp_path_factory.mktemp("completion") / "script"

    def offered(*words):
        call = f'source {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _funcenv; echo ${{COMPREPLY[@]}}'
        result = subprocess.run(["bash", "-c", call, "bash", *words], capture_output=True, text=True, check=True)
        return result.stdout.split()

    with pytest.MonkeyPatch.context() as patch:
        written = []
        patch.setattr("builtins.print", lambda text, **options: written.append(text))
        assert main(["completion", "bash"]) == 0
    script.write_text("".join(written))
    return offered


def test_words_are_completed(complete):
    assert complete("funcenv", "") == list(COMMANDS)
    assert complete("funcenv", "tr") == ["train"]
    assert complete("funcenv", "train", "CartPole-v") == ["CartPole-v0", "CartPole-v1"]
    assert complete("funcenv", "play", "ALE/Pon") == ["ALE/Pong-v5"]
    assert complete("funcenv", "train", "--algo", "re") == ["recurrent_ppo", "reinforce"]
    assert complete("funcenv", "train", "CartPole-v1", "--policy-d") == ["--policy-delay"]
    assert complete("funcenv", "evaluate", "runs/x", "--num") == ["--num-episodes"]
    assert complete("funcenv", "evaluate", "runs/x", "--no") == ["--no-compile-cache"]


def test_zsh_reads_the_same_script(capsys):
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("autoload -Uz compinit bashcompinit")
    assert main(["completion", "fish"]) == 2
    assert "choose from 'bash', 'zsh'" in capsys.readouterr().err
