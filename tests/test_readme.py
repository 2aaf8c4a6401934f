"""Each Python block of the README runs alone, its links lead to files, and what it claims of Gymnasium is true."""

import pathlib
import re

import gymnasium
import gymnasium.wrappers
import pytest

import funcenv
import funcenv.adapters.wrappers
from tests.support import registries

README = pathlib.Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)

ONLY_HERE = "LakeMaze-v0", "GoalReacher-v0", "BitFlip-v0"


@pytest.fixture
def registered():
    """Restore the registry after a block that registers an environment."""
    with registries.restored():
        yield


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_readme_runs_alone(number, registered):
    exec(compile(BLOCKS[number], f"block {number + 1} of {README.name}", "exec"), {"__name__": "block"})


def test_the_shapes_in_the_comments_are_right():
    names: dict = {}
    exec(next(block for block in BLOCKS if "(500, 1024, 4)" in block), names)
    assert names["trajectory"].timestep.observation.shape == (500, 1024, 4)


def test_the_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)]+)\)|src=\"([^\"]+)\"", README.read_text())
    assert len(links) > 10
    missing = [one for pair in links if not (README.parent / (one := "".join(pair))).exists()]
    assert not missing


def test_the_environments_of_the_readme_are_those_of_gymnasium():
    """Ids, time limits and thresholds; the tests of each environment compare its steps.

    Gymnasium lists neither MinAtar nor environments of several agents, nor the games that `ale-py` adds to it, nor the
    tasks with goals and levels.
    """
    listed = README.read_text().split("<!-- environments -->")[1].split("<!-- /environments -->")[0]
    ids = set(re.findall(r"`([^`]+)`", listed)) - {"funcenv list"}
    built_in = {id for id, spec in funcenv.registry.items() if str(spec.entry_point).startswith("funcenv.envs.")}
    shortened = {id for id in built_in if id.startswith("dm_control/")}
    assert ids - shortened == built_in - shortened and 0 < len(ids & shortened) < len(shortened)
    assert f"{len(shortened)} ids such as" in listed
    for id in ids:
        if "/" in id or id in ONLY_HERE:
            continue
        ours, theirs = funcenv.spec(id), gymnasium.spec(id)
        assert ours.max_episode_steps == theirs.max_episode_steps, id
        assert ours.reward_threshold == theirs.reward_threshold, id


def test_all_ten_spaces_of_gymnasium_exist():
    assert "All ten of Gymnasium's spaces" in README.read_text()
    theirs = [value for value in vars(gymnasium.spaces).values() if isinstance(value, type)]
    theirs = [kind for kind in theirs if issubclass(kind, gymnasium.Space) and kind is not gymnasium.Space]
    assert len(theirs) == 10
    for kind in theirs:
        assert issubclass(getattr(funcenv.spaces, kind.__name__), funcenv.spaces.Space)


def test_every_wrapper_of_gymnasium_exists_or_the_guide_says_where_it_is():
    """A pure wrapper of the same name, or a row of the guide's table; those it places in `adapters` are there."""
    guide = (README.parent / "docs" / "guides" / "wrappers.md").read_text()
    table = guide.split("| in Gymnasium | here |\n|---|---|\n")[1].split("\n\n")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    places = {name: here for names, here in rows for name in re.findall(r"`([^`]+)`", names)}
    wanted = set(gymnasium.wrappers.__all__) - {"vector"}
    elsewhere = {name for name in wanted if not hasattr(funcenv.wrappers, name)}
    assert elsewhere == set(places) - {"gymnasium.wrappers.vector"}
    for name in elsewhere:
        assert ("funcenv.adapters.wrappers" in places[name]) == hasattr(funcenv.adapters.wrappers, name), name
    assert hasattr(funcenv.wrappers, "EpisodeStatistics")
    assert not [name for name, here in places.items() if "will come" in here]


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) < 200
