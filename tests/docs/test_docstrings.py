"""What mkdocstrings is told of the source."""

import doctest
import importlib.util

import griffe
import pytest


@pytest.fixture(scope="module")
def package(docs):
    extensions = griffe.load_extensions(str(docs / "docstrings.py"))
    return griffe.load("funcenv", search_paths=[docs.parent], extensions=extensions)


def test_records_have_their_arguments(package):
    parameters = package["wrappers.time_limit.TimeLimit"].parameters
    assert [parameter.name for parameter in parameters] == ["self", "env", "max_episode_steps"]
    parameters = {
        parameter.name: parameter for parameter in package["envs.classic_control.cartpole.CartPole"].parameters
    }
    assert str(parameters["gravity"].default) == "9.8"
    assert str(parameters["sutton_barto_reward"].default) == "False"  # of field(pytree_node=False, default=False)
    assert "total_mass" not in parameters  # a property


def test_inherited_fields_come_first(package):
    names = [parameter.name for parameter in package["envs.toy_text.frozen_lake.FrozenLakeState"].parameters]
    assert names == ["self", "prob", "row", "column"]


def test_comments_document_fields(package):
    theta = package["envs.classic_control.cartpole.CartPoleState.theta"]
    assert theta.docstring.value == "Pole, from upright, clockwise \\[rad\\]."


def test_examples_are_code(package):
    text = package["wrappers.time_limit.TimeLimit"].docstring.value
    assert text.count("```pycon\n>>> import funcenv") == 1 and text.endswith("```\n")


def test_the_folders_at_top_level_are_found_by_their_import_names(package):
    assert package["envs.CartPole"].canonical_path == "funcenv.envs.classic_control.cartpole.CartPole"
    assert package["adapters.make"].canonical_path == "funcenv.adapters.registration.make"


def test_the_examples_of_the_tool_itself(docs):
    spec = importlib.util.spec_from_file_location("funcenv_docs_docstrings", docs / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert doctest.testmod(module).attempted == 3
    assert doctest.testmod(module).failed == 0
