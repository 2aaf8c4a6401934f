"""The types that an editor sees: pyright reads this checkout, `make lint` runs mypy, and the wheel check runs both."""

import pathlib

from tests.support.pyright import mistakes, planted

USER = pathlib.Path(__file__).with_name("typed_user.py")


def test_pyright_finds_the_mistakes_of_a_user_and_no_others():
    assert len(planted(USER)) > 20
    assert set(mistakes(USER)) == planted(USER), mistakes(USER)


def test_pyright_finds_a_type_that_is_not_the_one_asserted(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import funcenv\nfrom typing import assert_type\nassert_type(funcenv.__version__, int)\n")
    assert list(mistakes(program)) == [3]
