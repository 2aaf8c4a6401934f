"""The generated pages: every environment, every parameter, and examples that run."""

import dataclasses
import doctest

import funcenv

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def built_in_ids():
    funcenv.spec("CartPole-v1")  # loads the entry points
    return [spec.id for spec in funcenv.registry.values() if str(spec.entry_point).startswith("funcenv.envs.")]


def test_every_id_is_on_a_page(environment_pages):
    texts = [environment_pages.page_text(page) for page in environment_pages.pages()]
    for id in built_in_ids():
        assert sum(f"| `{id}` |" in text for text in texts) == 1
    assert all(f"`{id}`" in environment_pages.table() for id in built_in_ids())


def test_every_part_is_there(environment_pages):
    for page in environment_pages.pages():
        text = environment_pages.page_text(page)
        for heading in ("Observation", "Action", "Reward", "Termination", "Initial state"):
            assert f"**{heading}:** " in text, f"{page.build.__name__} does not say {heading}"
        for entry in dataclasses.fields(page.build):
            assert f"| `{entry.name}` | " in text
        assert "](" not in text.replace("](../assets", "")  # a docstring has no links that a page would resolve


def test_parameters_have_their_comments(environment_pages):
    pages = {page.name: environment_pages.page_text(page) for page in environment_pages.pages()}
    assert "| `gravity` | `9.8` | \\[m/s^2\\] |" in pages["cartpole"]
    assert "| `high` | `0.05` | bounds of the initial state |" in pages["cartpole"]
    assert "`euler`" not in pages["cartpole"] and "compile-time choice" in pages["cartpole"]
    assert "| `l` | `1.0` | length \\[m\\] |" in pages["pendulum"]  # without the remark for ruff
    assert "| `theta` | pole, from upright, clockwise \\[rad\\] |" in pages["cartpole"]


def test_the_facts_are_those_of_the_environment(environment_pages):
    pages = {page.name: environment_pages.page_text(page) for page in environment_pages.pages()}
    assert "| `CartPole-v1` | 500 steps | 475 | the defaults below |" in pages["cartpole"]
    assert "| `FrozenLake8x8-v1` | `Discrete(64)` | `Discrete(4)` | 0 to 1 |" in pages["frozen_lake"]
    assert "| `CliffWalking-v1` | none | - | the defaults below |" in pages["cliff_walking"]


def test_the_examples_run(environment_pages):
    for page in environment_pages.pages():
        session = environment_pages.page_text(page).split("```pycon\n")[1].split("```")[0]
        parsed = doctest.DocTestParser().get_doctest(session, {}, page.name, None, 0)
        assert doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(parsed).failed == 0


def test_a_picture_is_shown_where_there_is_one(environment_pages, tmp_path, monkeypatch):
    (tmp_path / "assets" / "gallery").mkdir(parents=True)
    for id in "CartPole-v0", "CartPole-v1":
        (tmp_path / "assets" / "gallery" / f"{id}.gif").touch()
    monkeypatch.setattr(environment_pages, "DOCS", tmp_path)
    pages = {page.name: environment_pages.page_text(page) for page in environment_pages.pages()}
    assert "![CartPole-v1](../assets/gallery/CartPole-v1.gif)" in pages["cartpole"]
    assert "![" not in pages["pendulum"]
