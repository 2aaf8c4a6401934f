"""The generated pages: every environment, every parameter, and examples that run."""

import dataclasses
import doctest
import importlib
import json
import re

import docstrings
import environment_docstrings
import environment_list
import environment_tables
import equations
import mujoco_names
import pytest
import result_tables

import funcenv

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def texts(environment_pages):
    """Return the text of every page, by its file name."""
    return {page.name: environment_pages.page_text(page) for page in environment_pages.env_pages()}


def run_example(text, name):
    session = text.split("```pycon\n")[1].split("```")[0]
    parsed = doctest.DocTestParser().get_doctest(session, {}, name, None, 0)
    return doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(parsed)


def test_every_id_is_on_one_page_and_in_the_table(environment_pages, texts):
    for spec in funcenv.registry.values():
        if str(spec.entry_point).startswith("funcenv.envs."):
            assert sum(f"| `{spec.id}` |" in text for text in texts.values()) == 1
            assert f"`{spec.id}`" in environment_pages.table()


def test_every_page_has_every_section_and_parameter(environment_pages, texts):
    for page in environment_pages.env_pages():
        text = texts[page.name]
        for heading in ("Observation", "Action", "Reward", "Termination", "Initial state"):
            assert f"**{heading}:** " in text, f"the docstring of {page.build.__name__} has no section {heading}"
        for entry in dataclasses.fields(page.build):
            assert f"| `{entry.name}` | " in text
        unlinked = text.replace("](../assets", "").replace("](../zoo.md)", "")
        assert "](" not in unlinked  # a docstring has no links that a page would resolve


def test_parameters_have_their_comments(texts):
    assert "| `gravity` | `9.8` | acceleration of gravity \\[m/s^2\\] |" in texts["cartpole"]
    assert "| `high` | `0.05` | bounds of the initial state |" in texts["cartpole"]
    assert "fixed at compile time" in texts["cartpole"]
    assert "| `l` | `1.0` | length of the rod \\[m\\] |" in texts["pendulum"]  # without the comment for ruff
    assert "| `theta` | pole, from upright, clockwise \\[rad\\] |" in texts["cartpole"]


def test_the_facts_are_those_of_the_environment(texts):
    assert "| `CartPole-v1` | 500 steps | 475 | the defaults below |" in texts["cartpole"]
    assert "| `FrozenLake8x8-v1` | `Discrete(64)` | `Discrete(4)` | 0 to 1 |" in texts["frozen_lake"]
    assert "| `CliffWalking-v1` | none | - | the defaults below |" in texts["cliff_walking"]


@pytest.mark.dear  # resets every environment
def test_the_examples_run(texts):
    for name, text in texts.items():
        assert run_example(text, name).failed == 0


def test_an_animation_is_shown_where_there_is_one(environment_pages, tmp_path, monkeypatch):
    (tmp_path / "assets" / "gallery").mkdir(parents=True)
    for id in "CartPole-v0", "CartPole-v1":
        (tmp_path / "assets" / "gallery" / f"{id}.gif").touch()
    monkeypatch.setattr(environment_pages, "DOCS", tmp_path)
    texts = {page.name: environment_pages.page_text(page) for page in environment_pages.env_pages()}
    assert "![CartPole-v1](../assets/gallery/CartPole-v1.gif)" in texts["cartpole"]
    assert "![" not in texts["pendulum"]


def test_a_new_environment_is_documented_without_a_change_here(environment_pages, package):
    (page,) = environment_pages.env_pages(package.name)
    text = environment_pages.page_text(page)
    assert "| `harbour/Boat-v0` | 50 steps | -3 | the defaults below |" in text
    assert "| `stride` | `1.0` | distance covered in a step \\[m\\] |" in text
    assert run_example(text, page.name).failed == 0
    assert "[Boat](boat.md) | `harbour/Boat-v0`" in environment_pages.table(package.name)
    listing = environment_pages.api_listing(package.name)
    assert listing == "## Harbour\n\n::: harbour.boat.Boat\n\n::: harbour.boat.BoatState"


def test_the_site_documents_the_environments_of_this_package_only(environment_pages, package):
    assert "harbour" not in environment_pages.table() + environment_pages.api_listing()


def test_every_observation_and_action_has_a_row(environment_pages, texts):
    assert "| 2 | theta: pole, from upright, clockwise | rad | -0.4189 | 0.4189 |" in texts["cartpole"]
    assert "| 1 | push right | → |" in texts["cartpole"]
    assert "| 0 | torque | N m | -2 | 2 | ←: 2.0, →: -2.0 |" in texts["pendulum"]
    assert "| 2 | whether the player has a usable ace | - | 0 | 1 |" in texts["blackjack"]
    for page in environment_pages.env_pages():
        text, space = texts[page.name], page.specs[-1].make().observation_space
        table = text.partition("**Observation:**")[2].partition("**Action:**")[0]
        rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| ", table, re.MULTILINE)
        listed = [index for first, last in rows for index in range(int(first), int(last or first) + 1)]
        count = funcenv.spaces.flatdim(space) if isinstance(space, funcenv.spaces.Box) else 1
        has_table = not isinstance(space, funcenv.spaces.Dict) and len(space.shape or ()) <= 1
        count = count if has_table else 0  # of a screen, or of several agents
        assert listed[:count] == list(range(count))
    assert "| 1 | motor of `bshin` | 90 N m | -1 | 1 | s: -1.0, w: 1.0 |" in texts["half_cheetah"]
    assert "| 1 | angle of the torso | `rooty` | rad |" in texts["half_cheetah"]
    assert "| 10 | rotation of the torso | `rooty` | rad/s |" in texts["half_cheetah"]
    assert "| 27 to 104 | torques and forces of contacts" in texts["ant"]
    assert "| 45 | torque of contacts about x | `body at ankle_1` | N m |" in texts["ant"]


def test_a_row_of_a_table_is_one_line(texts):
    for text in texts.values():
        lines = text.splitlines()
        for line, after in zip(lines, lines[1:], strict=False):
            assert not line.startswith("| ") or line.endswith("|") and after[:1] in ("", "|"), line


def test_every_parameter_is_described_in_words(texts):
    for name, text in texts.items():
        rows = re.findall(r"^\| `(\w+)` \| `[^`]*` \| (.*) \|$", text.partition("## Parameters")[2], re.MULTILINE)
        for parameter, meaning in rows:
            words = re.sub(r"\\\[.*?\\\]|\*fixed at compile time\*", "", meaning)
            assert re.search(r"\w\w", words), f"{name}: comment on the field {parameter} what it means"


def test_a_page_has_the_name_of_its_environment(environment_pages):
    titles = {page.name: page.title for page in environment_pages.env_pages()}
    assert titles["asterix"] == "Asterix" and titles["atari_breakout"] == "Atari Breakout"
    assert titles["frozen_lake"] == "Frozen Lake" and titles["cartpole"] == "CartPole"
    assert all(len(title) < 24 and "." not in title for title in titles.values())


def test_equations_are_drawn_and_maps_are_kept(texts):
    assert texts["acrobot"].count("<mtr>") == 6 and texts["pendulum"].count("<math") == 1
    assert texts["mountain_car"].count("<math") == texts["mountain_car_continuous"].count("<math") == 1
    assert "    |R: | : :G|" in texts["taxi"] and "<math" not in texts["taxi"]


def test_a_bit_of_prose_is_no_equation():
    assert equations.blocks_of("Words:\n\n    a sentence = of words, or not\n") == []
    with pytest.raises(equations.NotAnEquation, match="does not end before"):
        equations.to_mathml("a = b) c")
    assert equations.to_mathml("y = a / (b + c) d")[1].startswith("<mrow><mfrac>")


def test_a_table_that_its_docstring_does_not_list_is_an_error(environment_pages):
    env = funcenv.make("CartPole-v1")
    with pytest.raises(ValueError, match="observes 4 numbers, but its docstring lists 2"):
        environment_pages.observation_table(env, "float32 `[4]`: x [m], theta [rad].", {})


@pytest.mark.parametrize(
    "script",
    [docstrings, environment_docstrings, environment_list, environment_tables, equations, mujoco_names, result_tables],
    ids=lambda script: script.__name__,
)
def test_the_examples_of_the_tools_run(script):
    current = importlib.import_module(script.__name__)  # griffe, which loads extensions, imports some of them again
    result = doctest.testmod(current)
    assert result.attempted >= 1 and result.failed == 0


def test_every_id_has_the_return_of_a_random_policy(environment_pages, texts):
    for page in environment_pages.env_pages():
        for spec in page.specs:
            remedy = "run docs/measure_returns.py"
            assert f"| `{spec.id}` | " in texts[page.name].partition("## Returns to expect")[2], remedy


def test_the_return_of_a_random_policy_is_the_one_on_the_page(docs):
    measured = json.loads((docs / "returns.json").read_text())["CartPole-v1"]["random"]
    env = funcenv.make("CartPole-v1")
    played = funcenv.evaluate(env, funcenv.random_policy(env), 200, funcenv.key(1))
    assert abs(float(played.mean_return) - measured[0]) < 4 * measured[1] / 200**0.5
